//! The keys that sign agent cards, for the operator.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use tracing::info;
use utoipa::ToSchema;

use super::super::Doors;
use super::{Operator, Sent, answer};
use crate::keys::{self, Algorithm, Jwk, Key, Purpose};
use crate::service::Error;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewSigningKey)]
pub struct Wanted {
    algorithm: String,
    kid: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SigningKey)]
struct Shown {
    kid: String,
    algorithm: &'static str,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = Object)]
    jwk: Jwk,
}

#[derive(Serialize, ToSchema)]
#[schema(as = SigningKeys)]
struct Keys {
    keys: Vec<Shown>,
}

impl Shown {
    fn of(key: &Key) -> Self {
        Self {
            kid: key.kid.to_string(),
            algorithm: key.secret.algorithm().as_str(),
            created_at: key.created_at,
            jwk: key.jwk(),
        }
    }
}

fn all(doors: &Doors) -> Keys {
    Keys { keys: doors.service.keys.list(Purpose::Card).iter().map(Shown::of).collect() }
}

/// The public halves of the keys that sign cards.
#[utoipa::path(
    get,
    path = "/api/v1/keys",
    responses((status = 200, description = "All of them", body = Keys))
)]
pub async fn list(State(doors): State<Arc<Doors>>, _: Operator) -> Response {
    answer(Ok(all(&doors)), None)
}

/// Makes a key that signs cards from now on.
#[utoipa::path(
    post,
    path = "/api/v1/keys",
    request_body = Wanted,
    responses((status = 200, description = "The key", body = Shown))
)]
pub async fn create(
    State(doors): State<Arc<Doors>>,
    Operator(by): Operator,
    Sent(Wanted { algorithm, kid }): Sent<Wanted>,
) -> Response {
    let created = async {
        let algorithm = Algorithm::parse(&algorithm)
            .ok_or_else(|| Error::invalid("algorithm", "is \"ES256\" or \"EdDSA\""))?;
        let now = doors.service.now();
        let key =
            doors.service.keys.create(Purpose::Card, algorithm, kid.as_deref(), now).map_err(refused)?;
        info!(key.kid = %key.kid, key.algorithm = algorithm.as_str(), "a key signs agent cards from now on");
        doors.service.tell_audit(&by, ("key.create", &key.kid)).await;
        Ok(Shown::of(&key))
    };
    answer(created.await, None)
}

/// Signs with a key no more.
#[utoipa::path(
    delete,
    path = "/api/v1/keys/{kid}",
    params(("kid" = String, Path, description = "Of the key")),
    responses((status = 200, description = "Those that are left", body = Keys))
)]
pub async fn retire(
    State(doors): State<Arc<Doors>>,
    Operator(by): Operator,
    Path(kid): Path<String>,
) -> Response {
    let retired = async {
        doors.service.keys.retire(Purpose::Card, &kid, doors.service.now()).map_err(refused)?;
        info!(key.kid = %kid, "a key signs agent cards no more");
        doors.service.tell_audit(&by, ("key.retire", &kid)).await;
        Ok(all(&doors))
    };
    answer(retired.await, None)
}

#[expect(clippy::needless_pass_by_value, reason = "it is what map_err hands over")]
fn refused(why: keys::Error) -> Error {
    let text = why.to_string();
    match why {
        keys::Error::Io { .. } | keys::Error::Open { .. } | keys::Error::Unreadable { .. } => {
            Error::Internal(text)
        }
        keys::Error::Algorithm => Error::invalid("algorithm", text),
        keys::Error::Kid | keys::Error::Taken(_) | keys::Error::Unknown(_) | keys::Error::TooMany => {
            Error::invalid("kid", text)
        }
    }
}

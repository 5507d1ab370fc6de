//! The keys that sign agent cards, for the operator.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::time::Timestamp;
use http::Request;
use http::request::Parts;
use serde::{Deserialize, Serialize};
use tracing::info;

use super::super::Doors;
use super::{answer, read};
use crate::keys::{self, Algorithm, Jwk, Key, Purpose};
use crate::service::Error;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    algorithm: String,
    kid: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    kid: String,
    algorithm: &'static str,
    created_at: Timestamp,
    jwk: Jwk,
}

#[derive(Serialize)]
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

pub async fn list(State(doors): State<Arc<Doors>>, request: Parts) -> Response {
    answer(doors.gate.operator(&request).map(|_| all(&doors)), None)
}

pub async fn create(State(doors): State<Arc<Doors>>, request: Request<Body>) -> Response {
    let created = async {
        let (parts, body) = request.into_parts();
        let by = doors.gate.operator(&parts)?;
        let Wanted { algorithm, kid } = read(&doors, &parts.headers, body).await?;
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

pub async fn retire(State(doors): State<Arc<Doors>>, Path(kid): Path<String>, request: Parts) -> Response {
    let retired = async {
        let by = doors.gate.operator(&request)?;
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

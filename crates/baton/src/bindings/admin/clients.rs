//! Clients of OAuth that an operator allowed something, for the operator. Those that registered and were allowed nothing have
//! nothing that could be taken from them.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use baton_core::time::Timestamp;
use baton_store::{Approval, ApprovalState, Verb};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::super::Doors;
use super::{Asked, Operator, answer, query};
use crate::service::{Error, Service};

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Filter {
    /// The id of a grant: only those that are signed in by it.
    grant: Option<String>,
}

/// A client that an operator allowed something.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OauthClient)]
pub struct Shown {
    pub id: String,
    /// The id of the grant that it acts by.
    pub grant: String,
    /// The client's own id.
    pub client_id: String,
    /// As it calls itself.
    pub name: String,
    /// Where its code was sent.
    pub redirect_uri: String,
    /// What its tokens are for: a URL of this node.
    pub resource: String,
    #[schema(value_type = Vec<String>)]
    pub verbs: Vec<Verb>,
    /// `waiting` for it to fetch its tokens, or `signed-in`.
    pub state: &'static str,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Who allowed it.
    pub created_by: String,
    /// When it last got a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_token_at: Option<Timestamp>,
    /// When it is signed out where it gets no token before.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
}

#[derive(Serialize, ToSchema)]
struct Clients {
    clients: Vec<Shown>,
}

impl Shown {
    fn of(approval: Approval, base: &str) -> Self {
        let (state, last_token_at) = match approval.state {
            ApprovalState::Coded { .. } => ("waiting", None),
            ApprovalState::Open(turn) => ("signed-in", Some(turn.turned_at)),
        };
        Self {
            id: approval.id.to_string(),
            grant: approval.grant.to_string(),
            client_id: approval.client,
            name: approval.name,
            redirect_uri: approval.redirect,
            resource: format!("{base}{}", approval.resource),
            verbs: approval.verbs,
            state,
            created_at: approval.created_at,
            created_by: approval.created_by,
            last_token_at,
            expires_at: approval.until,
        }
    }
}

/// All of them, or those of a grant, the newest first.
pub async fn all(service: &Service, grant: Option<&str>) -> Result<Vec<Shown>, Error> {
    if let Some(grant) = grant {
        service.load_grant(grant).await?;
    }
    let (found, base) = (service.list_clients(grant).await?, &service.site.base);
    Ok(found.into_iter().map(|approval| Shown::of(approval, base)).collect())
}

/// Clients of OAuth that an operator allowed something, the newest first.
#[utoipa::path(
    get,
    path = "/api/v1/clients",
    params(Filter),
    responses((status = 200, description = "All of them", body = Clients))
)]
pub async fn list(State(doors): State<Arc<Doors>>, _: Operator, asked: Asked<Filter>) -> Response {
    let found = match query(asked) {
        Ok(Filter { grant }) => all(&doors.service, grant.as_deref()).await,
        Err(why) => Err(why),
    };
    answer(found.map(|clients| Clients { clients }), None)
}

/// Signs a client out: its tokens end. The grant goes on.
#[utoipa::path(
    delete,
    path = "/api/v1/clients/{id}",
    params(("id" = String, Path, description = "The `id` of what is listed, which is not the client's own")),
    responses((status = 200, description = "As it was", body = Shown))
)]
pub async fn sign_out(
    State(doors): State<Arc<Doors>>,
    Operator(by): Operator,
    Path(id): Path<String>,
) -> Response {
    let ended = doors.service.sign_client_out(&id, &by).await;
    answer(ended.map(|approval| Shown::of(approval, &doors.service.site.base)), None)
}

//! The link by which the operator signs in to the console: made over the node's own socket.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use baton_core::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::super::Doors;
use super::{Operator, answer};

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = LoginLink)]
struct Invited {
    /// Opens the console once. What stands behind the `#` is the code; a browser sends it to nobody.
    url: String,
    /// The same code, for the form of the page.
    code: String,
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
}

/// Makes a link that opens the console once.
#[utoipa::path(
    post,
    path = "/api/v1/login",
    responses((status = 200, description = "The link", body = Invited))
)]
pub async fn invite(State(doors): State<Arc<Doors>>, Operator(by): Operator) -> Response {
    let (code, expires_at) = doors.sessions.invite(doors.service.now());
    doors.service.tell_audit(&by, ("console.invite", "console")).await;
    let url = format!("{}/console/login#{}", doors.service.site.base, code.reveal());
    answer(Ok(Invited { url, code: code.reveal().to_owned(), expires_at }), None)
}

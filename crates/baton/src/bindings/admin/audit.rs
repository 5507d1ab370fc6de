//! The audit log, for the operator.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use baton_core::json::Json;
use baton_core::time::Timestamp;
use baton_store::{AuditReport, AuditRow, NewAudit};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::super::Doors;
use super::{Asked, Operator, answer, query};
use crate::hex::hex;
use crate::service::audit::{ListAudit, spell_head};
use crate::service::{Error, Service};

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Filter {
    since: Option<String>,
    actor: Option<String>,
    target: Option<String>,
    action: Option<String>,
    outcome: Option<Outcome>,
    page_size: Option<usize>,
    page_token: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Allowed,
    Refused,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Look {
    since: Option<String>,
    head: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = AuditRow)]
pub struct Shown {
    pub id: u64,
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    pub actor: String,
    /// An address, `socket`, `unix` or `node`.
    pub origin: String,
    pub action: String,
    pub target: String,
    pub outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub detail: Option<Json>,
    /// In hexadecimal.
    pub hash: String,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AuditPage)]
pub struct Page {
    pub rows: Vec<Shown>,
    pub next_page_token: String,
}

#[derive(Serialize, ToSchema)]
#[schema(as = AuditReport)]
pub struct Report {
    pub intact: bool,
    /// Rows that were looked at and are as they were written.
    pub rows: u64,
    /// The id and the hash of the last of them.
    pub head: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken: Option<Broken>,
}

/// The first row that is not as it was written.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditBreak)]
pub struct Broken {
    pub id: u64,
    pub what: String,
}

impl From<AuditRow> for Shown {
    fn from(AuditRow { id, entry, hash }: AuditRow) -> Self {
        let NewAudit { at, by, action, target, allowed, detail } = entry;
        Self {
            id,
            at,
            actor: by.name,
            origin: by.origin,
            action,
            target,
            outcome: if allowed { Outcome::Allowed } else { Outcome::Refused },
            detail: Json::parse(&detail).ok(),
            hash: hex(&hash),
        }
    }
}

impl From<AuditReport> for Report {
    fn from(AuditReport { rows, head, broken }: AuditReport) -> Self {
        let broken = broken.map(|broken| Broken { id: broken.id, what: broken.what });
        Self { intact: broken.is_none(), rows, head: spell_head(&head), broken }
    }
}

/// A page of the log, the newest first.
pub async fn page(service: &Service, list: ListAudit) -> Result<Page, Error> {
    let (rows, next_page_token) = service.list_audit(list).await?;
    Ok(Page { rows: rows.into_iter().map(Shown::from).collect(), next_page_token })
}

/// Whether the log is as it was written.
pub async fn look(service: &Service, since: Option<&str>, head: Option<&str>) -> Result<Report, Error> {
    Ok(Report::from(service.verify_audit(since, head).await?))
}

/// A page of the audit log, the newest first.
#[utoipa::path(
    get,
    path = "/api/v1/audit",
    params(Filter),
    responses((status = 200, description = "A page", body = Page))
)]
pub async fn list(State(doors): State<Arc<Doors>>, _: Operator, filter: Asked<Filter>) -> Response {
    let listed = async {
        let filter = query(filter)?;
        let Filter { since, actor, target, action, outcome, page_size: size, page_token } = filter;
        let allowed = outcome.map(|outcome| outcome == Outcome::Allowed);
        page(&doors.service, ListAudit { since, actor, target, action, allowed, size, page_token }).await
    };
    answer(listed.await, None)
}

/// Whether the audit log is as it was written.
#[utoipa::path(
    get,
    path = "/api/v1/audit/verify",
    params(Look),
    responses((status = 200, description = "What was found", body = Report))
)]
pub async fn verify(State(doors): State<Arc<Doors>>, _: Operator, asked: Asked<Look>) -> Response {
    let verified = async {
        let Look { since, head } = query(asked)?;
        self::look(&doors.service, since.as_deref(), head.as_deref()).await
    };
    answer(verified.await, None)
}

//! The audit log, for the operator.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use baton_core::json::Json;
use baton_core::time::Timestamp;
use baton_store::{AuditReport, AuditRow, NewAudit};
use http::request::Parts;
use serde::{Deserialize, Serialize};

use super::super::Doors;
use super::{Asked, answer, query};
use crate::hex::hex;
use crate::service::audit::{ListAudit, spell_head};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Filter {
    since: Option<String>,
    actor: Option<String>,
    target: Option<String>,
    action: Option<String>,
    outcome: Option<Outcome>,
    page_size: Option<usize>,
    page_token: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Allowed,
    Refused,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Look {
    since: Option<String>,
    head: Option<String>,
}

#[derive(Serialize)]
struct Shown {
    id: u64,
    at: Timestamp,
    actor: String,
    /// An address, `socket`, `unix` or `node`.
    origin: String,
    action: String,
    target: String,
    outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<Json>,
    /// In hexadecimal.
    hash: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    rows: Vec<Shown>,
    next_page_token: String,
}

#[derive(Serialize)]
struct Report {
    intact: bool,
    /// Rows that were looked at and are as they were written.
    rows: u64,
    /// The id and the hash of the last of them.
    head: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    broken: Option<Broken>,
}

/// The first row that is not as it was written.
#[derive(Serialize)]
struct Broken {
    id: u64,
    what: String,
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

pub async fn list(State(doors): State<Arc<Doors>>, filter: Asked<Filter>, request: Parts) -> Response {
    let listed = async {
        doors.gate.operator(&request)?;
        let filter = query(filter)?;
        let Filter { since, actor, target, action, outcome, page_size: size, page_token } = filter;
        let allowed = outcome.map(|outcome| outcome == Outcome::Allowed);
        let list = ListAudit { since, actor, target, action, allowed, size, page_token };
        let (rows, next_page_token) = doors.service.list_audit(list).await?;
        Ok(Page { rows: rows.into_iter().map(Shown::from).collect(), next_page_token })
    };
    answer(listed.await, None)
}

pub async fn verify(State(doors): State<Arc<Doors>>, look: Asked<Look>, request: Parts) -> Response {
    let verified = async {
        doors.gate.operator(&request)?;
        let Look { since, head } = query(look)?;
        Ok(Report::from(doors.service.verify_audit(since.as_deref(), head.as_deref()).await?))
    };
    answer(verified.await, None)
}

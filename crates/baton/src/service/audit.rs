//! The audit log, for the operator: pages of it, and whether it is as it was written.

use baton_core::time::Timestamp;
use baton_store::{Actor, AuditQuery, AuditReport, AuditRow, Broken, NewAudit};
use serde_json::json;
use tracing::error;

use super::list::{page_size, wrong_token};
use super::{Error, Scope, Service};
use crate::access::Refusal;
use crate::config::parse_duration;
use crate::hex::hex;

/// What of the log to list; everything optional.
#[derive(Clone, Debug, Default)]
pub struct ListAudit {
    /// A duration such as `7d`, or a time of RFC 3339.
    pub since: Option<String>,
    pub actor: Option<String>,
    pub target: Option<String>,
    /// An action such as `grant.revoke`, or the first part of several.
    pub action: Option<String>,
    /// Only what was refused, or only what was allowed.
    pub allowed: Option<bool>,
    pub size: Option<usize>,
    pub page_token: Option<String>,
}

impl Service {
    /// A page, the newest first, and the token of the next; empty on the last.
    pub async fn list_audit(&self, list: ListAudit) -> Result<(Vec<AuditRow>, String), Error> {
        let ListAudit { since, actor, target, action, allowed, size, page_token } = list;
        let (since, size) = (self.since(since.as_deref())?, page_size(size)?);
        let before = page_token.map(|token| token.parse().map_err(|_| wrong_token())).transpose()?;
        let query = AuditQuery { since, before, actor, target, action, allowed, size: size + 1 };
        let mut rows = self.store.list_audit(query).await?;
        let more = rows.len() > size;
        rows.truncate(size);
        let next = rows.last().filter(|_| more).map(|row| row.id.to_string()).unwrap_or_default();
        Ok((rows, next))
    }

    /// Looks at every row since a time. `head` is what an earlier look noted, such as `17:9f86…`: it must still be there.
    pub async fn verify_audit(&self, since: Option<&str>, head: Option<&str>) -> Result<AuditReport, Error> {
        let since = self.since(since)?;
        let head = head.map(read_head).transpose()?;
        let mut report = self.store.verify_audit(since).await?;
        if report.broken.is_some() {
            return Ok(report);
        }
        if let Some((id, hash)) = head {
            let query = AuditQuery { before: id.checked_add(1), size: 1, ..AuditQuery::default() };
            let found = self.store.list_audit(query).await?;
            if found.first().is_none_or(|row| (row.id, row.hash) != (id, hash)) {
                let what = "is not the one that was noted, or it is missing with all after it".to_owned();
                report.broken = Some(Broken { id, what });
            }
        }
        Ok(report)
    }

    /// Tells the log what was done that the store knows nothing of. It is done by then: a log that cannot be written is the
    /// operator's to hear of.
    pub async fn tell_audit(&self, by: &Actor, what: (&str, &str)) {
        self.append_audit(by, what, None).await;
    }

    /// The same of something that was refused, and why.
    pub async fn tell_refused(&self, by: &Actor, what: (&str, &str), reason: &str) {
        self.append_audit(by, what, Some(reason)).await;
    }

    async fn append_audit(&self, by: &Actor, (action, target): (&str, &str), refused: Option<&str>) {
        let entry = NewAudit {
            at: self.now(),
            by: by.clone(),
            action: action.to_owned(),
            target: target.to_owned(),
            allowed: refused.is_none(),
            detail: refused.map(|reason| json!({"reason": reason}).to_string()).unwrap_or_default(),
        };
        if let Err(why) = self.store.append_audit(vec![entry]).await {
            error!(error = %why, action, target, "what was done could not be told to the audit log");
        }
    }

    /// Counts that a caller was refused what its grant does not say.
    pub fn note_refused(&self, scope: &Scope, operation: &'static str) {
        let refusal = Refusal {
            who: scope.owner().grant.to_string(),
            origin: scope.caller.origin.counted(),
            action: "access.call",
            target: format!("{}/{operation}", scope.agent.name()),
            reason: "the grant does not allow it",
        };
        self.refusals.note(refusal, self.now());
    }

    /// A time, or one that is so long ago.
    fn since(&self, text: Option<&str>) -> Result<Option<Timestamp>, Error> {
        let Some(text) = text else { return Ok(None) };
        let ago = |span: std::time::Duration| {
            let millis = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
            Timestamp::from_millis(self.now().as_millis().saturating_sub(millis))
        };
        let read = Timestamp::parse(text).or_else(|| parse_duration(text).ok().map(ago));
        read.map(Some).ok_or_else(|| {
            Error::invalid(
                "since",
                format!("`{text}` is neither a duration such as \"7d\" nor a time of RFC 3339"),
            )
        })
    }
}

/// The head of the log as text.
pub fn spell_head((id, hash): &(u64, [u8; 32])) -> String {
    format!("{id}:{}", hex(hash))
}

fn read_head(text: &str) -> Result<(u64, [u8; 32]), Error> {
    let read = || {
        let (id, hash) = text.split_once(':')?;
        let plain = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        plain.then_some(())?;
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hash[2 * at..2 * at + 2], 16).ok()?;
        }
        Some((id.parse::<u64>().ok()?, bytes))
    };
    match read() {
        Some((0, _)) => Err(Error::invalid("head", "names no row: the log was empty when it was noted")),
        Some(head) => Ok(head),
        None => Err(Error::invalid("head", "is an id and a hash as an earlier look printed them: `ID:HASH`")),
    }
}

//! One configuration's turn: its notifications one after the other, until there are no more or one is not taken.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use baton_core::delivery::{Input, State};
use baton_core::limits::WEBHOOK_WITHIN;
use baton_core::time::Timestamp;
use baton_store::{DeliveryAttempt, Owed, Settle};
use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use tokio::time::Instant;
use tracing::{debug, warn};

use super::notice::Said;
use super::request::{self, Told};
use super::targets::Verdict;
use super::{BODIES, SLEEP, Sender, notice};
use crate::clock::random_bytes;
use crate::crash;
use crate::net::dialer::{Error, Target};
use crate::service::push::Secret;

/// Bytes of an answer that are read, so that its connection can be used again; and for how long.
const ANSWER: usize = 64 * 1024;
const ANSWER_WITHIN: Duration = Duration::from_secs(1);

/// What came of one try.
struct Tried {
    input: Input,
    verdict: Verdict,
    status: Option<StatusCode>,
    error: Option<String>,
}

impl Tried {
    fn failed(verdict: Verdict, error: String) -> Self {
        Self { input: failed(None), verdict, status: None, error: Some(error) }
    }
}

fn failed(retry_after: Option<Duration>) -> Input {
    let [a, b, ..] = random_bytes();
    Input::Failed { retry_after, chance: u16::from_be_bytes([a, b]) }
}

/// Serves one configuration, then gives its place back.
pub async fn run(sender: Arc<Sender>, owed: Owed) {
    let (task, id, target) = (owed.config.task, owed.config.id.clone(), owed.config.target.clone());
    let on = match serve(&sender, &owed).await {
        Ok(on) => on,
        Err(why) => {
            warn!(task.id = %task, push.id = id, error = %why, "could not store what came of a webhook");
            // What was taken is sent again: not without end while the store is in trouble.
            tokio::select! {
                () = tokio::time::sleep(SLEEP) => {}
                () = sender.stop.cancelled() => {}
            }
            true
        }
    };
    // Only now: a sweep passes over what is being served.
    let waited_for = sender.busy().end(&target, (task, id));
    if on || waited_for {
        sender.nudged.notify_one();
    }
}

/// Answers whether there is more to do for it, now or later. Ends early where the node stops: what is not settled is sent
/// again.
async fn serve(sender: &Sender, owed: &Owed) -> Result<bool, baton_store::Error> {
    let (notices, seen) = notice::of(owed);
    let mut state = Some(State::Active { failures: 0, due_at: None });
    if notices.is_empty() {
        state = settle(sender, owed, (seen, Input::Taken { more: false }), None).await?;
    }
    let mut settled = owed.config.cursor;
    for notice in notices {
        let weight = notice::weight(owed, &notice.event).min(BODIES);
        let room = sender.bodies.acquire_many(u32::try_from(weight).unwrap_or(u32::MAX));
        let Ok(_room) = room.await else { return Ok(false) };
        let bodies = notice::bodies(&*sender.service.store, owed, &notice.event).await?;
        let parts = bodies.len();
        if parts == 0 {
            settled = notice.settles;
            state = settle(sender, owed, (settled, Input::Taken { more: false }), None).await?;
        }
        for (part, body) in bodies.into_iter().enumerate() {
            let (seq, last) = (notice.event.seq, part + 1 == parts);
            let told = encode((seq, part), &body);
            drop(body);
            let Some((tried, attempt)) = attempt(sender, owed, told).await else { return Ok(false) };
            crash::pass(crash::WEBHOOK_ANSWERED);
            let taken = matches!(tried.input, Input::Taken { .. });
            // The event is settled with its last part.
            settled = if taken && last { notice.settles } else { settled.max(owed.config.cursor) };
            sender.busy().targets.judge(&owed.config.target, tried.verdict, attempt.at);
            state = settle(sender, owed, (settled, tried.input), Some(attempt)).await?;
            if !taken || state.is_none() {
                report(owed, state);
                return Ok(is_due(state));
            }
        }
    }
    // What came meanwhile is the next turn's.
    Ok(is_due(state))
}

const fn is_due(state: Option<State>) -> bool {
    matches!(state, Some(State::Active { due_at: Some(_), .. }))
}

fn encode((seq, part): (u64, usize), body: &Said) -> Told {
    let (media, body) = match body {
        Said::V1(response) => ("application/a2a+json", baton_wire::response::encode(response)),
        Said::V03(task) => ("application/json", baton_wire::v03::write::notification(task)),
    };
    Told { seq, part, media, body }
}

/// One try; none where the node stops before it is over.
async fn attempt(sender: &Sender, owed: &Owed, told: Told) -> Option<(Tried, DeliveryAttempt)> {
    let (seq, begun, at) = (told.seq, Instant::now(), sender.service.now());
    let tried = tokio::select! {
        tried = post(sender, owed, told, at) => tried,
        () = sender.stop.cancelled() => return None,
    };
    if let Some(why) = &tried.error {
        debug!(task.id = %owed.config.task, push.id = owed.config.id, error = why, "a webhook was not taken");
    }
    let attempt = DeliveryAttempt {
        number: 0,
        seq,
        at,
        took: begun.elapsed(),
        status: tried.status.map(|status| status.as_u16()),
        error: tried.error.clone(),
    };
    Some((tried, attempt))
}

async fn post(sender: &Sender, owed: &Owed, told: Told, now: Timestamp) -> Tried {
    let config = &owed.config;
    let target = match Target::parse(&config.url) {
        Ok(target) => target,
        Err(why) => return Tried::failed(Verdict::Unknown, Error::from(why).to_string()),
    };
    let secret = Secret::unseal(&sender.service.seal, owed.secret.as_deref(), config.task, &config.id);
    let ask = match secret {
        Ok(secret) => request::ask(owed, told, &secret, (&sender.service.keys, now)),
        Err(why) => return Tried::failed(Verdict::Unknown, why.to_string()),
    };
    let Ok(ask) = ask else {
        return Tried::failed(Verdict::Unknown, "a stored value does not fit into a header".to_owned());
    };
    match sender.service.dialer.open(&target, ask, WEBHOOK_WITHIN).await {
        Ok(response) => {
            let (head, body) = response.into_parts();
            drain(body).await;
            judge(head.status, &head.headers, now)
        }
        Err(why @ Error::Refused(_)) => Tried::failed(Verdict::Unknown, why.to_string()),
        Err(why) => Tried::failed(Verdict::Troubled, why.to_string()),
    }
}

/// What an answer means (§4.3.3): any 2xx is success, 410 ends it, everything else is tried again.
fn judge(status: StatusCode, headers: &HeaderMap, now: Timestamp) -> Tried {
    let error = (!status.is_success()).then(|| format!("the receiver answered {}", status.as_u16()));
    let input = match status {
        _ if status.is_success() => Input::Taken { more: false },
        StatusCode::GONE => Input::Gone,
        _ => failed(retry_after(headers, now)),
    };
    let troubled = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
    let verdict = if troubled { Verdict::Troubled } else { Verdict::Alive };
    Tried { input, verdict, status: Some(status), error }
}

/// Seconds, or a date (RFC 9110 §10.2.3).
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(at.saturating_sub(Duration::from_millis(u64::try_from(now.as_millis()).unwrap_or(0))))
}

/// Reads the rest of a short answer. What is longer or slower costs its connection, nothing else.
async fn drain(body: Incoming) {
    let _ = tokio::time::timeout(ANSWER_WITHIN, Limited::new(body, ANSWER).collect()).await;
}

async fn settle(
    sender: &Sender,
    owed: &Owed,
    (cursor, input): (u64, Input),
    attempt: Option<DeliveryAttempt>,
) -> Result<Option<State>, baton_store::Error> {
    let config = &owed.config;
    let settle = Settle {
        task: config.task,
        id: config.id.clone(),
        revision: config.revision,
        cursor,
        input,
        attempt,
        now: sender.service.now(),
    };
    sender.service.store.settle(settle).await
}

/// Only what an operator may want to act on.
fn report(owed: &Owed, state: Option<State>) {
    let config = &owed.config;
    match state {
        Some(State::Suspended) => warn!(
            task.id = %config.task,
            push.id = config.id,
            push.target = config.target,
            "a webhook is suspended: `baton deliveries replay` tries again"
        ),
        Some(State::Ended(_)) => {
            debug!(task.id = %config.task, push.id = config.id, "the receiver of a webhook wants no more");
        }
        Some(State::Active { .. }) | None => {}
    }
}

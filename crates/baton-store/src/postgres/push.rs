//! Push configurations inside a transaction: stored, marked, settled.

use std::sync::LazyLock;

use async_trait::async_trait;
use baton_core::delivery::{Input, State, step};
use baton_core::ident::TaskId;
use baton_core::limits::PUSH_CONFIGS;
use baton_core::task::{Refusal, Task};
use baton_core::time::Timestamp;
use uuid::Uuid;

use super::access::{self, GRANT};
use super::delivery::{CONFIG, FIND_PUSH_CONFIG, config};
use super::failure::Failure;
use super::pipeline::{Asked, Value};
use super::pool::{Ask, Tx, Work};
use super::rows::{count, escaped, int, number, uuid};
use super::{HELD_MS, audit, read};
use crate::stored::push::{is_settled_by, settled, state_columns};
use crate::{Actor, Barred, By, Error, LOCAL, NewPush, PushConfig, Settle};

/// A configuration that replaces another goes on where that one was. Revisions begin with the time, so that one that was
/// deleted and made again has none of the earlier one's.
const PUT_PUSH_CONFIG: &str = "-- store.put_push_config
INSERT INTO push_config (task_id, id, grant_id, url, target, scheme, secret, edition, created_at, revision, cursor, tries,
    state, reason, failures, due_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::bigint, $9::bigint, $10::bigint, 0, 'active', NULL, 0, CASE WHEN $10::bigint < $11::bigint THEN $9::bigint END)
ON CONFLICT (task_id, id) DO UPDATE SET url = excluded.url, target = excluded.target, scheme = excluded.scheme,
    secret = excluded.secret, edition = excluded.edition, created_at = excluded.created_at,
    revision = push_config.revision + 1, state = 'active', reason = NULL, failures = 0,
    due_at = CASE WHEN push_config.cursor < $11::bigint THEN $9::bigint END, held_by = NULL, held_until = NULL";

const COUNT_PUSH_CONFIGS: &str = "-- store.count_push_configs
SELECT count(*) FROM push_config WHERE task_id = $1 AND id <> $2";

const DELETE_PUSH_CONFIG: &str = "-- store.delete_push_config
DELETE FROM push_config WHERE task_id = $1 AND id = $2";

const DELETE_DELIVERIES: &str = "-- store.delete_deliveries
DELETE FROM delivery WHERE task_id = $1 AND config_id = $2";

pub const MARK_OWED: &str = "-- store.mark_owed
UPDATE push_config SET due_at = owed.since FROM unnest($1::uuid[], $2::bigint[]) AS owed (task_id, since)
WHERE push_config.task_id = owed.task_id AND state = 'active' AND due_at IS NULL";

static LOCK_PUSH_CONFIG: LazyLock<String> = LazyLock::new(|| {
    format!(
        "-- store.lock_push_config\nSELECT {CONFIG} FROM push_config WHERE task_id = $1 AND id = $2 FOR UPDATE"
    )
});

/// Whoever has it in hand keeps it as long as there is more to send at once.
const UPDATE_PUSH_CONFIG: &str = "-- store.update_push_config
UPDATE push_config SET cursor = $3, tries = $4, state = $5, reason = $6, failures = $7, due_at = $8,
    held_by = CASE WHEN $9 THEN held_by END, held_until = CASE WHEN $9 AND held_by IS NOT NULL THEN $10::bigint END
WHERE task_id = $1 AND id = $2";

const INSERT_DELIVERY: &str = "-- store.insert_delivery
INSERT INTO delivery (task_id, config_id, number, seq, at, took_ms, status, error) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";

/// Waits for whoever changes the task, and keeps it as it is.
const LOCK_TASK: &str = "-- store.lock_task
SELECT seq FROM task WHERE id = $1 FOR UPDATE";

static FIND_STANDING: LazyLock<String> =
    LazyLock::new(|| format!(r#"-- store.find_standing{}SELECT {GRANT} FROM "grant" WHERE id = $1"#, '\n'));

/// What is asked about push configurations.
pub enum PushWrite {
    Put { by: By, task: TaskId, new: NewPush, now: Timestamp },
    Delete { by: By, task: TaskId, id: String, now: Timestamp },
    Settle(Settle),
    Replay { task: TaskId, id: String, by: Actor, now: Timestamp },
}

/// What it comes to.
pub enum PushAnswer {
    Config(Box<PushConfig>),
    Deleted(bool),
    Settled(Option<State>),
}

#[async_trait]
impl Work for PushWrite {
    type Answer = PushAnswer;

    async fn run(&self, tx: &Tx<'_>) -> Result<PushAnswer, Failure> {
        match self {
            Self::Put { by, task, new, now } => {
                let known = seen(tx, (by, *now), *task).await?;
                let others: usize =
                    number(&tx.one(COUNT_PUSH_CONFIGS, &[&uuid(*task), &escaped(&new.id)]).await?, 0)?;
                if others >= PUSH_CONFIGS {
                    return Err(Refusal::TooManyPushConfigs.into());
                }
                let (asked, bind) = put(&known, new, (known.seq, *now)).parts();
                tx.execute(asked, &bind.iter().map(|value| &**value as _).collect::<Vec<_>>()).await?;
                stored(tx, *task, &new.id).await.map(|config| PushAnswer::Config(Box::new(config)))
            }
            Self::Delete { by, task, id, now } => {
                seen(tx, (by, *now), *task).await?;
                let (task, id) = (uuid(*task), escaped(id));
                let deleted = tx.execute(DELETE_PUSH_CONFIG, &[&task, &id]).await?;
                tx.execute(DELETE_DELIVERIES, &[&task, &id]).await?;
                Ok(PushAnswer::Deleted(deleted > 0))
            }
            Self::Settle(settle) => self::settle(tx, settle).await.map(PushAnswer::Settled),
            Self::Replay { task, id, by, now } => {
                let mut config = locked(tx, *task, id).await?.ok_or(Error::NotFound)?;
                let state = step(config.state, Input::Replayed, *now);
                if state == config.state {
                    return Ok(PushAnswer::Config(Box::new(config)));
                }
                config.state = state;
                update(tx, &config, *now).await?;
                let target = format!("{task}/{id}");
                audit::note(tx, (by, *now), ("delivery.replay", &target), String::new()).await?;
                Ok(PushAnswer::Config(Box::new(config)))
            }
        }
    }
}

/// The task, where `by` may still change what belongs to it. Nobody changes it before this transaction ends.
async fn seen(tx: &Tx<'_>, (by, now): (&By, Timestamp), task: TaskId) -> Result<Task, Failure> {
    if let Some(owner) = by.caller()
        && &*owner.grant != LOCAL
    {
        let row = tx.first(&FIND_STANDING, &[&escaped(&owner.grant)]).await?;
        let grant = row.as_ref().map(access::stored).transpose()?;
        grant.map_or(Err(Barred::Over), |stored| stored.grant.admits(now))?;
    }
    tx.query(LOCK_TASK, &[&uuid(task)]).await?;
    let found = read::find_task(tx, task).await?.map(|kept| Task::clone(&kept.task));
    Ok(found.filter(|task| by.sees(task)).ok_or(Error::NotFound)?)
}

async fn stored(db: &impl Ask, task: TaskId, id: &str) -> Result<PushConfig, Failure> {
    let row = db.first(&FIND_PUSH_CONFIG, &[&uuid(task), &escaped(id)]).await?;
    config(&row.ok_or(Error::NotFound)?)
}

async fn locked(tx: &Tx<'_>, task: TaskId, id: &str) -> Result<Option<PushConfig>, Failure> {
    let row = tx.first(&LOCK_PUSH_CONFIG, &[&uuid(task), &escaped(id)]).await?;
    row.as_ref().map(config).transpose()
}

/// The task first, as whoever changes it marks its configurations last: what comes of it meanwhile is not passed over.
async fn settle(tx: &Tx<'_>, settle: &Settle) -> Result<Option<State>, Failure> {
    let Settle { task, id, attempt, now, .. } = settle;
    let seq = match tx.first(LOCK_TASK, &[&uuid(*task)]).await? {
        Some(row) => count(&row, 0)?,
        None => settle.cursor,
    };
    let found = locked(tx, *task, id).await?.filter(|config| is_settled_by(config, settle));
    let Some(config) = found else { return Ok(None) };
    let config = settled(config, settle, seq);
    if let Some(attempt) = attempt {
        tx.execute(
            INSERT_DELIVERY,
            &[
                &uuid(*task),
                &escaped(id),
                &int(config.tries),
                &int(attempt.seq),
                &attempt.at.as_millis(),
                &int(attempt.took.as_millis()),
                &attempt.status.map(i64::from),
                &attempt.error.as_deref().map(escaped),
            ],
        )
        .await?;
    }
    update(tx, &config, *now).await?;
    Ok(Some(config.state))
}

/// Stores a configuration that there is room for. `seen`: what is settled when it begins, and the time.
pub fn put(task: &Task, new: &NewPush, seen: (u64, Timestamp)) -> Asked {
    let (cursor, now) = seen;
    let owned = |text: &str| -> Value { Box::new(escaped(text).into_owned()) };
    let bind: Vec<Value> = vec![
        Box::new(uuid(task.id)),
        owned(&new.id),
        owned(&task.owner.grant),
        owned(&new.url),
        owned(&new.target),
        Box::new(new.scheme.as_deref().map(|scheme| escaped(scheme).into_owned())),
        Box::new(new.secret.clone()),
        owned(new.edition.as_str()),
        Box::new(now.as_millis()),
        Box::new(int(cursor)),
        Box::new(int(task.seq)),
    ];
    Asked::new(PUT_PUSH_CONFIG, bind)
}

/// Something happened to tasks of which somebody is to be told.
pub fn mark_owed(owed: &[(TaskId, Timestamp)]) -> Option<Asked> {
    if owed.is_empty() {
        return None;
    }
    let ids: Vec<Uuid> = owed.iter().map(|(id, _)| uuid(*id)).collect();
    let since: Vec<i64> = owed.iter().map(|(_, since)| since.as_millis()).collect();
    Some(Asked::new(MARK_OWED, vec![Box::new(ids), Box::new(since)]))
}

async fn update(tx: &Tx<'_>, config: &PushConfig, now: Timestamp) -> Result<(), Failure> {
    let (state, reason, failures, due_at) = state_columns(config.state);
    let more_at_once = due_at.is_some_and(|due| due <= now.as_millis());
    let held_until = tx.judged(now).as_millis() + HELD_MS;
    tx.execute(
        UPDATE_PUSH_CONFIG,
        &[
            &uuid(config.task),
            &escaped(&config.id),
            &int(config.cursor),
            &int(config.tries),
            &state,
            &reason,
            &i64::from(failures),
            &due_at,
            &more_at_once,
            &held_until,
        ],
    )
    .await?;
    Ok(())
}

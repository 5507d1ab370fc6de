//! What a person must look at, and the verbs of [`Attention`].

use std::slice;
use std::sync::Arc;

use async_trait::async_trait;
use baton_core::task::Snapshot;
use baton_core::time::Timestamp;
use rusqlite::{Connection, ToSql, params};

use super::audit::note;
use super::delivery::{CONFIG, config};
use super::writer::Write;
use super::{Sqlite, list};
use crate::{Actor, Attend, Attention, COUNTED, Content, Error, Needs, NeedsCounts};

/// The states INPUT_REQUIRED and AUTH_REQUIRED.
const ASKING: [i32; 2] = [6, 8];

pub(super) const LIST_ASKING: &str = "-- store.list_asking
SELECT created_at, id FROM task
WHERE shown_state = ?1 AND shown_state > 3 ORDER BY id LIMIT ?2";

pub(super) const COUNT_ASKING: &str = "-- store.count_asking
SELECT count(*) FROM (SELECT 1 FROM task
    WHERE shown_state = ?1 AND shown_state > 3 LIMIT ?2)";

pub(super) const LIST_UNATTENDED: &str = "-- store.list_unattended
SELECT created_at, id FROM task WHERE phase = 'failed' AND attended = 0 ORDER BY id LIMIT ?1";

pub(super) const COUNT_UNATTENDED: &str = "-- store.count_unattended
SELECT count(*) FROM (SELECT 1 FROM task WHERE phase = 'failed' AND attended = 0 LIMIT ?1)";

pub(super) const LIST_FAILING: &str = "-- store.list_failing
SELECT {} FROM push_config WHERE (state = 'suspended' OR failures >= 3) ORDER BY task_id, id LIMIT ?1";

pub(super) const COUNT_FAILING: &str = "-- store.count_failing
SELECT count(*) FROM (SELECT 1 FROM push_config WHERE (state = 'suspended' OR failures >= 3) LIMIT ?1)";

const ATTEND_ONE: &str = "-- store.attend_one
UPDATE task SET attended = 1 WHERE phase = 'failed' AND attended = 0 AND id = ?1";

/// What the writer is asked.
pub struct AttendWrite {
    attend: Attend,
    by: Actor,
    now: Timestamp,
}

pub fn write(db: &Connection, AttendWrite { attend, by, now }: &AttendWrite) -> Result<usize, Error> {
    let (ids, action) = match attend {
        Attend::One(id) => (slice::from_ref(id), "task.attend"),
        Attend::These(ids) => (&**ids, "task.attend-all"),
    };
    let mut attended = Vec::new();
    for id in ids {
        if db.prepare_cached(ATTEND_ONE)?.execute([id.as_bytes()])? > 0 {
            attended.push(id.to_string());
        }
    }
    if let Some(last) = attended.last() {
        let detail = match attend {
            Attend::One(_) => String::new(),
            Attend::These(_) => serde_json::json!({ "tasks": attended }).to_string(),
        };
        note(db, (by, *now), (action, last), detail)?;
    }
    Ok(attended.len())
}

fn needs(db: &Connection, most: usize) -> Result<Needs, Error> {
    Ok(Needs {
        waiting: waiting(db, most)?,
        failed: list::load_for_operator(
            db,
            &list::collect(db, LIST_UNATTENDED, params![most])?,
            Content::default(),
        )?,
        webhooks: db
            .prepare_cached(&LIST_FAILING.replace("{}", CONFIG))?
            .query_map([most], config)?
            .collect::<Result<_, _>>()?,
        counts: counts(db)?,
    })
}

fn waiting(db: &Connection, most: usize) -> Result<Vec<Arc<Snapshot>>, Error> {
    let mut found = Vec::new();
    for state in ASKING {
        found.extend(list::collect(db, LIST_ASKING, params![state, most])?);
    }
    let mut tasks = list::load_for_operator(db, &found, Content::default())?;
    tasks.sort_by_key(|snapshot| (snapshot.task.status.at, snapshot.task.id));
    tasks.truncate(most);
    Ok(tasks)
}

fn counts(db: &Connection) -> Result<NeedsCounts, Error> {
    let count = |sql: &str, bind: &[&dyn ToSql]| -> Result<usize, Error> {
        Ok(db.prepare_cached(sql)?.query_row(bind, |row| row.get(0))?)
    };
    let [input, auth] = ASKING;
    Ok(NeedsCounts {
        waiting: count(COUNT_ASKING, params![input, COUNTED])? + count(COUNT_ASKING, params![auth, COUNTED])?,
        failed: count(COUNT_UNATTENDED, params![COUNTED])?,
        webhooks: count(COUNT_FAILING, params![COUNTED])?,
    })
}

#[async_trait]
impl Attention for Sqlite {
    async fn needs(&self, most: usize) -> Result<Needs, Error> {
        self.inner.readers.run(move |db| needs(db, most)).await
    }

    async fn attend(&self, attend: Attend, (by, now): (&Actor, Timestamp)) -> Result<usize, Error> {
        let write = AttendWrite { attend, by: by.clone(), now };
        self.inner.writer.write(|reply| Write::Attend(Box::new(write), reply)).await
    }
}

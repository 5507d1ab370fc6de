//! What a person must look at, and the verbs of [`Attention`].

use std::slice;

use async_trait::async_trait;
use baton_core::time::Timestamp;

use super::audit::note;
use super::delivery::{LIST_FAILING, config};
use super::failure::Failure;
use super::pool::{Ask, Tx, Work};
use super::rows::{id, int, number, uuid};
use super::{Postgres, list, read};
use crate::{Actor, Attend, Attention, COUNTED, Content, Error, Needs, NeedsCounts};

/// The states INPUT_REQUIRED and AUTH_REQUIRED.
const ASKING: [i64; 2] = [6, 8];

pub const LIST_ASKING: &str = "-- store.list_asking
SELECT created_at, id FROM task
WHERE shown_state = $1 AND shown_state <> 0 AND shown_state <> 3 ORDER BY id LIMIT $2";

pub const COUNT_ASKING: &str = "-- store.count_asking
SELECT count(*) FROM (SELECT 1 FROM task
    WHERE shown_state = $1 AND shown_state <> 0 AND shown_state <> 3 LIMIT $2) AS asking";

pub const LIST_UNATTENDED: &str = "-- store.list_unattended
SELECT created_at, id FROM task WHERE phase = 'failed' AND NOT attended ORDER BY id LIMIT $1";

pub const COUNT_UNATTENDED: &str = "-- store.count_unattended
SELECT count(*) FROM (SELECT 1 FROM task WHERE phase = 'failed' AND NOT attended LIMIT $1) AS unattended";

pub const COUNT_FAILING: &str = "-- store.count_failing
SELECT count(*) FROM (SELECT 1 FROM push_config WHERE state = 'suspended' OR failures >= 3 LIMIT $1) AS failing";

const ATTEND: &str = "-- store.attend_one
UPDATE task SET attended = TRUE WHERE phase = 'failed' AND NOT attended AND id = $1 RETURNING id";

/// What is asked.
struct AttendWrite {
    attend: Attend,
    by: Actor,
    now: Timestamp,
}

#[async_trait]
impl Work for AttendWrite {
    type Answer = usize;

    async fn run(&self, tx: &Tx<'_>) -> Result<usize, Failure> {
        let Self { attend, by, now } = self;
        let (ids, action) = match attend {
            Attend::One(id) => (slice::from_ref(id), "task.attend"),
            Attend::These(ids) => (&**ids, "task.attend-all"),
        };
        let mut attended = Vec::new();
        for task in ids {
            if let Some(row) = tx.first(ATTEND, &[&uuid(*task)]).await? {
                attended.push(id(&row, 0)?.to_string());
            }
        }
        if let Some(last) = attended.last() {
            let detail = match attend {
                Attend::One(_) => String::new(),
                Attend::These(_) => serde_json::json!({ "tasks": attended }).to_string(),
            };
            note(tx, (by, *now), (action, last), detail).await?;
        }
        Ok(attended.len())
    }
}

async fn needs(db: &impl Ask, most: usize) -> Result<Needs, Failure> {
    let mut found = Vec::new();
    for state in ASKING {
        found.extend(list::collect(db, LIST_ASKING, &[&state, &int(most)]).await?);
    }
    let mut waiting = read::excerpts(db, &list::ids(&found), Content::default(), true).await?;
    waiting.sort_by_key(|snapshot| (snapshot.task.status.at, snapshot.task.id));
    waiting.truncate(most);
    let unattended = list::collect(db, LIST_UNATTENDED, &[&int(most)]).await?;
    let failed = read::excerpts(db, &list::ids(&unattended), Content::default(), true).await?;
    let webhooks = db.query(&LIST_FAILING, &[&int(most)]).await?;
    let webhooks = webhooks.iter().map(config).collect::<Result<_, _>>()?;
    Ok(Needs { waiting, failed, webhooks, counts: counts(db).await? })
}

async fn counts(db: &impl Ask) -> Result<NeedsCounts, Failure> {
    let most = int(COUNTED);
    let mut waiting = 0;
    for state in ASKING {
        waiting += number::<usize>(&db.one(COUNT_ASKING, &[&state, &most]).await?, 0)?;
    }
    let failed = number(&db.one(COUNT_UNATTENDED, &[&most]).await?, 0)?;
    let webhooks = number(&db.one(COUNT_FAILING, &[&most]).await?, 0)?;
    Ok(NeedsCounts { waiting, failed, webhooks })
}

#[async_trait]
impl Attention for Postgres {
    async fn needs(&self, most: usize) -> Result<Needs, Error> {
        Ok(needs(&*self.inner.connections, most).await?)
    }

    async fn attend(&self, attend: Attend, (by, now): (&Actor, Timestamp)) -> Result<usize, Error> {
        let write = AttendWrite { attend, by: by.clone(), now };
        self.inner.connections.run("attend", &write).await
    }
}

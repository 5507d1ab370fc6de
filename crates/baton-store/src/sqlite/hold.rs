//! The rows of what is held back, and the verbs of [`Holds`].

use async_trait::async_trait;
use baton_core::time::Timestamp;
use rusqlite::{Connection, Row, params};

use super::Sqlite;
use super::audit::note;
use super::rows::{text, time};
use super::writer::Write;
use crate::stored::named::{hold, hold_kind};
use crate::{Actor, Error, Held, Hold, Holds};

const INSERT_HOLD: &str = "-- store.insert_hold
INSERT INTO hold (kind, target, since, by) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (kind, target) DO NOTHING";

const DELETE_HOLD: &str = "-- store.delete_hold
DELETE FROM hold WHERE kind = ?1 AND target = ?2";

const LIST_HOLDS: &str = "-- store.list_holds
SELECT kind, target, since, by FROM hold ORDER BY kind, target";

/// What the writer is asked to hold back, or to let go.
pub struct HoldWrite {
    hold: Hold,
    begins: bool,
    by: Actor,
    now: Timestamp,
}

/// Whether it changed anything.
pub fn write(db: &Connection, HoldWrite { hold, begins, by, now }: &HoldWrite) -> Result<bool, Error> {
    let (kind, target) = (hold_kind(hold), hold.target());
    let rows = if *begins {
        db.prepare_cached(INSERT_HOLD)?.execute(params![kind, target, now.as_millis(), by.name])?
    } else {
        db.prepare_cached(DELETE_HOLD)?.execute([kind, target])?
    };
    if rows > 0 {
        note(db, (by, *now), (hold.action(*begins), target), String::new())?;
    }
    Ok(rows > 0)
}

fn held(row: &Row<'_>) -> rusqlite::Result<Held> {
    let hold = hold(text(row, 0)?, text(row, 1)?)?;
    Ok(Held { hold, since: time(row, 2)?, by: row.get(3)? })
}

fn list(db: &Connection) -> Result<Vec<Held>, Error> {
    let mut held: Vec<Held> =
        db.prepare_cached(LIST_HOLDS)?.query_map([], held)?.collect::<Result<_, _>>()?;
    held.sort_by(|a, b| a.hold.cmp(&b.hold));
    Ok(held)
}

#[async_trait]
impl Holds for Sqlite {
    async fn hold(&self, hold: Hold, begins: bool, (by, now): (&Actor, Timestamp)) -> Result<bool, Error> {
        let set = HoldWrite { hold, begins, by: by.clone(), now };
        self.inner.writer.write(|reply| Write::Hold(Box::new(set), reply)).await
    }

    async fn list_holds(&self) -> Result<Vec<Held>, Error> {
        self.inner.readers.run(list).await
    }
}

//! The rows of what is held back, and the verbs of [`Holds`].

use async_trait::async_trait;
use baton_core::time::Timestamp;
use tokio_postgres::Row;

use super::Postgres;
use super::audit::note;
use super::failure::Failure;
use super::pool::{Ask as _, Tx, Work};
use super::rows::{escaped, text, time};
use crate::stored::named::{hold, hold_kind};
use crate::{Actor, Elsewhere, Error, Held, Hold, Holds};

const INSERT_HOLD: &str = "-- store.insert_hold
INSERT INTO hold (kind, target, since, by) VALUES ($1, $2, $3, $4) ON CONFLICT (kind, target) DO NOTHING";

const DELETE_HOLD: &str = "-- store.delete_hold
DELETE FROM hold WHERE kind = $1 AND target = $2";

const LIST_HOLDS: &str = "-- store.list_holds
SELECT kind, target, since, by FROM hold ORDER BY kind, target";

/// What is to be held back, or let go.
struct HoldWrite {
    hold: Hold,
    begins: bool,
    by: Actor,
    now: Timestamp,
}

#[async_trait]
impl Work for HoldWrite {
    /// Whether it changed anything.
    type Answer = bool;

    async fn run(&self, tx: &Tx<'_>) -> Result<bool, Failure> {
        let Self { hold, begins, by, now } = self;
        let (kind, target) = (hold_kind(hold), escaped(hold.target()));
        let rows = if *begins {
            tx.execute(INSERT_HOLD, &[&kind, &target, &now.as_millis(), &escaped(&by.name)]).await?
        } else {
            tx.execute(DELETE_HOLD, &[&kind, &target]).await?
        };
        if rows > 0 {
            note(tx, (by, *now), (hold.action(*begins), hold.target()), String::new()).await?;
        }
        Ok(rows > 0)
    }
}

fn held(row: &Row) -> Result<Held, Failure> {
    let hold = hold(row.try_get(0)?, &text(row, 1)?)?;
    Ok(Held { hold, since: time(row, 2)?, by: text(row, 3)? })
}

#[async_trait]
impl Holds for Postgres {
    async fn hold(&self, hold: Hold, begins: bool, (by, now): (&Actor, Timestamp)) -> Result<bool, Error> {
        let write = HoldWrite { hold, begins, by: by.clone(), now };
        let changed = self.inner.connections.run("hold", &write).await?;
        if changed {
            self.inner.teller.tell(Elsewhere::Holds);
        }
        Ok(changed)
    }

    async fn list_holds(&self) -> Result<Vec<Held>, Error> {
        let rows = self.inner.connections.query(LIST_HOLDS, &[]).await?;
        let mut held: Vec<Held> = rows.iter().map(held).collect::<Result<_, _>>()?;
        held.sort_by(|a, b| a.hold.cmp(&b.hold));
        Ok(held)
    }
}

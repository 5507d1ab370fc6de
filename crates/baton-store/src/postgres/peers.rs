//! Peers: their rows, what is written of them, and the verbs of [`Peers`].

use std::sync::LazyLock;

use async_trait::async_trait;
use baton_core::friend::peer::State;
use baton_core::time::Timestamp;
use serde_json::json;
use tokio_postgres::Row;

use super::failure::Failure;
use super::pool::{Ask, Tx, Work};
use super::rows::{self, escaped, int, optional_number, optional_text, text, time};
use super::{HELD_MS, NOW, Postgres, audit};
use crate::stored::peer::{changed, state, state_columns};
use crate::stored::to_json;
use crate::{Actor, Asked, Error, Mark, Peer, PeerChange, Peers};

/// The columns of [`peer`], in its order.
pub const PEER: &str = "peer.id, name, origin, card_url, mark_at, mark_digest, mark_key, request_url, code, as_card, agents, verbs, why,
    state, due_at, looks, until, secret, credential, granted, problem, created_at, created_by, changed_at";

static FIND_PEER: LazyLock<String> =
    LazyLock::new(|| format!("-- store.find_peer\nSELECT {PEER} FROM peer WHERE id = $1"));

static LOCK_PEER: LazyLock<String> =
    LazyLock::new(|| format!("-- store.lock_peer\nSELECT {PEER} FROM peer WHERE id = $1 FOR UPDATE"));

static LIST_PEERS: LazyLock<String> =
    LazyLock::new(|| format!("-- store.list_peers\nSELECT {PEER} FROM peer ORDER BY id DESC"));

/// Takes them in hand, so that no other node looks at the same time.
pub static LIST_DUE_PEERS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "-- store.list_due_peers
WITH moment AS MATERIALIZED (SELECT {now} AS now),
due AS (SELECT id AS due_id FROM peer
    WHERE due_at <= (SELECT now FROM moment)
        AND (held_by IS NULL OR held_by = $3 OR held_until <= (SELECT now FROM moment))
    ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED)
UPDATE peer SET held_by = $3, held_until = (SELECT now FROM moment) + $4 FROM due WHERE peer.id = due_id RETURNING {PEER}",
        now = NOW.replace("$2", "$1")
    )
});

const INSERT_PEER: &str = "-- store.insert_peer
INSERT INTO peer (id, name, origin, card_url, mark_at, mark_digest, mark_key, request_url, code, as_card, agents, verbs, why,
    state, due_at, looks, until, secret, credential, granted, problem, created_at, created_by, changed_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)";

const UPDATE_PEER: &str = "-- store.update_peer
UPDATE peer SET state = $2, due_at = $3, looks = $4, until = $5, secret = $6, credential = $7, granted = $8, problem = $9,
    changed_at = $10, held_by = NULL, held_until = NULL
WHERE id = $1";

const DELETE_PEER: &str = "-- store.delete_peer
DELETE FROM peer WHERE id = $1";

/// What is asked about peers.
enum PeerWrite {
    Create { peer: Box<Peer>, by: Actor },
    Change { id: String, state: State, change: PeerChange, by: Actor, now: Timestamp },
    Delete { id: String, by: Actor, now: Timestamp },
}

/// A mark from three columns.
pub fn mark(row: &Row, at: usize) -> Result<Mark, Failure> {
    Ok(Mark { at: time(row, at)?, digest: text(row, at + 1)?, key: optional_text(row, at + 2)? })
}

fn peer(row: &Row) -> Result<Peer, Failure> {
    let asked = Asked {
        url: text(row, 7)?,
        code: text(row, 8)?,
        as_card: text(row, 9)?,
        agents: rows::json(row, 10)?,
        verbs: rows::json(row, 11)?,
        why: text(row, 12)?,
    };
    Ok(Peer {
        id: text(row, 0)?,
        name: text(row, 1)?,
        origin: text(row, 2)?,
        card_url: text(row, 3)?,
        mark: mark(row, 4)?,
        asked,
        state: state(row.try_get(13)?, row.try_get(14)?, optional_number(row, 15)?, row.try_get(16)?)?,
        secret: row.try_get(17)?,
        credential: row.try_get(18)?,
        granted: rows::optional_json(row, 19)?,
        problem: optional_text(row, 20)?,
        created_at: time(row, 21)?,
        created_by: text(row, 22)?,
        changed_at: time(row, 23)?,
    })
}

async fn insert(tx: &Tx<'_>, peer: &Peer) -> Result<(), Failure> {
    let (state, due_at, looks, until) = state_columns(peer.state);
    let key = peer.mark.key.as_deref().map(escaped);
    let problem = peer.problem.as_deref().map(escaped);
    tx.execute(
        INSERT_PEER,
        &[
            &escaped(&peer.id),
            &escaped(&peer.name),
            &escaped(&peer.origin),
            &escaped(&peer.card_url),
            &peer.mark.at.as_millis(),
            &escaped(&peer.mark.digest),
            &key,
            &escaped(&peer.asked.url),
            &escaped(&peer.asked.code),
            &escaped(&peer.asked.as_card),
            &to_json(&peer.asked.agents),
            &to_json(&peer.asked.verbs),
            &escaped(&peer.asked.why),
            &state,
            &due_at,
            &looks.map(i64::from),
            &until,
            &peer.secret,
            &peer.credential,
            &peer.granted.as_ref().map(to_json),
            &problem,
            &peer.created_at.as_millis(),
            &escaped(&peer.created_by),
            &peer.changed_at.as_millis(),
        ],
    )
    .await?;
    Ok(())
}

async fn update(tx: &Tx<'_>, peer: &Peer) -> Result<(), Failure> {
    let (state, due_at, looks, until) = state_columns(peer.state);
    let problem = peer.problem.as_deref().map(escaped);
    tx.execute(
        UPDATE_PEER,
        &[
            &escaped(&peer.id),
            &state,
            &due_at,
            &looks.map(i64::from),
            &until,
            &peer.secret,
            &peer.credential,
            &peer.granted.as_ref().map(to_json),
            &problem,
            &peer.changed_at.as_millis(),
        ],
    )
    .await?;
    Ok(())
}

#[async_trait]
impl Work for PeerWrite {
    type Answer = Option<Peer>;

    async fn run(&self, tx: &Tx<'_>) -> Result<Option<Peer>, Failure> {
        match self {
            Self::Create { peer, by } => {
                insert(tx, peer).await?;
                let Peer { id, origin, asked: Asked { agents, verbs, code, .. }, created_at, .. } = &**peer;
                let detail = json!({"origin": origin, "agents": agents, "verbs": verbs, "code": code});
                audit::note(tx, (by, *created_at), ("peer.ask", id), detail.to_string()).await?;
                Ok(None)
            }
            Self::Change { id, state, change, by, now } => {
                let row = tx.first(&LOCK_PEER, &[&escaped(id)]).await?.ok_or(Error::NotFound)?;
                let before = peer(&row)?;
                if before.state != *state {
                    return Ok(Some(before));
                }
                let named = before.state.as_str();
                let after = changed(before, change, *now);
                update(tx, &after).await?;
                let name = after.state.as_str();
                if name != named || change.picked.is_some() {
                    let action = format!("peer.{name}");
                    audit::note(tx, (by, *now), (&action, id), String::new()).await?;
                }
                Ok(Some(after))
            }
            Self::Delete { id, by, now } => {
                if tx.execute(DELETE_PEER, &[&escaped(id)]).await? == 0 {
                    return Err(Error::NotFound.into());
                }
                audit::note(tx, (by, *now), ("peer.forget", id), String::new()).await?;
                Ok(None)
            }
        }
    }
}

#[async_trait]
impl Peers for Postgres {
    async fn create_peer(&self, peer: Peer, by: &Actor) -> Result<(), Error> {
        let write = PeerWrite::Create { peer: Box::new(peer), by: by.clone() };
        self.inner.connections.run("create_peer", &write).await.map(drop)
    }

    async fn find_peer(&self, id: &str) -> Result<Option<Peer>, Error> {
        let row = self.inner.connections.first(&FIND_PEER, &[&escaped(id)]).await?;
        Ok(row.as_ref().map(peer).transpose()?)
    }

    async fn list_peers(&self) -> Result<Vec<Peer>, Error> {
        let rows = self.inner.connections.query(&LIST_PEERS, &[]).await?;
        Ok(rows.iter().map(peer).collect::<Result<_, _>>()?)
    }

    async fn change_peer(
        &self,
        before: &Peer,
        change: PeerChange,
        (by, now): (&Actor, Timestamp),
    ) -> Result<Peer, Error> {
        let (id, state) = (before.id.clone(), before.state);
        let write = PeerWrite::Change { id, state, change, by: by.clone(), now };
        self.inner.connections.run("change_peer", &write).await?.ok_or(Error::NotFound)
    }

    async fn delete_peer(&self, id: &str, by: &Actor, now: Timestamp) -> Result<(), Error> {
        let write = PeerWrite::Delete { id: id.to_owned(), by: by.clone(), now };
        self.inner.connections.run("delete_peer", &write).await.map(drop)
    }

    async fn due_peers(&self, now: Timestamp, most: usize) -> Result<Vec<Peer>, Error> {
        let db = &*self.inner.connections;
        let bind: rows::Bind<'_> = &[&db.judged(now), &int(most), &self.inner.node, &HELD_MS];
        let rows = db.query(&LIST_DUE_PEERS, bind).await?;
        let mut due: Vec<Peer> = rows.iter().map(peer).collect::<Result<_, _>>()?;
        due.sort_by_key(|peer| peer.state.due_at());
        Ok(due)
    }
}

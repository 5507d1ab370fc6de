//! Peers: their rows, what is written of them, and the verbs of [`Peers`].

use async_trait::async_trait;
use baton_core::friend::peer::State;
use baton_core::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde_json::json;

use super::apply::Group;
use super::rows::{json as read_json, text, time, unreadable};
use super::writer::Write;
use super::{Sqlite, audit};
use crate::stored::peer::{changed, state, state_columns};
use crate::stored::to_json;
use crate::{Actor, Asked, Error, Mark, Peer, PeerChange, Peers};

/// The columns of [`peer`], in its order.
pub(super) const PEER: &str = "id, name, origin, card_url, mark_at, mark_digest, mark_key, request_url, code, as_card, agents, verbs, why,
    state, due_at, looks, until, secret, credential, granted, problem, created_at, created_by, changed_at";

const FIND_PEER: &str = "-- store.find_peer
SELECT {} FROM peer WHERE id = ?1";

const LIST_PEERS: &str = "-- store.list_peers
SELECT {} FROM peer ORDER BY id DESC";

pub(super) const LIST_DUE_PEERS: &str = "-- store.list_due_peers
SELECT {} FROM peer WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2";

const INSERT_PEER: &str = "-- store.insert_peer
INSERT INTO peer (id, name, origin, card_url, mark_at, mark_digest, mark_key, request_url, code, as_card, agents, verbs, why,
    state, due_at, looks, until, secret, credential, granted, problem, created_at, created_by, changed_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24)";

const UPDATE_PEER: &str = "-- store.update_peer
UPDATE peer SET state = ?2, due_at = ?3, looks = ?4, until = ?5, secret = ?6, credential = ?7, granted = ?8, problem = ?9,
    changed_at = ?10
WHERE id = ?1";

const DELETE_PEER: &str = "-- store.delete_peer
DELETE FROM peer WHERE id = ?1";

/// What the writer is asked about peers.
pub enum PeerWrite {
    Create { peer: Box<Peer>, by: Actor },
    Change { id: String, state: State, change: PeerChange, by: Actor, now: Timestamp },
    Delete { id: String, by: Actor, now: Timestamp },
}

/// A mark from three columns.
pub fn mark(row: &Row<'_>, at: usize) -> rusqlite::Result<Mark> {
    Ok(Mark { at: time(row, at)?, digest: row.get(at + 1)?, key: row.get(at + 2)? })
}

fn peer(row: &Row<'_>) -> rusqlite::Result<Peer> {
    let asked = Asked {
        url: row.get(7)?,
        code: row.get(8)?,
        as_card: row.get(9)?,
        agents: read_json(row, 10)?,
        verbs: read_json(row, 11)?,
        why: row.get(12)?,
    };
    let granted = row.get::<_, Option<String>>(19)?.map(|text| serde_json::from_str(&text)).transpose();
    Ok(Peer {
        id: row.get(0)?,
        name: row.get(1)?,
        origin: row.get(2)?,
        card_url: row.get(3)?,
        mark: mark(row, 4)?,
        asked,
        state: state(text(row, 13)?, row.get(14)?, row.get(15)?, row.get(16)?)?,
        secret: row.get(17)?,
        credential: row.get(18)?,
        granted: granted.map_err(|_| unreadable(19, "a grant that cannot be read"))?,
        problem: row.get(20)?,
        created_at: time(row, 21)?,
        created_by: row.get(22)?,
        changed_at: time(row, 23)?,
    })
}

fn find(db: &Connection, id: &str) -> Result<Option<Peer>, Error> {
    Ok(db.prepare_cached(&FIND_PEER.replace("{}", PEER))?.query_row([id], peer).optional()?)
}

fn list(db: &Connection) -> Result<Vec<Peer>, Error> {
    let mut statement = db.prepare_cached(&LIST_PEERS.replace("{}", PEER))?;
    Ok(statement.query_map([], peer)?.collect::<Result<_, _>>()?)
}

fn due(db: &Connection, now: Timestamp, most: usize) -> Result<Vec<Peer>, Error> {
    let mut statement = db.prepare_cached(&LIST_DUE_PEERS.replace("{}", PEER))?;
    Ok(statement.query_map(params![now.as_millis(), most], peer)?.collect::<Result<_, _>>()?)
}

fn insert(db: &Connection, peer: &Peer) -> Result<(), Error> {
    let (state, due_at, looks, until) = state_columns(peer.state);
    db.prepare_cached(INSERT_PEER)?.execute(params![
        peer.id,
        peer.name,
        peer.origin,
        peer.card_url,
        peer.mark.at.as_millis(),
        peer.mark.digest,
        peer.mark.key,
        peer.asked.url,
        peer.asked.code,
        peer.asked.as_card,
        to_json(&peer.asked.agents),
        to_json(&peer.asked.verbs),
        peer.asked.why,
        state,
        due_at,
        looks,
        until,
        peer.secret,
        peer.credential,
        peer.granted.as_ref().map(to_json),
        peer.problem,
        peer.created_at.as_millis(),
        peer.created_by,
        peer.changed_at.as_millis()
    ])?;
    Ok(())
}

impl Group<'_> {
    pub fn peer(&self, write: &PeerWrite) -> Result<Option<Peer>, Error> {
        match write {
            PeerWrite::Create { peer, by } => {
                insert(self.db, peer)?;
                let Peer { id, origin, asked: Asked { agents, verbs, code, .. }, created_at, .. } = &**peer;
                let detail = json!({"origin": origin, "agents": agents, "verbs": verbs, "code": code});
                audit::note(self.db, (by, *created_at), ("peer.ask", id), detail.to_string())?;
                Ok(None)
            }
            PeerWrite::Change { id, state, change, by, now } => {
                let before = find(self.db, id)?.ok_or(Error::NotFound)?;
                if before.state != *state {
                    return Ok(Some(before));
                }
                let named = before.state.as_str();
                let after = changed(before, change, *now);
                let (state, due_at, looks, until) = state_columns(after.state);
                self.db.prepare_cached(UPDATE_PEER)?.execute(params![
                    after.id,
                    state,
                    due_at,
                    looks,
                    until,
                    after.secret,
                    after.credential,
                    after.granted.as_ref().map(to_json),
                    after.problem,
                    now.as_millis()
                ])?;
                if state != named || change.picked.is_some() {
                    let action = format!("peer.{state}");
                    audit::note(self.db, (by, *now), (&action, id), String::new())?;
                }
                Ok(Some(after))
            }
            PeerWrite::Delete { id, by, now } => {
                if self.db.prepare_cached(DELETE_PEER)?.execute([id])? == 0 {
                    return Err(Error::NotFound);
                }
                audit::note(self.db, (by, *now), ("peer.forget", id), String::new())?;
                Ok(None)
            }
        }
    }
}

impl Sqlite {
    async fn write_peer(&self, write: PeerWrite) -> Result<Option<Peer>, Error> {
        self.inner.writer.write(|reply| Write::Peer(Box::new(write), reply)).await
    }
}

#[async_trait]
impl Peers for Sqlite {
    async fn create_peer(&self, peer: Peer, by: &Actor) -> Result<(), Error> {
        self.write_peer(PeerWrite::Create { peer: Box::new(peer), by: by.clone() }).await.map(drop)
    }

    async fn find_peer(&self, id: &str) -> Result<Option<Peer>, Error> {
        let id = id.to_owned();
        self.inner.readers.run(move |db| find(db, &id)).await
    }

    async fn list_peers(&self) -> Result<Vec<Peer>, Error> {
        self.inner.readers.run(list).await
    }

    async fn change_peer(
        &self,
        before: &Peer,
        change: PeerChange,
        (by, now): (&Actor, Timestamp),
    ) -> Result<Peer, Error> {
        let (id, state) = (before.id.clone(), before.state);
        let write = PeerWrite::Change { id, state, change, by: by.clone(), now };
        self.write_peer(write).await?.ok_or(Error::NotFound)
    }

    async fn delete_peer(&self, id: &str, by: &Actor, now: Timestamp) -> Result<(), Error> {
        self.write_peer(PeerWrite::Delete { id: id.to_owned(), by: by.clone(), now }).await.map(drop)
    }

    async fn due_peers(&self, now: Timestamp, most: usize) -> Result<Vec<Peer>, Error> {
        self.inner.readers.run(move |db| due(db, now, most)).await
    }
}

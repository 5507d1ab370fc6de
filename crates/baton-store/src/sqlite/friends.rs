//! Friend requests: their rows, what is read of them, and the verbs of [`Friends`]. What is written is in
//! [`befriend`](super::befriend).

use async_trait::async_trait;
use baton_core::json::Json;
use baton_core::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::befriend::{FriendAnswer, FriendWrite};
use super::rows::{self, json as read_json, optional_time, text, time, unreadable};
use super::writer::Write;
use super::{Sqlite, befriend, peers};
use crate::stored::named::friend_state;
use crate::{
    Actor, Decision, Error, FriendRequest, Friends, FriendsQuery, Look, Mark, NewCredential,
    NewFriendRequest, NewGrant, Wish,
};

/// The columns of [`request`], in its order, but for the last: the card, or NULL.
pub(super) const REQUEST: &str =
    "id, secret, code, origin, card_url, agents, verbs, why, id_token, state, until, pick_ups, created_at,
    decided_at, decided_by, picked_at, grant_id, token, look_at, look";

const FIND_FRIEND_REQUEST: &str = "-- store.find_friend_request
SELECT {}, card FROM friend_request WHERE id = ?1";

/// Time may have ended what still stands as open: the state that is asked for is that of `now`. A page of cards is no page.
pub(super) const LIST_FRIEND_REQUESTS: &str = "-- store.list_friend_requests
SELECT {}, NULL FROM friend_request
WHERE id < ?1 AND (?2 IS NULL OR ?2 = CASE
    WHEN until <= ?3 AND (state = 'pending' OR (state = 'approved' AND pick_ups = 0)) THEN 'expired' ELSE state END)
ORDER BY id DESC LIMIT ?4";

/// Of an approved request, or of a peer, whichever is newer.
const FIND_PIN: &str = "-- store.find_pin
SELECT mark_at, mark_digest, mark_key FROM friend_request
WHERE card_url = ?1 AND state = 'approved' AND mark_at IS NOT NULL
UNION ALL SELECT mark_at, mark_digest, mark_key FROM peer WHERE card_url = ?1 AND state = 'friend'
ORDER BY 1 DESC LIMIT 1";

/// A request from a row of [`REQUEST`] and a card.
pub fn request(row: &Row<'_>) -> rusqlite::Result<FriendRequest> {
    let wish = Wish {
        card_url: row.get(4)?,
        agents: read_json(row, 5)?,
        verbs: read_json(row, 6)?,
        why: row.get(7)?,
    };
    let state = friend_state(text(row, 9)?, optional_time(row, 10)?, row.get(11)?)?;
    let decided_at = optional_time(row, 13)?;
    let decided =
        decided_at.map(|at| Ok::<_, rusqlite::Error>(Decision { at, by: row.get(14)? })).transpose()?;
    Ok(FriendRequest {
        id: row.get(0)?,
        secret: row.get(1)?,
        code: row.get(2)?,
        origin: row.get(3)?,
        wish,
        id_token: row.get(8)?,
        state,
        created_at: time(row, 12)?,
        decided,
        picked_at: optional_time(row, 15)?,
        grant: row.get::<_, Option<String>>(16)?.map(Into::into),
        token: row.get(17)?,
        look: look(row)?,
    })
}

fn look(row: &Row<'_>) -> rusqlite::Result<Option<Look>> {
    let Some(at) = optional_time(row, 18)? else { return Ok(None) };
    let card = row.get::<_, Option<String>>(20)?.map(|card| Json::parse(&card)).transpose();
    let card = card.map_err(|_| unreadable(20, "a card that is no JSON"))?;
    Ok(Some(Look { at, verdict: read_json(row, 19)?, card }))
}

pub fn find(db: &Connection, id: &str) -> Result<Option<FriendRequest>, Error> {
    let sql = FIND_FRIEND_REQUEST.replace("{}", REQUEST);
    Ok(db.prepare_cached(&sql)?.query_row([id], request).optional()?)
}

fn list(db: &Connection, query: &FriendsQuery) -> Result<Vec<FriendRequest>, Error> {
    let FriendsQuery { state, now, before, size } = query;
    // Greater than every UUID.
    let before = before.as_deref().unwrap_or("g");
    let sql = LIST_FRIEND_REQUESTS.replace("{}", REQUEST);
    let mut statement = db.prepare_cached(&sql)?;
    let found = statement.query_map(params![before, state, now.as_millis(), size], request)?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn find_pin(db: &Connection, card_url: &str) -> Result<Option<Mark>, Error> {
    let mut statement = db.prepare_cached(FIND_PIN)?;
    Ok(statement.query_row([card_url], |row| peers::mark(row, 0)).optional()?)
}

impl Sqlite {
    async fn befriend(&self, write: FriendWrite) -> Result<FriendAnswer, Error> {
        self.inner.writer.write(|reply| Write::Friend(Box::new(write), reply)).await
    }

    async fn changed(&self, write: FriendWrite) -> Result<FriendRequest, Error> {
        match self.befriend(write).await? {
            FriendAnswer::Request(request) => Ok(*request),
            FriendAnswer::Count(_) => Err(rows::other_answer()),
        }
    }

    async fn counted(&self, write: FriendWrite) -> Result<usize, Error> {
        match self.befriend(write).await? {
            FriendAnswer::Count(count) => Ok(count),
            FriendAnswer::Request(_) => Err(rows::other_answer()),
        }
    }
}

#[async_trait]
impl Friends for Sqlite {
    async fn create_friend_request(&self, new: NewFriendRequest) -> Result<FriendRequest, Error> {
        self.changed(FriendWrite::Create(new)).await
    }

    async fn find_friend_request(&self, id: &str) -> Result<Option<FriendRequest>, Error> {
        let id = id.to_owned();
        self.inner.readers.run(move |db| find(db, &id)).await
    }

    async fn list_friend_requests(&self, query: FriendsQuery) -> Result<Vec<FriendRequest>, Error> {
        self.inner.readers.run(move |db| list(db, &query)).await
    }

    async fn count_pending(&self, now: Timestamp) -> Result<usize, Error> {
        self.inner.readers.run(move |db| befriend::count_pending(db, now)).await
    }

    async fn keep_look(&self, id: &str, look: Look, by: &Actor) -> Result<FriendRequest, Error> {
        self.changed(FriendWrite::Look { id: id.to_owned(), look, by: by.clone() }).await
    }

    async fn approve_friend_request(&self, id: &str, grant: NewGrant) -> Result<FriendRequest, Error> {
        self.changed(FriendWrite::Approve { id: id.to_owned(), grant }).await
    }

    async fn deny_friend_request(
        &self,
        id: &str,
        by: &Actor,
        now: Timestamp,
    ) -> Result<FriendRequest, Error> {
        self.changed(FriendWrite::Deny { id: id.to_owned(), by: by.clone(), now }).await
    }

    async fn pick_up(
        &self,
        id: &str,
        credential: NewCredential,
        (by, now): (&Actor, Timestamp),
    ) -> Result<FriendRequest, Error> {
        self.changed(FriendWrite::PickUp { id: id.to_owned(), credential, by: by.clone(), now }).await
    }

    async fn find_pin(&self, card_url: &str) -> Result<Option<Mark>, Error> {
        let card_url = card_url.to_owned();
        self.inner.readers.run(move |db| find_pin(db, &card_url)).await
    }

    async fn expire_friend_requests(&self, now: Timestamp, most: usize) -> Result<usize, Error> {
        // Mostly there are none, and the writer is left alone.
        if self.inner.readers.run(move |db| befriend::lapsed(db, now, 1)).await?.is_empty() {
            return Ok(0);
        }
        self.counted(FriendWrite::Expire { now, most }).await
    }

    async fn prune_friend_requests(&self, before: Timestamp, most: usize) -> Result<usize, Error> {
        if !self.inner.readers.run(move |db| befriend::is_to_be_pruned(db, before)).await? {
            return Ok(0);
        }
        self.counted(FriendWrite::Prune { before, most }).await
    }
}

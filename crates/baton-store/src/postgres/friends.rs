//! Friend requests: their rows, what is read of them, and the verbs of [`Friends`]. What is written is in
//! [`befriend`](super::befriend).

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use baton_core::json::Json;
use baton_core::time::Timestamp;
use tokio_postgres::Row;

use super::access::optional_digest;
use super::befriend::{Befriend, FriendAnswer, FriendWrite};
use super::failure::Failure;
use super::pool::{Ask, Tx};
use super::rows::{self, digest, escaped, int, number, optional_text, optional_time, text, time, unreadable};
use super::{Postgres, befriend, peers};
use crate::stored::named::friend_state;
use crate::{
    Actor, Decision, Elsewhere, Error, FriendRequest, Friends, FriendsQuery, Look, Mark, NewCredential,
    NewFriendRequest, NewGrant, Wish,
};

/// The columns of [`request`], in its order, but for the last: the card, or NULL.
pub const REQUEST: &str =
    "id, secret, code, origin, card_url, agents, verbs, why, id_token, state, until, pick_ups, created_at,
    decided_at, decided_by, picked_at, grant_id, token, look_at, look";

static FIND_FRIEND_REQUEST: LazyLock<String> = LazyLock::new(|| {
    format!("-- store.find_friend_request\nSELECT {REQUEST}, card FROM friend_request WHERE id = $1")
});

static LOCK_FRIEND_REQUEST: LazyLock<String> = LazyLock::new(|| {
    format!(
        "-- store.lock_friend_request\nSELECT {REQUEST}, card FROM friend_request WHERE id = $1 FOR UPDATE"
    )
});

/// Time may have ended what still stands as open: the state that is asked for is that of `now`. A page of cards is no page.
pub static LIST_FRIEND_REQUESTS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "-- store.list_friend_requests
SELECT {REQUEST}, NULL::text FROM friend_request
WHERE id < $1 AND ($2::text IS NULL OR $2 = CASE
    WHEN until <= $3 AND (state = 'pending' OR (state = 'approved' AND pick_ups = 0)) THEN 'expired' ELSE state END)
ORDER BY id DESC LIMIT $4"
    )
});

/// Of an approved request, or of a peer, whichever is newer.
const FIND_PIN: &str = "-- store.find_pin
SELECT mark_at, mark_digest, mark_key FROM friend_request
WHERE card_url = $1 AND state = 'approved' AND mark_at IS NOT NULL
UNION ALL SELECT mark_at, mark_digest, mark_key FROM peer WHERE card_url = $1 AND state = 'friend'
ORDER BY 1 DESC LIMIT 1";

/// A request from a row of [`REQUEST`] and a card.
fn request(row: &Row) -> Result<FriendRequest, Failure> {
    let wish = Wish {
        card_url: text(row, 4)?,
        agents: rows::json(row, 5)?,
        verbs: rows::json(row, 6)?,
        why: text(row, 7)?,
    };
    let decided = match optional_time(row, 13)? {
        Some(at) => Some(Decision { at, by: text(row, 14)? }),
        None => None,
    };
    Ok(FriendRequest {
        id: text(row, 0)?,
        secret: digest(row, 1)?,
        code: text(row, 2)?,
        origin: text(row, 3)?,
        wish,
        id_token: row.try_get(8)?,
        state: friend_state(row.try_get(9)?, optional_time(row, 10)?, number(row, 11)?)?,
        created_at: time(row, 12)?,
        decided,
        picked_at: optional_time(row, 15)?,
        grant: optional_text(row, 16)?.map(Into::into),
        token: optional_digest(row, 17)?,
        look: look(row)?,
    })
}

fn look(row: &Row) -> Result<Option<Look>, Failure> {
    let Some(at) = optional_time(row, 18)? else { return Ok(None) };
    let card = row.try_get::<_, Option<&str>>(20)?.map(Json::parse).transpose();
    let card = card.map_err(|_| unreadable("a card that is no JSON"))?;
    Ok(Some(Look { at, verdict: rows::json(row, 19)?, card }))
}

/// A request that nobody else changes before this transaction ends.
pub async fn find_locked(tx: &Tx<'_>, id: &str) -> Result<Option<FriendRequest>, Failure> {
    tx.first(&LOCK_FRIEND_REQUEST, &[&escaped(id)]).await?.as_ref().map(request).transpose()
}

impl Postgres {
    async fn befriend(&self, name: &'static str, write: FriendWrite) -> Result<FriendAnswer, Error> {
        let work = Befriend { write, uses: Arc::clone(&self.inner.uses) };
        self.inner.connections.run(name, &work).await
    }

    async fn changed(&self, name: &'static str, write: FriendWrite) -> Result<FriendRequest, Error> {
        match self.befriend(name, write).await? {
            FriendAnswer::Request(request) => Ok(*request),
            FriendAnswer::Count(_) => Err(super::other_answer()),
        }
    }

    async fn counted(&self, name: &'static str, write: FriendWrite) -> Result<usize, Error> {
        match self.befriend(name, write).await? {
            FriendAnswer::Count(count) => Ok(count),
            FriendAnswer::Request(_) => Err(super::other_answer()),
        }
    }
}

#[async_trait]
impl Friends for Postgres {
    async fn create_friend_request(&self, new: NewFriendRequest) -> Result<FriendRequest, Error> {
        self.changed("create_friend_request", FriendWrite::Create(new)).await
    }

    async fn find_friend_request(&self, id: &str) -> Result<Option<FriendRequest>, Error> {
        let row = self.inner.connections.first(&FIND_FRIEND_REQUEST, &[&escaped(id)]).await?;
        Ok(row.as_ref().map(request).transpose()?)
    }

    async fn list_friend_requests(&self, query: FriendsQuery) -> Result<Vec<FriendRequest>, Error> {
        let FriendsQuery { state, now, before, size } = query;
        // Greater than every UUID.
        let before = escaped(before.as_deref().unwrap_or("g")).into_owned();
        let bind: rows::Bind<'_> = &[&before, &state, &now.as_millis(), &int(size)];
        let rows = self.inner.connections.query(&LIST_FRIEND_REQUESTS, bind).await?;
        Ok(rows.iter().map(request).collect::<Result<_, _>>()?)
    }

    async fn count_pending(&self, now: Timestamp) -> Result<usize, Error> {
        let row = self.inner.connections.one(befriend::COUNT_PENDING, &[&now.as_millis()]).await?;
        Ok(number(&row, 0)?)
    }

    async fn keep_look(&self, id: &str, look: Look, by: &Actor) -> Result<FriendRequest, Error> {
        self.changed("keep_look", FriendWrite::Look { id: id.to_owned(), look, by: by.clone() }).await
    }

    async fn approve_friend_request(&self, id: &str, grant: NewGrant) -> Result<FriendRequest, Error> {
        let approve = FriendWrite::Approve { id: id.to_owned(), grant };
        let request = self.changed("approve_friend_request", approve).await?;
        self.inner.teller.tell(Elsewhere::Grants);
        Ok(request)
    }

    async fn deny_friend_request(
        &self,
        id: &str,
        by: &Actor,
        now: Timestamp,
    ) -> Result<FriendRequest, Error> {
        let deny = FriendWrite::Deny { id: id.to_owned(), by: by.clone(), now };
        self.changed("deny_friend_request", deny).await
    }

    async fn pick_up(
        &self,
        id: &str,
        credential: NewCredential,
        (by, now): (&Actor, Timestamp),
    ) -> Result<FriendRequest, Error> {
        let pick_up = FriendWrite::PickUp { id: id.to_owned(), credential, by: by.clone(), now };
        let request = self.changed("pick_up", pick_up).await?;
        self.inner.teller.tell(Elsewhere::Grants);
        Ok(request)
    }

    async fn find_pin(&self, card_url: &str) -> Result<Option<Mark>, Error> {
        let row = self.inner.connections.first(FIND_PIN, &[&escaped(card_url)]).await?;
        Ok(row.as_ref().map(|row| peers::mark(row, 0)).transpose()?)
    }

    async fn expire_friend_requests(&self, now: Timestamp, most: usize) -> Result<usize, Error> {
        let lapsed = befriend::lapsed(&*self.inner.connections, now, most).await?;
        // One by one: a transaction that has told of one locks no other.
        for id in &lapsed {
            self.counted("expire_friend_request", FriendWrite::Expire { id: id.clone(), now }).await?;
        }
        if !lapsed.is_empty() {
            self.inner.teller.tell(Elsewhere::Grants);
        }
        Ok(lapsed.len())
    }

    async fn prune_friend_requests(&self, before: Timestamp, most: usize) -> Result<usize, Error> {
        self.counted("prune_friend_requests", FriendWrite::Prune { before, most }).await
    }
}

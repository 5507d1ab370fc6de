//! Friend requests: a stranger asks for a grant, a human decides, the stranger picks its credential up.
//!
//! Nothing here lets anybody in but [`Service::approve_friend`], and a stranger makes the node fetch nothing: only the
//! operator's look does.

pub mod code;
mod decide;
mod door;
mod look;

use baton_core::friend::{self, State};
use baton_store::{FriendRequest, FriendsQuery, GrantRecord};

use super::list::{page_size, wrong_token};
use super::{Error, Service};
pub use decide::{Approved, Narrowed, label_of};
pub use door::{PickedUp, WantedFriend};
pub(super) use door::{read_agents, read_verbs};

/// Which requests to list; everything optional.
#[derive(Clone, Debug, Default)]
pub struct ListFriends {
    /// `pending`, `approved`, `denied` or `expired`.
    pub state: Option<String>,
    pub size: Option<usize>,
    pub page_token: Option<String>,
}

const STATES: [&str; 4] = ["pending", "approved", "denied", "expired"];

/// How a request stands to the one who sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Pending,
    /// The credential is there to be picked up.
    Approved,
    Denied,
    Expired,
    /// The credential was picked up and used.
    Collected,
    /// The grant is over.
    Ended,
}

impl Standing {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Collected => "collected",
            Self::Ended => "ended",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        let all = [Self::Pending, Self::Approved, Self::Denied, Self::Expired, Self::Collected, Self::Ended];
        all.into_iter().find(|standing| standing.as_str() == text)
    }
}

impl Service {
    /// A page, the newest first, and the token of the next; empty on the last.
    pub async fn list_friends(&self, list: ListFriends) -> Result<(Vec<FriendRequest>, String), Error> {
        let ListFriends { state, size, page_token } = list;
        let known = |state: &str| {
            let found = STATES.into_iter().find(|known| *known == state);
            found.ok_or_else(|| Error::invalid("state", format!("is one of {}", STATES.join(", "))))
        };
        let state = state.as_deref().map(known).transpose()?;
        if page_token.as_deref().is_some_and(|token| uuid::Uuid::try_parse(token).is_err()) {
            return Err(wrong_token());
        }
        let size = page_size(size)?;
        let query = FriendsQuery { state, now: self.now(), before: page_token, size: size + 1 };
        let mut found = self.store.list_friend_requests(query).await?;
        let more = found.len() > size;
        found.truncate(size);
        let next = found.last().filter(|_| more).map(|request| request.id.clone()).unwrap_or_default();
        Ok((found, next))
    }

    pub async fn load_friend(&self, id: &str) -> Result<FriendRequest, Error> {
        self.store.find_friend_request(id).await?.ok_or(Error::FriendRequestNotFound)
    }

    /// What an approval made, where there was one.
    pub async fn grant_of(&self, request: &FriendRequest) -> Result<Option<GrantRecord>, Error> {
        match &request.grant {
            Some(id) => Ok(self.store.find_grant(id).await?),
            None => Ok(None),
        }
    }

    /// How a request stands now, with what became of its grant.
    pub fn standing_of(&self, request: &FriendRequest, grant: Option<&GrantRecord>) -> Standing {
        let now = self.now();
        match (friend::at(request.state, now), grant) {
            (State::Pending { .. }, _) => Standing::Pending,
            (State::Denied, _) => Standing::Denied,
            (State::Expired, _) => Standing::Expired,
            (State::Approved { .. }, Some(record)) if record.grant.state_at(now).is_over() => Standing::Ended,
            (State::Approved { .. }, Some(record)) if record.last_used_at.is_some() => Standing::Collected,
            (State::Approved { until, .. }, _) if until <= now => Standing::Expired,
            (State::Approved { .. }, _) => Standing::Approved,
        }
    }

    /// Ends requests whose time is over, and forgets those that came to nothing long ago. For a timer.
    pub async fn sweep_friends(&self) -> Result<(), baton_store::Error> {
        let now = self.now();
        while self.store.expire_friend_requests(now, SWEPT).await? == SWEPT {}
        let kept = i64::try_from(baton_core::limits::FRIEND_KEPT.as_millis()).unwrap_or(i64::MAX);
        let before = baton_core::time::Timestamp::from_millis(now.as_millis().saturating_sub(kept));
        while self.store.prune_friend_requests(before, SWEPT).await? == SWEPT {}
        Ok(())
    }
}

/// Requests of one transaction of a sweep.
const SWEPT: usize = 100;

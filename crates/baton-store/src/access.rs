//! The verbs that concern who may call: grants and their credentials.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use baton_core::ident::AgentName;
use baton_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Actor, Error};

/// The built-in grant of dev mode; it is in no table.
pub const LOCAL: &str = "local";

/// What a grant lets its holder do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    Send,
    Read,
    Cancel,
    Push,
    Work,
    ExtendedCard,
}

impl Verb {
    pub const ALL: [Self; 6] =
        [Self::Send, Self::Read, Self::Cancel, Self::Push, Self::Work, Self::ExtendedCard];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Read => "read",
            Self::Cancel => "cancel",
            Self::Push => "push",
            Self::Work => "work",
            Self::ExtendedCard => "extended-card",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.as_str() == text)
    }
}

/// Requests in a time, and how many of them may come at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// At least 1.
    pub requests: u32,
    pub per: Per,
    /// At least 1.
    pub burst: u32,
}

/// The time of a [`Rate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Per {
    Second,
    Minute,
}

/// How much a holder may do; none where there is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GrantLimits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Tasks that are not over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_tasks: Option<u32>,
    /// New tasks in a day (UTC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks_per_day: Option<u32>,
    /// Bytes of a request's body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<u64>,
}

impl GrantLimits {
    /// Whether tasks of the grant are counted. A limit that is set later begins with a count of what is open.
    pub const fn counts_tasks(&self) -> bool {
        self.open_tasks.is_some() || self.tasks_per_day.is_some()
    }
}

/// A credentialed, scoped, revocable right to call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub id: Arc<str>,
    pub label: String,
    /// Empty means nothing.
    pub agents: Vec<AgentName>,
    pub verbs: Vec<Verb>,
    pub limits: GrantLimits,
    /// From then on it is over, whatever its state says.
    pub expires_at: Option<Timestamp>,
    pub state: GrantState,
    /// Oldest first.
    pub credentials: Vec<Credential>,
    /// What was handed out for a while in return for one of them; oldest first.
    pub access_tokens: Vec<AccessToken>,
    pub created_at: Timestamp,
    /// Who made it, by name.
    pub created_by: String,
    pub changed_at: Timestamp,
    pub changed_by: String,
}

/// The state of a grant, and since when it is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantState {
    Active,
    /// Takes no calls; its credentials stay, and what it handed in goes on.
    Paused {
        at: Timestamp,
    },
    Revoked {
        at: Timestamp,
    },
    /// Its time was over.
    Expired {
        at: Timestamp,
    },
}

impl GrantState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused { .. } => "paused",
            Self::Revoked { .. } => "revoked",
            Self::Expired { .. } => "expired",
        }
    }

    /// Nothing brings the grant back.
    pub const fn is_over(self) -> bool {
        match self {
            Self::Active | Self::Paused { .. } => false,
            Self::Revoked { .. } | Self::Expired { .. } => true,
        }
    }
}

impl Grant {
    /// The state at a time: what time ends is over before anybody says so.
    pub fn state_at(&self, now: Timestamp) -> GrantState {
        match (self.state, self.expires_at) {
            (GrantState::Active | GrantState::Paused { .. }, Some(at)) if at <= now => {
                GrantState::Expired { at }
            }
            (state, _) => state,
        }
    }

    /// The one of its tokens that has this SHA-256, where it is not over.
    fn credential(&self, digest: &[u8; 32], now: Timestamp) -> Option<&Credential> {
        let mut good = self.credentials.iter().filter(|it| it.expires_at.is_none_or(|at| at > now));
        good.find(|it| it.digest == *digest)
    }

    /// In place of those whose time is over, and of the one that would end first where there are too many.
    fn add_access_token(&mut self, token: AccessToken, now: Timestamp) {
        self.access_tokens.retain(|token| token.expires_at > now);
        while self.access_tokens.len() >= ACCESS_TOKENS {
            let ends = |at: &usize| (self.access_tokens[*at].expires_at, *at);
            let first = (0..self.access_tokens.len()).min_by_key(ends);
            self.access_tokens.remove(first.unwrap_or(0));
        }
        self.access_tokens.push(token);
    }

    /// The same for a token of a client, in place of its own where it has too many.
    fn add_client_token(&mut self, token: AccessToken, now: Timestamp) {
        let approval = |token: &AccessToken| token.bound.as_ref().map(|bound| Arc::clone(&bound.approval));
        let client = approval(&token);
        let own = |at: &usize| approval(&self.access_tokens[*at]) == client;
        let own: Vec<usize> = (0..self.access_tokens.len()).filter(own).collect();
        let ends = |at: &usize| (self.access_tokens[*at].expires_at, *at);
        if own.len() >= CLIENT_TOKENS
            && let Some(first) = own.into_iter().min_by_key(ends)
        {
            self.access_tokens.remove(first);
        }
        self.add_access_token(token, now);
    }

    /// Whether the holder may call.
    pub fn admits(&self, now: Timestamp) -> Result<(), Barred> {
        match self.state_at(now) {
            GrantState::Active => Ok(()),
            GrantState::Paused { .. } => Err(Barred::Paused),
            GrantState::Revoked { .. } | GrantState::Expired { .. } => Err(Barred::Over),
        }
    }
}

/// A token of a grant, without the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// SHA-256 of the token.
    pub digest: [u8; 32],
    /// Its first characters, for people.
    pub hint: String,
    pub created_at: Timestamp,
    /// From then on it is refused.
    pub expires_at: Option<Timestamp>,
}

/// What a credential opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    pub grant: Arc<Grant>,
    /// From then on it is refused, where nothing ends it before.
    pub until: Option<Timestamp>,
    /// What of the grant it may be used for; none where it is all.
    pub verbs: Option<Arc<[Verb]>>,
    /// What of the node it may be used at, as a path below the node's own URL; none where it is all.
    pub resource: Option<Arc<str>>,
}

/// A token that its holder got in return for a credential, or that a client got by an approval, without the token: good for
/// a while, and for no more than that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessToken {
    /// SHA-256 of the token.
    pub digest: [u8; 32],
    /// What of the grant it may be used for; none where it is all.
    pub verbs: Option<Arc<[Verb]>>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    /// By which approval a client has it; none where it is for a credential.
    pub bound: Option<Bound>,
}

/// What an access token of a client is tied to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The id of the approval: with it the token ends.
    pub approval: Arc<str>,
    /// What of the node the token is for, as a path below the node's own URL.
    pub resource: Arc<str>,
}

/// Access tokens of one grant that are good at the same time. Past it the one that would end first ends at once: whoever
/// forgets its tokens does not shut itself out, and nobody fills a disk.
const ACCESS_TOKENS: usize = 100;

/// Those of one client among them: whoever refreshes all the time ends tokens of its own, not of others.
const CLIENT_TOKENS: usize = 8;

/// Why a grant does not let its holder do something now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Barred {
    /// Revoked, expired, or never there.
    #[error("the grant is not active")]
    Over,
    #[error("the grant is paused")]
    Paused,
    #[error("the grant has {most} open tasks, and may have no more")]
    OpenTasks { most: u32 },
    #[error("the grant has made {most} tasks today, and may make no more")]
    TasksPerDay { most: u32, again_in: Duration },
}

/// A grant with what is counted of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantRecord {
    pub grant: Arc<Grant>,
    /// When one of its credentials was last accepted.
    pub last_used_at: Option<Timestamp>,
    /// Where its limits count tasks.
    pub usage: Option<Usage>,
}

/// Tasks of a grant, kept as they come and go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tasks that are not over.
    pub open: u32,
    /// The day (UTC) of `made`, counted from the Unix epoch.
    pub day: i64,
    /// Tasks that were made on that day.
    pub made: u32,
}

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

impl Usage {
    /// How many tasks were made on the day of `now`. A clock that is set back stays on the later day.
    pub const fn made_on(&self, now: Timestamp) -> u32 {
        if self.day < day(now) { 0 } else { self.made }
    }

    /// Refuses one more task than there may be.
    pub fn check(&self, limits: &GrantLimits, now: Timestamp) -> Result<(), Barred> {
        if let Some(most) = limits.open_tasks.filter(|most| self.open >= *most) {
            return Err(Barred::OpenTasks { most });
        }
        if let Some(most) = limits.tasks_per_day.filter(|most| self.made_on(now) >= *most) {
            let next = self.day.max(day(now)).saturating_add(1).saturating_mul(DAY_MS);
            let left = u64::try_from(next.saturating_sub(now.as_millis())).unwrap_or(0);
            return Err(Barred::TasksPerDay { most, again_in: Duration::from_millis(left) });
        }
        Ok(())
    }

    /// A task was made.
    pub fn add(&mut self, now: Timestamp) {
        self.made = self.made_on(now).saturating_add(1);
        self.day = self.day.max(day(now));
    }
}

const fn day(now: Timestamp) -> i64 {
    now.as_millis().div_euclid(DAY_MS)
}

/// A grant to be made.
#[derive(Clone, Debug)]
pub struct NewGrant {
    pub id: String,
    pub label: String,
    pub agents: Vec<AgentName>,
    pub verbs: Vec<Verb>,
    pub limits: GrantLimits,
    pub expires_at: Option<Timestamp>,
    /// None where its holder is known by something else, or fetches one later.
    pub credential: Option<NewCredential>,
    pub by: Actor,
    pub now: Timestamp,
}

/// A token, without the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCredential {
    /// SHA-256 of the token.
    pub digest: [u8; 32],
    /// Its first characters.
    pub hint: String,
}

impl NewCredential {
    /// As it is from `now` on.
    pub fn made(&self, now: Timestamp) -> Credential {
        Credential { digest: self.digest, hint: self.hint.clone(), created_at: now, expires_at: None }
    }
}

/// What is done to a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantChange {
    Pause,
    Resume,
    /// A new credential; those that there are end at `until`, where they do not end before.
    Rotate {
        credential: NewCredential,
        until: Timestamp,
    },
    /// One more access token, in place of those whose time is over; it ends with the credential that it is for, where that
    /// ends before. Not where the grant takes no calls, nor where that credential is over: a rotation may have come in
    /// between.
    Issue {
        token: AccessToken,
        /// The credential's digest.
        secret: [u8; 32],
    },
    /// One more access token, by an approval.
    Hand {
        token: AccessToken,
    },
    /// Access tokens go before their time.
    Withdraw(Withdrawn),
    /// Access tokens whose time is over go.
    Tidy,
    Revoke,
    /// Where its time is over: the same end as by [`GrantChange::Revoke`].
    Expire,
}

/// Which access tokens go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Withdrawn {
    /// Those of an approval.
    Of(Arc<str>),
    /// The one with this SHA-256.
    One([u8; 32]),
}

impl Withdrawn {
    fn is_about(&self, token: &AccessToken) -> bool {
        match self {
            Self::Of(approval) => token.bound.as_ref().is_some_and(|bound| bound.approval == *approval),
            Self::One(digest) => token.digest == *digest,
        }
    }
}

impl GrantChange {
    /// As the audit log names it.
    pub const fn action(&self) -> &'static str {
        match self {
            Self::Pause => "grant.pause",
            Self::Resume => "grant.resume",
            Self::Rotate { .. } => "grant.rotate",
            Self::Issue { .. } => "grant.issue",
            Self::Hand { .. } => "grant.hand",
            Self::Withdraw(_) => "grant.withdraw",
            Self::Tidy => "grant.tidy",
            Self::Revoke => "grant.revoke",
            Self::Expire => "grant.expire",
        }
    }

    /// The grant after it; none where it is so already. What is over stays over.
    pub fn apply(&self, grant: &Grant, now: Timestamp) -> Result<Option<Grant>, Barred> {
        let (stored, state) = (grant.state, grant.state_at(now));
        let mut next = grant.clone();
        match self {
            Self::Revoke if stored.is_over() => return Ok(None),
            Self::Revoke => next.state = GrantState::Revoked { at: now },
            Self::Expire if stored.is_over() || !state.is_over() => return Ok(None),
            Self::Expire => next.state = state,
            Self::Tidy => {
                next.access_tokens.retain(|token| token.expires_at > now);
                return Ok((next.access_tokens.len() < grant.access_tokens.len()).then_some(next));
            }
            Self::Withdraw(which) => {
                next.access_tokens.retain(|token| !which.is_about(token));
                return Ok((next.access_tokens.len() < grant.access_tokens.len()).then_some(next));
            }
            Self::Pause | Self::Resume | Self::Rotate { .. } | Self::Issue { .. } | Self::Hand { .. }
                if state.is_over() =>
            {
                return Err(Barred::Over);
            }
            Self::Pause if matches!(state, GrantState::Paused { .. }) => return Ok(None),
            Self::Pause => next.state = GrantState::Paused { at: now },
            Self::Resume if state == GrantState::Active => return Ok(None),
            Self::Resume => next.state = GrantState::Active,
            Self::Rotate { credential, until } => {
                end_credentials(&mut next.credentials, *until);
                next.credentials.push(credential.made(now));
                // Whoever rotates may not know who has them. What clients have by an approval was not for a credential.
                next.access_tokens.retain(|token| token.bound.is_some());
            }
            Self::Issue { .. } | Self::Hand { .. } if matches!(state, GrantState::Paused { .. }) => {
                return Err(Barred::Paused);
            }
            Self::Hand { token } => next.add_client_token(token.clone(), now),
            Self::Issue { token, secret } => {
                let end = grant.credential(secret, now).ok_or(Barred::Over)?.expires_at;
                let expires_at = end.map_or(token.expires_at, |end| end.min(token.expires_at));
                next.add_access_token(AccessToken { expires_at, ..token.clone() }, now);
            }
        }
        if next.state.is_over() {
            end_credentials(&mut next.credentials, now);
            next.access_tokens.clear();
        }
        Ok(Some(next))
    }
}

fn end_credentials(credentials: &mut [Credential], until: Timestamp) {
    for credential in credentials {
        credential.expires_at = Some(credential.expires_at.map_or(until, |at| at.min(until)));
    }
}

/// Grants and credentials.
#[async_trait]
pub trait Access: Send + Sync + 'static {
    async fn create_grant(&self, new: NewGrant) -> Result<Arc<Grant>, Error>;

    /// Changes a grant, and answers it as it is then. What is so already is changed by nobody. With the end of a grant
    /// end its credentials and what is owed to its webhooks.
    async fn change_grant(
        &self,
        id: &str,
        change: GrantChange,
        by: &Actor,
        now: Timestamp,
    ) -> Result<Arc<Grant>, Error>;

    /// All grants, newest first.
    async fn list_grants(&self) -> Result<Vec<GrantRecord>, Error>;

    async fn find_grant(&self, id: &str) -> Result<Option<GrantRecord>, Error>;

    /// What a token's SHA-256 opens, where neither the grant nor the token is over; the grant may be paused. That it was
    /// used is remembered.
    async fn find_credential(&self, digest: &[u8; 32], now: Timestamp) -> Result<Option<Opened>, Error>;

    /// The grants of this name that are not over: the one with this id, else those with this label; they may be paused.
    /// Where it is one, that it was used is remembered.
    async fn find_grants_named(&self, name: &str, now: Timestamp) -> Result<Vec<Arc<Grant>>, Error>;

    /// Deletes access tokens whose time is over; answers of how many grants.
    async fn tidy_access_tokens(&self, now: Timestamp) -> Result<usize, Error>;

    /// Grants whose time is over and of which nobody has said so yet.
    async fn expired_grants(&self, now: Timestamp) -> Result<Vec<Arc<str>>, Error>;

    /// Stores when grants were used, where that changed since it was stored; answers of how many. Until then it is in
    /// memory only.
    async fn store_uses(&self) -> Result<usize, Error>;
}

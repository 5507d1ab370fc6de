//! Why a use case did not do what was asked.

use std::borrow::Cow;
use std::time::Duration;

use baton_core::friend;
use baton_core::limits::PUSH_CONFIGS;
use baton_core::model::Violation;
use baton_core::task::Refusal;
use baton_store::{Barred, Verb};

/// What a door turns into a fault. The texts are for logs; what a caller reads is the fault's.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Unknown, or another's: the same.
    #[error("task not found")]
    TaskNotFound,
    #[error("task cannot be cancelled any more")]
    TaskNotCancelable,
    /// Not possible with this agent or in this state; the text says why.
    #[error("{0}")]
    Unsupported(&'static str),
    #[error("push notifications are not supported")]
    PushNotSupported,
    #[error("{}: {}", .0.field, .0.description)]
    Invalid(Violation),
    #[error("the agent is not known")]
    AgentNotFound,
    /// For the operator only: nobody else names grants.
    #[error("the grant is not known")]
    GrantNotFound,
    /// Unknown, or opened by another secret: the same.
    #[error("the friend request is not known")]
    FriendRequestNotFound,
    /// For the operator only: no client is signed in by this id.
    #[error("the client is not known")]
    ClientNotFound,
    /// For the operator only.
    #[error("the peer is not known")]
    PeerNotFound,
    /// What another node was asked came to nothing; the text says why.
    #[error("{0}")]
    PeerFailed(String),
    /// As many friend requests as there may be.
    #[error("too many friend requests")]
    TooManyFriends(Duration),
    #[error("no valid credentials")]
    Unauthenticated,
    /// The same, with how credentials are to be brought here.
    #[error("no valid credentials")]
    Challenged(String),
    /// A token cannot be checked, since the keys of its issuer cannot be had. That is logged where it is tried.
    #[error("the issuer of the token is not reachable")]
    IssuerUnreachable,
    /// The operator paused the grant.
    #[error("the grant is paused")]
    GrantPaused,
    /// The grant's limits on tasks are reached; none is made.
    #[error("{what}")]
    OverQuota { what: String, again_in: Duration },
    #[error("the grant does not allow '{}'", .0.as_str())]
    Forbidden(Verb),
    /// Refused whatever the verb; the text says why.
    #[error("{0}")]
    Denied(&'static str),
    /// The body is not what its operation takes, or a part of it not what the agent takes or gives.
    #[error("{0}")]
    ContentType(Cow<'static, str>),
    #[error("there is no extended card")]
    NoExtendedCard,
    #[error("too many requests")]
    RateLimited(Duration),
    #[error("too many open streams")]
    TooManyStreams,
    #[error("too many open sessions")]
    TooManySessions,
    /// The node is stopping and takes nothing new.
    #[error("the node is shutting down")]
    Draining,
    /// The operator stopped all intake, or that of the caller's grant.
    #[error("{0}")]
    Frozen(&'static str),
    /// What a worker says does not fit with how the task stands; the text says how.
    #[error("{0}")]
    Conflict(String),
    /// For now; the caller may try again.
    #[error("not available: {0}")]
    Unavailable(String),
    #[error("{0}")]
    Internal(String),
}

impl Error {
    pub fn invalid(field: &str, description: impl Into<String>) -> Self {
        Self::Invalid(Violation::new(field, description))
    }
}

impl From<baton_store::Error> for Error {
    fn from(why: baton_store::Error) -> Self {
        use baton_store::Error as Store;
        match why {
            Store::NotFound => Self::TaskNotFound,
            Store::Refused(refusal) => refusal.into(),
            Store::KeyReused => {
                Self::invalid("message", "this idempotency key was used for another message; use a new key")
            }
            Store::Barred(barred) => barred.into(),
            Store::Friend(refusal) => refusal.into(),
            Store::Unavailable(why) => Self::Unavailable(why),
            Store::Corrupt(why) => Self::Internal(why),
        }
    }
}

/// When one who has as many open tasks as it may have looks whether one has ended.
const OPEN_AGAIN_IN: Duration = Duration::from_secs(5);

impl From<Barred> for Error {
    fn from(barred: Barred) -> Self {
        match barred {
            Barred::Over => Self::Unauthenticated,
            Barred::Paused => Self::GrantPaused,
            Barred::OpenTasks { most } => Self::OverQuota {
                what: format!(
                    "The grant may have {most} open tasks, and has as many: wait for one to end, or cancel one"
                ),
                again_in: OPEN_AGAIN_IN,
            },
            Barred::TasksPerDay { most, again_in } => Self::OverQuota {
                what: format!("The grant may hand in {most} tasks a day (UTC), and has: try again tomorrow"),
                again_in,
            },
        }
    }
}

/// When somebody looks again whether the operator has read some of the friend requests that wait.
const READ_AGAIN_IN: Duration = Duration::from_hours(1);

impl From<friend::Refusal> for Error {
    fn from(refusal: friend::Refusal) -> Self {
        use friend::Refusal;
        Self::Unsupported(match refusal {
            Refusal::AskedTooOften { again_in } => return Self::TooManyFriends(again_in),
            Refusal::Full => return Self::TooManyFriends(READ_AGAIN_IN),
            Refusal::Undecided => "nobody has decided on this request yet: look again later",
            Refusal::Approved => "the request is approved already: to take that back, revoke its grant",
            Refusal::Denied => "the request was denied",
            Refusal::Expired => "the request has expired: send a new one",
            Refusal::Used => {
                "the credential was picked up and used: where it is lost, its operator can rotate the grant"
            }
            Refusal::Ended => "the grant that came of this request is over: send a new request",
            Refusal::PickedUpTooOften => {
                "the credential was picked up too often: its operator can rotate the grant"
            }
        })
    }
}

/// What the state machine's refusals mean to an owner. A holder's reports have their own reading.
impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Answered => Self::TaskNotFound,
            Refusal::Terminal(_) => {
                Self::Unsupported("the task is over: send a new message without a taskId")
            }
            Refusal::NotWhileWorking => Self::Unsupported("this agent takes no message while it works"),
            Refusal::CancelRequested => Self::Unsupported("the task is being cancelled"),
            Refusal::TooManyPushConfigs => Self::invalid(
                "taskId",
                format!("has {PUSH_CONFIGS} push notification configurations already; delete one first"),
            ),
            Refusal::TooManyEvents => Self::Unsupported("the task has as many events as a task may have"),
            Refusal::StaleAttempt
            | Refusal::AlreadyClaimed
            | Refusal::NotYet
            | Refusal::Waiting
            | Refusal::UnknownArtifact
            | Refusal::ArtifactsTooLarge => Self::Internal(refusal.to_string()),
        }
    }
}

//! The asking side: what became of a friend request at another node, and of the credential that came of it.

use std::time::Duration;

use crate::limits::{PEER_LOOK_FIRST, PEER_LOOK_LONGEST};
use crate::time::Timestamp;

/// Where a peer stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The other side has not decided, as far as is known.
    Asked(Watch),
    /// The credential is kept, and the other side has not been seen to take it.
    Picked(Watch),
    /// The other side takes the credential.
    Friend,
    Denied,
    /// Nobody over there decided in time, or the credential was not fetched in time.
    Expired,
    /// The other side takes the credential no more, or knows nothing of the request.
    Ended,
}

/// When to look again, and how long at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    pub due_at: Timestamp,
    /// Looks in a row that brought nothing.
    pub looks: u32,
    pub until: Timestamp,
}

/// What a look at the other side brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Nothing new, or nobody answered.
    Nothing,
    /// A credential.
    PickedUp,
    /// The credential was taken.
    Taken,
    /// The credential was refused.
    Refused,
    Denied,
    Expired,
    /// The grant is over, or the request unknown.
    Ended,
}

impl State {
    /// When to look next.
    pub const fn due_at(self) -> Option<Timestamp> {
        match self {
            Self::Asked(watch) | Self::Picked(watch) => Some(watch.due_at),
            Self::Friend | Self::Denied | Self::Expired | Self::Ended => None,
        }
    }

    /// As it is stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Asked(_) => "asked",
            Self::Picked(_) => "picked",
            Self::Friend => "friend",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Ended => "ended",
        }
    }

    /// Whether there may be something to be fetched or confirmed.
    pub const fn is_open(self) -> bool {
        self.due_at().is_some()
    }
}

/// A request that was just sent, and that the other side drops at `until`.
pub fn begin(now: Timestamp, until: Timestamp) -> State {
    State::Asked(Watch { due_at: now.after(PEER_LOOK_FIRST), looks: 0, until })
}

/// What `input` makes of `state` at `now`. What is over stays over.
pub fn step(state: State, input: Input, now: Timestamp) -> State {
    match (state, input) {
        (State::Asked(watch), Input::Nothing | Input::Taken | Input::Refused)
        // Another pick-up may have voided it: the next look says whether there is one more.
        | (State::Picked(watch), Input::Refused) => watch.again(now).map_or(State::Expired, State::Asked),
        (State::Picked(watch), Input::Nothing) => watch.again(now).map_or(State::Expired, State::Picked),
        (State::Asked(watch) | State::Picked(watch), Input::PickedUp) => {
            // Who hands out what it then refuses is not looked at any sooner for that.
            State::Picked(Watch { due_at: now, ..watch })
        }
        (State::Picked(_), Input::Taken)
        | (
            State::Friend,
            Input::Nothing | Input::Taken | Input::PickedUp | Input::Denied | Input::Expired,
        ) => State::Friend,
        (State::Asked(_) | State::Picked(_), Input::Denied) => State::Denied,
        (State::Asked(_) | State::Picked(_), Input::Expired) => State::Expired,
        (State::Friend, Input::Refused)
        | (State::Asked(_) | State::Picked(_) | State::Friend, Input::Ended) => State::Ended,
        (
            over @ (State::Denied | State::Expired | State::Ended),
            Input::Nothing
            | Input::PickedUp
            | Input::Taken
            | Input::Refused
            | Input::Denied
            | Input::Expired
            | Input::Ended,
        ) => over,
    }
}

impl Watch {
    /// The next look, each later than the one before; none where it is too late.
    fn again(self, now: Timestamp) -> Option<Self> {
        let looks = self.looks.saturating_add(1);
        (now < self.until).then(|| Self { due_at: now.after(wait(looks)), looks, ..self })
    }
}

fn wait(looks: u32) -> Duration {
    PEER_LOOK_FIRST.saturating_mul(1 << looks.min(10)).min(PEER_LOOK_LONGEST)
}

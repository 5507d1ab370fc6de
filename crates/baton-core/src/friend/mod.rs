//! The life of a friend request: a stranger asks for a grant, a human decides, the stranger picks its credential up. Pure, as
//! everything here: the store runs [`step`] in a transaction. The other side of it is in [`peer`].

pub mod peer;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::limits::{
    FRIEND_DECIDE_WITHIN, FRIEND_HOUR, FRIEND_PENDING, FRIEND_PENDING_EACH, FRIEND_PER_HOUR,
    FRIEND_PICK_UP_WITHIN, FRIEND_PICK_UPS,
};
use crate::time::Timestamp;

/// Where a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Waits for the operator, until then.
    Pending {
        until: Timestamp,
    },
    /// There is a grant; its credential can be picked up until then, and was so often.
    Approved {
        until: Timestamp,
        pick_ups: u32,
    },
    Denied,
    /// Nobody decided in time, or nobody came for the credential.
    Expired,
}

impl State {
    /// Until when it may be decided, or picked up; nothing where neither may be.
    pub const fn until(self) -> Option<Timestamp> {
        match self {
            Self::Pending { until } | Self::Approved { until, .. } => Some(until),
            Self::Denied | Self::Expired => None,
        }
    }

    /// How often the credential was picked up.
    pub const fn pick_ups(self) -> u32 {
        match self {
            Self::Approved { pick_ups, .. } => pick_ups,
            Self::Pending { .. } | Self::Denied | Self::Expired => 0,
        }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    Approved,
    Denied,
    /// Who asked comes for the credential.
    PickedUp(Credential),
    /// The clock was looked at.
    Lapsed,
}

/// What became of the credential that was picked up last, if one was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    Unused,
    Used,
    /// Its grant is over.
    Ended,
}

/// Why the state machine says no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("nobody has decided yet")]
    Undecided,
    #[error("the request is approved already")]
    Approved,
    #[error("the request was denied")]
    Denied,
    #[error("the request has expired")]
    Expired,
    #[error("the credential was picked up and used")]
    Used,
    #[error("the grant is over")]
    Ended,
    #[error("the credential was picked up {FRIEND_PICK_UPS} times")]
    PickedUpTooOften,
    /// As many from one address in an hour as there may be.
    #[error("too many friend requests from this address")]
    AskedTooOften { again_in: Duration },
    /// As many wait for the operator as there may be, from one address or from all.
    #[error("too many friend requests wait for the operator")]
    Full,
}

/// A request that has just come.
pub fn begin(now: Timestamp) -> State {
    State::Pending { until: now.after(FRIEND_DECIDE_WITHIN) }
}

/// The state at a time: what time ends is over before anybody says so. A credential that was picked up stays with whoever has
/// it.
pub fn at(state: State, now: Timestamp) -> State {
    match state {
        State::Pending { until } | State::Approved { until, pick_ups: 0 } if until <= now => State::Expired,
        State::Pending { .. } | State::Approved { .. } | State::Denied | State::Expired => state,
    }
}

/// What `input` makes of `state` at `now`.
pub fn step(state: State, input: Input, now: Timestamp) -> Result<State, Refusal> {
    match (at(state, now), input) {
        (State::Pending { .. }, Input::Approved) => {
            Ok(State::Approved { until: now.after(FRIEND_PICK_UP_WITHIN), pick_ups: 0 })
        }
        (State::Pending { .. }, Input::Denied) => Ok(State::Denied),
        (State::Pending { .. }, Input::PickedUp(_)) => Err(Refusal::Undecided),
        (State::Approved { .. }, Input::Approved | Input::Denied) => Err(Refusal::Approved),
        (State::Approved { .. }, Input::PickedUp(Credential::Used)) => Err(Refusal::Used),
        (State::Approved { .. }, Input::PickedUp(Credential::Ended)) => Err(Refusal::Ended),
        (State::Approved { until, pick_ups }, Input::PickedUp(Credential::Unused)) => {
            if until <= now {
                Err(Refusal::Expired)
            } else if pick_ups >= FRIEND_PICK_UPS {
                Err(Refusal::PickedUpTooOften)
            } else {
                Ok(State::Approved { until, pick_ups: pick_ups + 1 })
            }
        }
        (State::Denied, Input::Approved | Input::Denied | Input::PickedUp(_)) => Err(Refusal::Denied),
        (State::Expired, Input::Approved | Input::Denied | Input::PickedUp(_)) => Err(Refusal::Expired),
        (
            kept @ (State::Pending { .. } | State::Approved { .. } | State::Denied | State::Expired),
            Input::Lapsed,
        ) => Ok(kept),
    }
}

/// What there is when one more comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crowd {
    /// Those of its address in the last hour, and when the oldest of them came.
    pub in_hour: usize,
    pub oldest: Option<Timestamp>,
    /// Those of its address that wait for the operator, and those of all.
    pub waiting_of_address: usize,
    pub waiting: usize,
}

/// Whether there is room for one more.
pub fn admit(crowd: Crowd, now: Timestamp) -> Result<(), Refusal> {
    let Crowd { in_hour, oldest, waiting_of_address, waiting } = crowd;
    if in_hour >= FRIEND_PER_HOUR {
        let again = oldest.map_or(now, |at| at.after(FRIEND_HOUR));
        return Err(Refusal::AskedTooOften { again_in: again.since(now) });
    }
    if waiting_of_address >= FRIEND_PENDING_EACH || waiting >= FRIEND_PENDING {
        return Err(Refusal::Full);
    }
    Ok(())
}

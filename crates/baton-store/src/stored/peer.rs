//! The columns of a peer's state, and what a look makes of a peer.

use baton_core::friend::peer::{State, Watch};
use baton_core::time::Timestamp;

use super::Unreadable;
use crate::{Peer, PeerChange};

/// The columns state, due_at, looks and until.
pub fn state_columns(state: State) -> (&'static str, Option<i64>, Option<u32>, Option<i64>) {
    match state {
        State::Asked(Watch { due_at, looks, until }) | State::Picked(Watch { due_at, looks, until }) => {
            (state.as_str(), Some(due_at.as_millis()), Some(looks), Some(until.as_millis()))
        }
        State::Friend | State::Denied | State::Expired | State::Ended => (state.as_str(), None, None, None),
    }
}

/// The state that these columns spell.
pub fn state(
    name: &str,
    due_at: Option<i64>,
    looks: Option<u32>,
    until: Option<i64>,
) -> Result<State, Unreadable> {
    let watch = || {
        let times = due_at.zip(until).zip(looks);
        let watch = times.map(|((due_at, until), looks)| Watch {
            due_at: Timestamp::from_millis(due_at),
            looks,
            until: Timestamp::from_millis(until),
        });
        watch.ok_or_else(|| Unreadable::new("a peer that is watched has no time for it"))
    };
    Ok(match name {
        "asked" => State::Asked(watch()?),
        "picked" => State::Picked(watch()?),
        "friend" => State::Friend,
        "denied" => State::Denied,
        "expired" => State::Expired,
        "ended" => State::Ended,
        _ => return Err(Unreadable::new("unknown state of a peer")),
    })
}

/// What is of no more use is forgotten: the secret once the credential is known to be good, both where all is over.
pub fn changed(before: Peer, change: &PeerChange, now: Timestamp) -> Peer {
    let mut peer = Peer { state: change.state, problem: change.problem.clone(), changed_at: now, ..before };
    if let Some((credential, granted)) = &change.picked {
        (peer.credential, peer.granted) = (Some(credential.clone()), Some(granted.clone()));
    }
    match peer.state {
        State::Asked(_) | State::Picked(_) => {}
        State::Friend => peer.secret = None,
        State::Denied | State::Expired | State::Ended => (peer.secret, peer.credential) = (None, None),
    }
    peer
}

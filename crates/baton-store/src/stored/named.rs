//! What is stored under a word: the states of grants and friend requests, and what is held back.

use baton_core::friend;
use baton_core::ident::AgentName;
use baton_core::time::Timestamp;

use super::Unreadable;
use crate::{GrantState, Hold};

/// The state of a grant that is in it since `at`.
pub fn grant_state(name: &str, at: Timestamp) -> Result<GrantState, Unreadable> {
    Ok(match name {
        "active" => GrantState::Active,
        "paused" => GrantState::Paused { at },
        "revoked" => GrantState::Revoked { at },
        "expired" => GrantState::Expired { at },
        _ => return Err(Unreadable::new("unknown state of a grant")),
    })
}

/// The state of a friend request.
pub fn friend_state(
    name: &str,
    until: Option<Timestamp>,
    pick_ups: u32,
) -> Result<friend::State, Unreadable> {
    let until = || until.ok_or_else(|| Unreadable::new("an open friend request has no end"));
    Ok(match name {
        "pending" => friend::State::Pending { until: until()? },
        "approved" => friend::State::Approved { until: until()?, pick_ups },
        "denied" => friend::State::Denied,
        "expired" => friend::State::Expired,
        _ => return Err(Unreadable::new("unknown state of a friend request")),
    })
}

pub const fn hold_kind(hold: &Hold) -> &'static str {
    match hold {
        Hold::FreezeNode => "freeze-node",
        Hold::FreezeGrant(_) => "freeze-grant",
        Hold::PauseNode => "pause-node",
        Hold::PauseAgent(_) => "pause-agent",
    }
}

pub fn hold(kind: &str, target: &str) -> Result<Hold, Unreadable> {
    Ok(match kind {
        "freeze-node" => Hold::FreezeNode,
        "freeze-grant" => Hold::FreezeGrant(target.into()),
        "pause-node" => Hold::PauseNode,
        "pause-agent" => Hold::PauseAgent(
            AgentName::parse(target).map_err(|_| Unreadable::new("not the name of an agent"))?,
        ),
        _ => return Err(Unreadable::new("unknown kind of a hold")),
    })
}

//! The columns of a push configuration's state, and what a try makes of it.

use baton_core::delivery::{End, Input, State, step};
use baton_core::time::Timestamp;

use super::Unreadable;
use crate::{PushConfig, Settle};

/// The columns state, reason, failures and due_at.
pub fn state_columns(state: State) -> (&'static str, Option<&'static str>, u32, Option<i64>) {
    match state {
        State::Active { failures, due_at } => ("active", None, failures, due_at.map(Timestamp::as_millis)),
        State::Suspended => ("suspended", None, 0, None),
        State::Ended(end) => ("ended", Some(end.as_str()), 0, None),
    }
}

/// The state that these columns spell.
pub fn state(
    (name, reason): (&str, Option<&str>),
    failures: u32,
    due_at: Option<Timestamp>,
) -> Result<State, Unreadable> {
    match name {
        "active" => Ok(State::Active { failures, due_at }),
        "suspended" => Ok(State::Suspended),
        "ended" => {
            let end = reason.and_then(End::parse);
            end.map(State::Ended).ok_or_else(|| Unreadable::new("unknown reason of an end"))
        }
        _ => Err(Unreadable::new("unknown state of a push configuration")),
    }
}

/// Whether what became of a try still concerns this configuration.
pub fn is_settled_by(config: &PushConfig, settle: &Settle) -> bool {
    config.revision == settle.revision && matches!(config.state, State::Active { .. })
}

/// The configuration after a try. `seq`: of the task's newest event.
pub fn settled(mut config: PushConfig, settle: &Settle, seq: u64) -> PushConfig {
    let input = match settle.input {
        Input::Taken { .. } => Input::Taken { more: seq > settle.cursor },
        other => other,
    };
    if settle.attempt.is_some() {
        config.tries += 1;
    }
    config.cursor = config.cursor.max(settle.cursor);
    config.state = step(config.state, input, settle.now);
    config
}

//! Every input in every state, and how long the tries take in all.

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_000_000);

fn active(failures: u32, due: Option<i64>) -> State {
    State::Active { failures, due_at: due.map(Timestamp::from_millis) }
}

const FAILED: Input = Input::Failed { retry_after: None, chance: u16::MAX / 2 };

#[test]
fn every_input_in_every_state() {
    let (idle, waiting) = (active(0, None), active(3, Some(5_000_000)));
    let (gone, revoked) = (State::Ended(End::Gone), State::Ended(End::Revoked));
    for (state, input, next) in [
        (idle, Input::Owed, active(0, Some(1_000_000))),
        (waiting, Input::Owed, waiting),
        (State::Suspended, Input::Owed, State::Suspended),
        (gone, Input::Owed, gone),
        (waiting, Input::Taken { more: true }, active(0, Some(1_000_000))),
        (waiting, Input::Taken { more: false }, idle),
        (State::Suspended, Input::Taken { more: true }, State::Suspended),
        (active(11, Some(0)), FAILED, State::Suspended),
        (State::Suspended, FAILED, State::Suspended),
        (waiting, Input::Gone, gone),
        (State::Suspended, Input::Gone, State::Suspended),
        (State::Suspended, Input::Replayed, active(0, Some(1_000_000))),
        (waiting, Input::Replayed, active(0, Some(1_000_000))),
        (gone, Input::Replayed, active(0, Some(1_000_000))),
        (revoked, Input::Replayed, revoked),
        (revoked, Input::Owed, revoked),
        (revoked, Input::Gone, revoked),
        (idle, Input::Revoked, revoked),
        (State::Suspended, Input::Revoked, revoked),
        (gone, Input::Revoked, revoked),
    ] {
        assert_eq!(step(state, input, NOW), next, "{state:?} {input:?}");
    }
}

#[test]
fn all_tries_take_about_a_day() {
    for chance in [0, u16::MAX / 2, u16::MAX] {
        let (mut state, mut now, mut tries) = (active(0, Some(0)), Timestamp::from_millis(0), 0);
        while let State::Active { due_at: Some(due), .. } = state {
            now = due;
            tries += 1;
            state = step(state, Input::Failed { retry_after: None, chance }, now);
        }
        assert_eq!((state, tries), (State::Suspended, WEBHOOK_ATTEMPTS));
        let hours = now.since(Timestamp::from_millis(0)).as_secs() / 3600;
        assert!((17..=27).contains(&hours), "{hours} h");
    }
}

#[test]
fn a_receiver_may_ask_for_more_time_but_not_for_ever() {
    let asked = |seconds| wait(1, Some(Duration::from_secs(seconds)), 0);
    assert_eq!(asked(0), Duration::from_secs(4));
    assert_eq!(asked(60), Duration::from_mins(1));
    assert_eq!(asked(u64::MAX / 2), WEBHOOK_RETRY_AFTER);
    assert_eq!(wait(1, None, u16::MAX), Duration::from_secs(6));
}

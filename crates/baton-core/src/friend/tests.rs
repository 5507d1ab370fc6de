//! Every input in every state, on both sides.

use super::*;

const HOUR: i64 = 60 * 60 * 1000;

fn ms(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn approved(pick_ups: u32) -> State {
    State::Approved { until: ms(72 * HOUR), pick_ups }
}

const PENDING: State = State::Pending { until: Timestamp::from_millis(7 * 24 * HOUR) };

#[test]
fn every_state_and_every_input() {
    let (unused, used, ended) = (Credential::Unused, Credential::Used, Credential::Ended);
    for (state, input, becomes) in [
        (PENDING, Input::Approved, Ok(approved(0))),
        (PENDING, Input::Denied, Ok(State::Denied)),
        (PENDING, Input::PickedUp(unused), Err(Refusal::Undecided)),
        (PENDING, Input::Lapsed, Ok(PENDING)),
        (approved(0), Input::Approved, Err(Refusal::Approved)),
        (approved(0), Input::Denied, Err(Refusal::Approved)),
        (approved(0), Input::PickedUp(unused), Ok(approved(1))),
        (approved(1), Input::PickedUp(unused), Ok(approved(2))),
        (approved(1), Input::PickedUp(used), Err(Refusal::Used)),
        (approved(1), Input::PickedUp(ended), Err(Refusal::Ended)),
        (approved(FRIEND_PICK_UPS), Input::PickedUp(unused), Err(Refusal::PickedUpTooOften)),
        (approved(0), Input::Lapsed, Ok(approved(0))),
        (State::Denied, Input::Approved, Err(Refusal::Denied)),
        (State::Denied, Input::Denied, Err(Refusal::Denied)),
        (State::Denied, Input::PickedUp(unused), Err(Refusal::Denied)),
        (State::Denied, Input::Lapsed, Ok(State::Denied)),
        (State::Expired, Input::Approved, Err(Refusal::Expired)),
        (State::Expired, Input::Denied, Err(Refusal::Expired)),
        (State::Expired, Input::PickedUp(unused), Err(Refusal::Expired)),
        (State::Expired, Input::Lapsed, Ok(State::Expired)),
    ] {
        assert_eq!(step(state, input, ms(0)), becomes, "{state:?} {input:?}");
    }
    assert_eq!(begin(ms(0)), PENDING);
}

#[test]
fn the_clock_decides_to_the_millisecond() {
    let (before, after) = (ms(7 * 24 * HOUR - 1), ms(7 * 24 * HOUR));
    assert!(step(PENDING, Input::Approved, before).is_ok());
    assert_eq!(step(PENDING, Input::Approved, after), Err(Refusal::Expired));
    assert_eq!(step(PENDING, Input::Denied, after), Err(Refusal::Expired));
    assert_eq!(step(PENDING, Input::Lapsed, after), Ok(State::Expired));
    let (before, after) = (ms(72 * HOUR - 1), ms(72 * HOUR));
    let picked = |state, now| step(state, Input::PickedUp(Credential::Unused), now);
    assert_eq!(picked(approved(3), before), Ok(approved(4)));
    assert_eq!(picked(approved(3), after), Err(Refusal::Expired));
    assert_eq!(picked(approved(0), after), Err(Refusal::Expired));
    assert_eq!(at(approved(0), after), State::Expired);
    assert_eq!(at(approved(1), after), approved(1), "what was picked up stays");
    assert_eq!(step(approved(1), Input::Lapsed, after), Ok(approved(1)));
}

#[test]
fn a_crowd_is_bounded_by_address_and_in_all() {
    let room = Crowd { in_hour: 4, oldest: Some(ms(10)), waiting_of_address: 9, waiting: 199 };
    assert_eq!(admit(room, ms(20)), Ok(()));
    let often = Crowd { in_hour: 5, ..room };
    let again_in = Duration::from_millis(HOUR.unsigned_abs() - 10);
    assert_eq!(admit(often, ms(20)), Err(Refusal::AskedTooOften { again_in }));
    for full in [Crowd { waiting: 200, ..room }, Crowd { waiting_of_address: 10, ..room }] {
        assert_eq!(admit(full, ms(20)), Err(Refusal::Full));
    }
}

mod asking {
    use super::super::peer::{Input, State, Watch, begin, step};
    use super::*;

    const ALL: [Input; 7] = [
        Input::Nothing,
        Input::PickedUp,
        Input::Taken,
        Input::Refused,
        Input::Denied,
        Input::Expired,
        Input::Ended,
    ];

    fn watch(state: State) -> Watch {
        match state {
            State::Asked(watch) | State::Picked(watch) => watch,
            State::Friend | State::Denied | State::Expired | State::Ended => panic!("{state:?}"),
        }
    }

    #[test]
    fn looks_come_ever_later_and_end() {
        let until = ms(10 * HOUR);
        let mut state = begin(ms(0), until);
        let mut at = state.due_at().unwrap();
        let mut pauses = Vec::new();
        while let State::Asked(_) = state {
            state = step(state, Input::Nothing, at);
            let Some(next) = state.due_at() else { break };
            pauses.push(next.since(at));
            at = next;
        }
        assert_eq!(state, State::Expired);
        assert!(pauses.is_sorted(), "{pauses:?}");
        assert_eq!(pauses.last(), Some(&crate::limits::PEER_LOOK_LONGEST));
    }

    /// Who says that the credential is there, and refuses it, is looked at ever later all the same.
    #[test]
    fn a_credential_that_is_refused_again_and_again_is_fetched_ever_later() {
        let mut state = begin(ms(0), ms(10 * HOUR));
        let mut pauses = Vec::new();
        while let Some(at) = state.due_at().filter(|_| pauses.len() < 10) {
            let picked = step(state, Input::PickedUp, at);
            assert_eq!((picked.due_at(), watch(picked).looks), (Some(at), watch(state).looks));
            state = step(picked, Input::Refused, at);
            pauses.extend(state.due_at().map(|next| next.since(at)));
        }
        assert!(pauses.is_sorted(), "{pauses:?}");
        assert_eq!(pauses.last(), Some(&crate::limits::PEER_LOOK_LONGEST));
    }

    #[test]
    fn from_asking_to_friendship_and_its_end() {
        let asked = begin(ms(0), ms(HOUR));
        let picked = step(asked, Input::PickedUp, ms(5));
        assert_eq!(picked, State::Picked(Watch { due_at: ms(5), looks: 0, until: ms(HOUR) }));
        assert!(matches!(step(picked, Input::Nothing, ms(5)), State::Picked(_)));
        assert!(matches!(step(picked, Input::Refused, ms(5)), State::Asked(_)), "it is fetched again");
        assert!(matches!(step(picked, Input::PickedUp, ms(5)), State::Picked(_)));
        assert_eq!(step(picked, Input::Taken, ms(5)), State::Friend);
        assert_eq!(step(picked, Input::Denied, ms(5)), State::Denied);
        assert_eq!(step(picked, Input::Ended, ms(5)), State::Ended);
        assert!(watch(step(asked, Input::Refused, ms(5))).looks == 1);
        assert_eq!(step(asked, Input::Denied, ms(5)), State::Denied);
        assert_eq!(step(asked, Input::Expired, ms(5)), State::Expired);
        assert_eq!(step(State::Friend, Input::Refused, ms(5)), State::Ended);
        for kept in [Input::Nothing, Input::PickedUp, Input::Taken, Input::Denied, Input::Expired] {
            assert_eq!(step(State::Friend, kept, ms(5)), State::Friend);
        }
    }

    #[test]
    fn what_is_over_stays_over() {
        for over in [State::Denied, State::Expired, State::Ended] {
            assert!(!over.is_open());
            for input in ALL {
                assert_eq!(step(over, input, ms(5)), over, "{input:?}");
            }
        }
    }
}

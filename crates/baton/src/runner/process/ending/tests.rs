//! What is said of a task when its child is gone.

use baton_core::task::Reason;

use super::{Ending, unasked};
use crate::runner::Fact;
use crate::runner::process::exit::How;

fn fail(fact: &Fact) -> (Reason, bool, String) {
    let Fact::Fail { reason, message, retryable } = fact else { panic!("{fact:?}") };
    (*reason, *retryable, message.as_ref().unwrap().joined_text())
}

#[test]
fn exits_decide_whether_to_try_again() {
    let cases = [
        (How::Code(0), Reason::Crashed, false),
        (How::Code(1), Reason::Failed, false),
        (How::Code(75), Reason::Transient, true),
        (How::Signal(11), Reason::Crashed, true),
        (How::WardenDied, Reason::Crashed, true),
        (How::NotStarted("x".into()), Reason::Crashed, false),
    ];
    for (how, reason, retryable) in cases {
        let (got, again, _) = fail(&unasked(&how, ""));
        assert_eq!((got, again), (reason, retryable), "{how:?}");
    }
}

#[test]
fn the_tail_of_standard_error_is_shown() {
    let (_, _, text) = fail(&unasked(&How::Code(3), "Traceback\nKeyError"));
    assert_eq!(text, "The agent ended without a result: exit status 3.\nTraceback\nKeyError");
}

#[test]
fn causes_are_ranked() {
    let fault = || Ending::fault(Reason::Deadline, "late");
    assert_eq!(Ending::merge(None, fault()), fault());
    assert_eq!(Ending::merge(Some(fault()), Ending::Cancel), Ending::Cancel);
    assert_eq!(Ending::merge(Some(Ending::Cancel), fault()), Ending::Cancel);
    assert_eq!(Ending::merge(Some(Ending::Cancel), Ending::Stop), Ending::Cancel);
    assert_eq!(Ending::merge(Some(Ending::Cancel), Ending::Lost), Ending::Lost);
    assert_eq!(Ending::merge(Some(Ending::Lost), Ending::Cancel), Ending::Lost);
}

#[test]
fn each_ending_has_its_fact() {
    assert_eq!(Ending::Cancel.fact(""), Some(Fact::Canceled));
    assert_eq!(Ending::Stop.fact(""), Some(Fact::Released));
    assert_eq!(Ending::Lost.fact(""), None);
    assert_eq!(Ending::Evict.fact(""), Some(Fact::HolderGone(None)));
    assert_eq!(
        fail(&Ending::fault(Reason::Stalled, "silent").fact("").unwrap()),
        (Reason::Stalled, false, "silent".into())
    );
}

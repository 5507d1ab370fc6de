//! Connections that give a call, and what becomes of it.

use std::future::{pending, poll_fn};

use super::*;

/// A connection that gives `call` when it is looked at first; `over`: it ends in the same moment.
fn giving(
    lane: &Lane,
    call: impl Future<Output = ()> + Send + 'static,
    over: bool,
) -> Driven<impl Future<Output = ()>> {
    let (given_to, mut call) = (lane.clone(), Some(call));
    let connection = poll_fn(move |_| {
        if let Some(call) = call.take() {
            given_to.execute(call);
        }
        if over { Poll::Ready(()) } else { Poll::Pending }
    });
    Driven::new(connection, lane.clone())
}

/// As hyper's calls do, this one keeps the lane that it was given to.
#[tokio::test]
async fn a_call_that_nobody_took_goes_with_its_connection() {
    let (lane, held) = (Lane::default(), Arc::new(()));
    let kept = (lane.clone(), Arc::clone(&held));
    let call = async move {
        let _kept = kept;
        pending::<()>().await;
    };
    giving(&lane, call, true).await;
    assert_eq!(Arc::strong_count(&held), 1);
}

#[tokio::test]
async fn a_call_runs_in_the_connections_task() {
    let (lane, (say, heard)) = (Lane::default(), tokio::sync::oneshot::channel());
    let mut driven = giving(
        &lane,
        async move {
            let _ = say.send(tokio::task::try_id());
        },
        false,
    );
    assert!(futures_util::poll!(&mut driven).is_pending());
    assert_eq!(heard.await, Ok(tokio::task::try_id()));
    assert!(matches!(*lane.seat(), Seat::Free));
}

#[tokio::test]
async fn a_panic_ends_the_call_only() {
    let lane = Lane::default();
    let mut driven = giving(&lane, async { panic!("of the test") }, false);
    assert!(futures_util::poll!(&mut driven).is_pending());
    assert!(matches!(*lane.seat(), Seat::Free), "the next call has its seat");
}

#[tokio::test]
async fn a_second_call_gets_a_task() {
    let (lane, (say, heard)) = (Lane::default(), tokio::sync::oneshot::channel());
    let mut driven = giving(&lane, pending(), false);
    assert!(futures_util::poll!(&mut driven).is_pending());
    lane.execute(async move {
        let _ = say.send(tokio::task::try_id());
    });
    assert_ne!(heard.await, Ok(tokio::task::try_id()));
}

//! CancelTask: confirmed, repeated, in a race with the end, and after it.

use std::time::Duration;

use baton::runner::{Fact, Refused, Signal};
use baton_wire::fault::Kind;
use serde_json::Value;

use crate::harness::{Answer, TestNode, User, chunk, lines, soon, state};

#[tokio::test]
async fn a_task_is_cancelled_when_its_holder_has_stopped() {
    let node = TestNode::start().await;
    for user in node.doors("script") {
        let id = user.hand_in("go").await;
        let mut attempt = node.attempt("script").await;
        let cancel = tokio::spawn({
            let (user, id) = (user.clone(), id.clone());
            async move { user.cancel(&id).await }
        });
        assert_eq!(attempt.hears().await, Signal::Cancel);
        assert_eq!(user.state(&id).await, "WORKING", "not before its holder has stopped");
        attempt.report(vec![Fact::Canceled]).await.unwrap();
        let task = soon(cancel).await.unwrap().ok();
        assert_eq!(state(&task), "CANCELED");
        assert_eq!(user.get(&id).await, task);
        user.cancel(&id).await.refused(Kind::TaskNotCancelable);
    }
    node.finish().await;
}

/// Who does not stop in time is waited for no longer; the answer says that the task is not over, and it ends all the same.
#[tokio::test]
async fn a_holder_that_takes_long_is_not_waited_for() {
    let node = TestNode::with(|settings| settings.limits.cancel_wait = Duration::from_millis(50)).await;
    for user in node.doors("script") {
        let id = user.hand_in("go").await;
        let mut attempt = node.attempt("script").await;
        let task = user.cancel(&id).await.ok();
        assert_eq!((state(&task).as_str(), &task["id"]), ("WORKING", &id.as_str().into()));
        assert_eq!(attempt.hears().await, Signal::Cancel, "it was asked to stop");
        // Asking again asks for nothing new, and waits again.
        assert_eq!(state(&user.cancel(&id).await.ok()), "WORKING");
        attempt.report(vec![Fact::Canceled]).await.unwrap();
        assert_eq!(user.state(&id).await, "CANCELED");
        user.cancel(&id).await.refused(Kind::TaskNotCancelable);
    }
    node.finish().await;
}

#[tokio::test]
async fn a_task_that_waits_is_cancelled_too() {
    let node = TestNode::start().await;
    for user in node.doors("script") {
        let id = user.hand_in("go").await;
        let attempt = node.attempt("script").await;
        attempt.ask("which?").await;
        let (answer, ()) = tokio::join!(user.cancel(&id), attempt.stops());
        assert_eq!(state(&answer.ok()), "CANCELED");
    }
    node.finish().await;
}

/// Report 4: what is said after the end was asked for changes nothing.
#[tokio::test]
async fn the_end_is_final() {
    let node = TestNode::start().await;
    for user in node.doors("script") {
        let id = user.hand_in("go").await;
        let mut attempt = node.attempt("script").await;
        let stream = user.subscribe(&id).await;
        let (answer, attempt) = tokio::join!(user.cancel(&id), async {
            assert_eq!(attempt.hears().await, Signal::Cancel);
            let late = attempt.report(vec![chunk("late", "x", false, true)]).await;
            assert_eq!(late, Err(Refused::Canceling));
            attempt.report(vec![Fact::Canceled]).await.unwrap();
            attempt
        });
        let task = answer.ok();
        for fact in [chunk("late", "x", false, true), Fact::Complete(None)] {
            assert_eq!(attempt.report(vec![fact]).await, Err(Refused::Lost));
        }
        assert_eq!(user.get(&id).await, task);
        assert_eq!(stream.lines().await, ["2 task WORKING", "4 CANCELED"]);
    }
    node.finish().await;
}

/// Report 4, its second half.
#[tokio::test]
async fn every_accepted_append_is_there() {
    let node = TestNode::start().await;
    let user = node.anyone("script");
    let id = user.hand_in("go").await;
    let attempt = node.attempt("script").await;
    attempt.write("out", "").await;
    let appends = (0..50).map(|_| attempt.append("out", "x"));
    futures_util::future::join_all(appends).await;
    attempt.complete().await;
    let parts = user.get(&id).await["artifacts"][0]["parts"].as_array().unwrap().clone();
    assert_eq!(parts.iter().filter(|part| part["text"] == "x").count(), 50);
    node.finish().await;
}

/// Report 5.
#[tokio::test]
async fn twenty_cancellations_agree() {
    let node = TestNode::start().await;
    for user in node.doors("script") {
        let id = user.hand_in("go").await;
        let attempt = node.attempt("script").await;
        let stream = user.subscribe(&id).await;
        let (answers, ()) = tokio::join!(cancel_twenty(&user, &id), attempt.stops());
        let task = user.get(&id).await;
        for answer in &answers {
            assert_agrees(answer, &task);
        }
        assert!(answers.iter().any(|answer| answer.json()["error"].is_null()));
        assert_eq!(lines(&stream.rest().await)[1..], ["4 CANCELED"]);
    }
    node.finish().await;
}

/// Report 5: the first terminal commit wins, and everyone agrees on which that was.
#[tokio::test]
async fn a_cancellation_that_races_completion_agrees_with_the_task() {
    let node = TestNode::start().await;
    for user in node.doors("script") {
        for _ in 0..10 {
            let id = user.hand_in("go").await;
            let attempt = node.attempt("script").await;
            let stream = user.subscribe(&id).await;
            let (answers, ()) = tokio::join!(cancel_twenty(&user, &id), attempt.complete());
            let task = user.get(&id).await;
            assert_eq!(state(&task), "COMPLETED");
            for answer in &answers {
                assert_agrees(answer, &task);
            }
            assert_eq!(stream.rest().await.len(), 2);
        }
    }
    node.finish().await;
}

#[tokio::test]
async fn a_task_that_nobody_took_is_cancelled_at_once() {
    let node = TestNode::with(|settings| {
        settings.agents.values_mut().for_each(|agent| {
            if let baton::config::settings::Runner::Process(process) = &mut agent.runner {
                process.concurrency = 1;
            }
        });
    })
    .await;
    for user in node.doors("script") {
        let _first = user.hand_in("first").await;
        let attempt = node.attempt("script").await;
        let second = user.hand_in("second").await;
        assert_eq!(user.state(&second).await, "SUBMITTED");
        assert_eq!(state(&user.cancel(&second).await.ok()), "CANCELED");
        attempt.complete().await;
    }
    assert!(node.is_idle("script"));
    node.finish().await;
}

async fn cancel_twenty(user: &User, id: &str) -> Vec<Answer> {
    futures_util::future::join_all((0..20).map(|_| user.cancel(id))).await
}

/// The answer is the cancelled task, or that it cannot be cancelled any more.
#[track_caller]
fn assert_agrees(answer: &Answer, task: &Value) {
    if answer.json().get("error").is_some() {
        answer.refused(Kind::TaskNotCancelable);
    } else {
        assert_eq!((&answer.ok(), state(task).as_str()), (task, "CANCELED"));
    }
}

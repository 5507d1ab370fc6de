//! Attempts: retries, slots, questions that nobody answers, and what clients see of all that.

use std::time::Duration;

use baton::config::settings::{Runner, Settings};
use baton::runner::{Fact, Signal};
use baton::worker::reaper;
use serde_json::json;

use crate::harness::{Door, TestNode, message, state, text_of, until};

fn one_at_a_time(settings: &mut Settings) {
    for agent in settings.agents.values_mut() {
        if let Runner::Process(process) = &mut agent.runner {
            process.concurrency = 1;
        }
    }
}

/// A retry that is owed is never shown as terminal and never looks like a step back.
#[tokio::test]
async fn a_lost_attempt_is_followed_by_another() {
    let node = TestNode::start().await;
    for user in node.doors("script") {
        let stream = user.stream("go").await;
        let attempt = node.attempt("script").await;
        let id = attempt.task();
        attempt.write("out", "half").await;
        drop(attempt);
        let attempt = node.attempt("script").await;
        assert_eq!((attempt.task(), attempt.job.attempt), (id.clone(), 2));
        assert_eq!(user.state(&id).await, "WORKING");
        // What an earlier attempt left behind is replaced, not appended to.
        attempt.append("out", "whole").await;
        attempt.complete().await;
        let lines = stream.lines().await;
        assert_eq!(lines, ["1 task SUBMITTED", "2 WORKING", "3 out=half", "6 out=whole", "7 COMPLETED"]);
        assert_eq!(text_of(&user.get(&id).await["artifacts"][0]), "whole");
    }
    node.finish().await;
}

#[tokio::test]
async fn attempts_end_in_a_failure() {
    let node = TestNode::start().await;
    for user in node.doors("script") {
        let id = user.hand_in("go").await;
        for number in 1..=5 {
            let attempt = node.attempt("script").await;
            assert_eq!(attempt.job.attempt, number);
        }
        until("the last attempt is given up", async || user.state(&id).await == "FAILED").await;
        assert_eq!(user.get(&id).await["metadata"]["baton/reason"], "crashed");
    }
    assert!(node.is_idle("script"));
    node.finish().await;
}

#[tokio::test]
async fn a_question_waits_for_a_day() {
    let node = TestNode::start().await;
    for user in node.doors("script") {
        let id = user.hand_in("go").await;
        let mut attempt = node.attempt("script").await;
        attempt.ask("which?").await;
        node.clock.advance(Duration::from_hours(23));
        reaper::sweep(&node.node().service).await.unwrap();
        assert_eq!(user.state(&id).await, "INPUT_REQUIRED");
        node.clock.advance(Duration::from_hours(1));
        reaper::sweep(&node.node().service).await.unwrap();
        let task = user.get(&id).await;
        assert_eq!(
            (state(&task).as_str(), &task["metadata"]["baton/reason"]),
            ("FAILED", &json!("unanswered"))
        );
        assert_eq!(attempt.hears().await, Signal::Lost);
    }
    node.finish().await;
}

/// Who waits for an answer holds no slot; the answer waits for one.
#[tokio::test]
async fn a_question_gives_its_slot_to_the_next() {
    let node = TestNode::with(one_at_a_time).await;
    for user in node.doors("script") {
        let first = user.hand_in("first").await;
        let mut asker = node.attempt("script").await;
        let second = user.hand_in("second").await;
        assert_eq!(user.state(&second).await, "SUBMITTED");
        asker.ask("which?").await;
        let other = node.attempt("script").await;
        assert_eq!((other.told(), user.state(&second).await), ("second".into(), "WORKING".into()));

        for text in ["this", "quickly"] {
            let mut turn = message(text);
            turn["taskId"] = first.as_str().into();
            assert_eq!(state(&user.hand_in_message(turn).await), "WORKING");
        }
        other.complete().await;
        assert_eq!(asker.hears_message().await, "this");
        assert_eq!(asker.hears_message().await, "quickly", "in the order in which they were said");
        asker.complete().await;
        assert_eq!(user.state(&first).await, "COMPLETED");
    }
    node.finish().await;
}

/// At most sixteen wait with their holder alive; the answer to one that was let go makes it ready again.
#[tokio::test]
async fn the_longest_waiter_is_let_go() {
    let node = TestNode::start().await;
    let user = node.anyone("script");
    let mut waiting = Vec::new();
    for at in 0..17 {
        user.hand_in(&format!("{at}")).await;
        let attempt = node.attempt("script").await;
        attempt.ask("which?").await;
        waiting.push(attempt);
    }
    let mut longest = waiting.remove(0);
    assert_eq!(longest.hears().await, Signal::Evict);
    longest.report(vec![Fact::HolderGone(None)]).await.unwrap();
    let id = longest.task();
    drop(longest);
    assert_eq!(user.state(&id).await, "INPUT_REQUIRED", "the question outlives who asked it");
    let mut turn = message("this");
    turn["taskId"] = id.as_str().into();
    user.hand_in_message(turn).await;
    let again = node.attempt("script").await;
    assert_eq!((again.task(), again.told()), (id, "this".into()));
    again.complete().await;
    for attempt in waiting {
        attempt.complete().await;
    }
    node.finish().await;
}

/// Report 24: what cannot be committed is not accepted.
#[tokio::test]
async fn a_node_that_stops_takes_nothing_new() {
    let node = TestNode::start().await;
    let [rpc, rest, grpc] = node.doors("script");
    let id = rpc.hand_in("go").await;
    let mut attempt = node.attempt("script").await;
    let play = async {
        assert_eq!(attempt.hears().await, Signal::Drain);
        for user in [&rpc, &rest, &grpc] {
            let answer = user.try_send(message("x")).await;
            let error = answer.refused(baton_wire::fault::Kind::Unavailable);
            if user.door == Door::Grpc {
                assert_eq!(error["details"][1]["retryDelay"], "5s");
            } else {
                assert_eq!(answer.header("retry-after"), Some("5"));
            }
            assert_eq!(user.state(&id).await, "WORKING", "reading goes on");
        }
        let ready = crate::harness::request("GET", &rpc.at_origin("/readyz"), &[], "");
        assert_eq!(rpc.ask(ready).await.status, 503);
        attempt.progress("nearly").await;
        attempt.complete().await;
    };
    let (node, ()) = tokio::join!(node.restart(), play);
    let user = node.anyone("script");
    assert_eq!(
        (user.state(&id).await.as_str(), &user.list(json!({})).await["totalSize"]),
        ("COMPLETED", &json!(1))
    );
    node.finish().await;
}

/// Subscribers that come exactly at the end get it once, or hear that there is nothing to come.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscriber_at_the_very_end_misses_nothing() {
    let node = TestNode::start().await;
    for user in node.doors("script") {
        for _ in 0..20 {
            let id = user.hand_in("go").await;
            let attempt = node.attempt("script").await;
            let opened = (0..4)
                .map(|_| user.open(baton_wire::operation::Operation::SubscribeToTask, json!({"id": id})));
            let (opened, ()) = tokio::join!(futures_util::future::join_all(opened), attempt.complete());
            for stream in opened {
                match stream {
                    Ok(stream) => assert_eq!(stream.lines().await, ["2 task WORKING", "3 COMPLETED"]),
                    Err(answer) => drop(answer.refused(baton_wire::fault::Kind::UnsupportedOperation)),
                }
            }
        }
    }
    node.finish().await;
}

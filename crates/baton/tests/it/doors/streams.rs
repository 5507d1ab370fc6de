//! Streams while they are watched: order, ids, ends, keep-alive, many and slow readers.

use std::time::{Duration, Instant};

use baton::runner::Signal;
use baton_wire::fault::Kind;
use baton_wire::operation::Operation;
use serde_json::json;

use crate::harness::{DOORS, TestNode, chunk, lines, message, soon, state, until};

#[tokio::test]
async fn a_stream_begins_with_the_task_and_ends_with_its_end() {
    let node = TestNode::start().await;
    for user in node.doors("script") {
        let (stream, ()) = tokio::join!(user.stream("go"), async {
            let attempt = node.attempt("script").await;
            attempt.progress("on it").await;
            attempt.write("out", "Hello").await;
            attempt.append("out", " world").await;
            attempt.report(vec![chunk("out", "!", true, true)]).await.unwrap();
            attempt.complete_saying("done").await;
        });
        assert_eq!(
            stream.lines().await,
            [
                "1 task SUBMITTED",
                "2 WORKING",
                "3 WORKING \"on it\"",
                "4 out=Hello",
                "5 out+= world",
                "6 out+=!.",
                "7 COMPLETED \"done\"",
            ]
        );
        let echoed = user.to("echo").stream("hi").await.rest().await;
        assert_eq!(lines(&echoed), ["1 task SUBMITTED", "2 WORKING", "3 echo=hi.", "4 COMPLETED"]);
        let (task, update) = (&echoed[0].value["task"], &echoed[2].value["artifactUpdate"]);
        assert_eq!((&update["taskId"], &update["contextId"]), (&task["id"], &task["contextId"]));
        assert!(task.get("artifacts").is_none(), "the artifacts come as events");
    }
    node.finish().await;
}

#[tokio::test]
async fn a_send_stream_ends_at_a_question_and_a_subscription_does_not() {
    let node = TestNode::start().await;
    for user in node.doors("script") {
        let mut stream = user.stream("go").await;
        let mut attempt = node.attempt("script").await;
        let id = attempt.task();
        let mut subscription = user.subscribe(&id).await;
        assert_eq!(subscription.line().await, "2 task WORKING");
        attempt.ask_for_credentials("log in").await;
        stream.until("3 AUTH_REQUIRED \"log in\"").await;
        // It stays open for what comes out of band.
        attempt.progress("thanks").await;
        attempt.ask("which?").await;
        assert_eq!(stream.lines().await, ["4 WORKING \"thanks\"", "5 INPUT_REQUIRED \"which?\""]);

        let mut turn = message("this");
        turn["taskId"] = id.as_str().into();
        let turned = user.stream_message(turn).await;
        assert_eq!(attempt.hears_message().await, "this");
        attempt.complete().await;
        assert_eq!(turned.lines().await, ["6 task WORKING", "7 COMPLETED"]);
        let all = [
            "3 AUTH_REQUIRED \"log in\"",
            "4 WORKING \"thanks\"",
            "5 INPUT_REQUIRED \"which?\"",
            "6 WORKING",
            "7 COMPLETED",
        ];
        assert_eq!(subscription.lines().await, all);
    }
    node.finish().await;
}

/// Report 2.
#[tokio::test]
async fn a_new_subscriber_gets_the_rest() {
    let node = TestNode::start().await;
    for user in node.doors("script") {
        let mut stream = user.stream("go").await;
        let attempt = node.attempt("script").await;
        stream.until("1 task SUBMITTED").await;
        drop(stream);
        attempt.write("out", "a").await;
        let subscription = user.subscribe(&attempt.task()).await;
        attempt.append("out", "b").await;
        attempt.complete().await;
        let frames = subscription.rest().await;
        assert_eq!(lines(&frames), ["3 task WORKING", "4 out+=b", "5 COMPLETED"]);
        assert_eq!(frames[0].value["task"]["artifacts"][0]["parts"][0]["text"], "a");
    }
    node.finish().await;
}

/// Report 3.
#[tokio::test]
async fn a_run_outlives_its_readers() {
    let node = TestNode::start().await;
    for user in node.doors("script") {
        for when in 0..3 {
            let mut stream = user.stream("go").await;
            let attempt = node.attempt("script").await;
            let id = attempt.task();
            stream.until("2 WORKING").await;
            if when == 0 {
                drop(stream);
                attempt.write("out", "x").await;
                attempt.complete().await;
            } else {
                attempt.write("out", "x").await;
                tokio::join!(attempt.complete(), async { drop(stream) });
            }
            let task = user.get(&id).await;
            assert_eq!(
                (task["status"]["state"].as_str(), task["artifacts"][0]["parts"][0]["text"].as_str()),
                (Some("TASK_STATE_COMPLETED"), Some("x"))
            );
        }
        // A blocking send that is given up is a task all the same.
        let given_up = user.clone();
        let send = tokio::spawn(async move { given_up.send("go").await });
        let attempt = node.attempt("script").await;
        let id = attempt.task();
        send.abort();
        attempt.complete().await;
        assert_eq!(user.state(&id).await, "COMPLETED");
    }
    node.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_subscribers_see_the_same() {
    let node = TestNode::start().await;
    let user = node.anyone("script");
    let id = user.hand_in("go").await;
    let attempt = node.attempt("script").await;
    let mut streams = Vec::new();
    for at in 0..50 {
        streams.push(user.over(DOORS[at % 2]).subscribe(&id).await);
    }
    for at in 0..100 {
        attempt.progress(&format!("step {at}")).await;
    }
    attempt.complete().await;
    let mut seen = Vec::new();
    for stream in streams {
        seen.push(stream.lines().await);
    }
    assert_eq!(seen[0].len(), 102);
    assert!(seen.iter().all(|lines| *lines == seen[0]));
    node.finish().await;
}

#[tokio::test]
async fn a_slow_reader_gets_everything() {
    let node = TestNode::start().await;
    for user in node.doors("script") {
        let stream = user.stream("go").await;
        let attempt = node.attempt("script").await;
        let text = "x".repeat(4096);
        attempt.write("out", "").await;
        for _ in 0..200 {
            let facts = (0..10).map(|_| chunk("out", &text, true, false)).collect();
            attempt.report(facts).await.unwrap();
        }
        attempt.complete().await;
        let frames = stream.rest().await;
        let ids: Vec<_> = frames.iter().map(|frame| frame.id).collect();
        assert_eq!(ids, (1..=2004).collect::<Vec<_>>());
        assert_eq!(frames.last().unwrap().line(), "2004 COMPLETED");
    }
    node.finish().await;
}

/// A widespread client gives up after five seconds of silence, also while an agent makes up its mind.
#[tokio::test]
async fn silence_is_broken_within_five_seconds() {
    let node = TestNode::start().await;
    let (user, talker) = (node.anyone("script"), node.anyone("talker"));
    let mut streams = [user.stream("go").await, talker.stream("go").await];
    streams[0].until("2 WORKING").await;
    let begun = Instant::now();
    for stream in &mut streams {
        assert_eq!(stream.bytes().await.as_deref(), Some(&b":\n"[..]), "one line, no empty line after it");
    }
    let silence = begun.elapsed();
    assert!(silence > Duration::from_secs(3) && silence < Duration::from_secs(5), "{silence:?}");
    node.attempt("script").await.complete().await;
    node.attempt("talker").await.reply("hi").await;
    let [stream, talk] = streams;
    assert_eq!(stream.lines().await, ["3 COMPLETED"]);
    assert_eq!(talk.lines().await, ["3 message hi"]);
    node.finish().await;
}

#[tokio::test]
async fn an_agent_that_does_not_stream_says_so() {
    let node = TestNode::start().await;
    for user in node.doors("mute") {
        let answer = user.open(Operation::SendStreamingMessage, json!({"message": message("x")})).await;
        answer.unwrap_err().refused(Kind::UnsupportedOperation);
        assert_eq!(user.list(json!({})).await["totalSize"], user.door as u64);
        let id = user.hand_in("x").await;
        user.subscribe_in_vain(&id).await.refused(Kind::UnsupportedOperation);
        node.attempt("mute").await.complete().await;
    }
    node.finish().await;
}

/// The node's end ends a stream cleanly; a task that an agent has not decided on yet is named before.
#[tokio::test]
async fn a_drain_ends_streams_and_waits() {
    let node = TestNode::start().await;
    let (user, talker) = (node.anyone("script"), node.anyone("talker"));
    let (stream, undecided) = (user.stream("a").await, talker.stream("b").await);
    let waiting = tokio::spawn({
        let user = user.clone();
        async move { user.send("c").await }
    });
    let mut attempts =
        [node.attempt("script").await, node.attempt("script").await, node.attempt("talker").await];
    let task = attempts[2].task();
    let play = async {
        for attempt in &mut attempts {
            assert_eq!(attempt.hears().await, Signal::Drain);
        }
        let open = stream.lines().await;
        assert_eq!(open, ["1 task SUBMITTED", "2 WORKING"]);
        let named = undecided.rest().await;
        assert_eq!(named[0].value["task"]["id"], task.as_str());
        assert_eq!(state(&soon(waiting).await.unwrap()), "WORKING");
        for attempt in attempts {
            attempt.release().await;
        }
    };
    let (node, ()) = tokio::join!(node.restart(), play);
    node.attempt("script").await.complete().await;
    node.attempt("script").await.complete().await;
    node.attempt("talker").await.reply("late").await;
    let talker = node.anyone("talker");
    until("the reply ends the task", async || talker.state(&task).await == "COMPLETED").await;
    node.finish().await;
}

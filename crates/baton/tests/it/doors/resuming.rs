//! Streams that are taken up again: `Last-Event-ID` on live and finished tasks, across restarts.

use std::time::Duration;

use baton::worker::pruner;
use baton_wire::fault::Kind;
use serde_json::json;

use crate::harness::{TestNode, User, lines};

/// Report 8: the missed events come in order, once.
#[tokio::test]
async fn a_stream_is_resumed_after_what_was_seen() {
    let node = TestNode::start().await;
    for user in node.doors("script") {
        let id = user.hand_in("go").await;
        let attempt = node.attempt("script").await;
        attempt.write("out", "a").await;
        attempt.append("out", "b").await;
        attempt.progress("so far").await;
        let resumed = user.resume(&id, 3).await;
        attempt.append("out", "c").await;
        attempt.complete().await;
        let frames = resumed.rest().await;
        let missed = ["3 task WORKING", "4 out+=b", "5 WORKING \"so far\"", "6 out+=c", "7 COMPLETED"];
        assert_eq!(lines(&frames), missed);
        let task = &frames[0].value["task"];
        assert!(task.get("artifacts").is_none() && task.get("history").is_none(), "{task}");

        // The same of a task that is over, while there is anything left to tell.
        assert_eq!(user.resume(&id, 3).await.lines().await, missed);
        let all = user.resume(&id, 0).await.lines().await;
        assert_eq!(all[..4], ["0 task SUBMITTED", "1 SUBMITTED", "2 WORKING", "3 out=a"]);
        assert_eq!(all.len(), 8);
        for seen in ["7", "8", "18446744073709551615"] {
            user.with("last-event-id", seen).subscribe_in_vain(&id).await.refused(Kind::UnsupportedOperation);
        }
        for garbage in ["x", "-1", "1.5", "18446744073709551616"] {
            let answer = user.with("last-event-id", garbage).subscribe_in_vain(&id).await;
            assert_eq!(answer.invalid(), "Last-Event-ID", "{garbage}");
        }
        let unset = user.with("last-event-id", "").subscribe_in_vain(&id).await;
        unset.refused(Kind::UnsupportedOperation);
    }
    node.finish().await;
}

/// Who claims to have seen more than there is gets the task as it is.
#[tokio::test]
async fn an_id_from_the_future_is_a_fresh_start() {
    let node = TestNode::start().await;
    for user in node.doors("script") {
        let id = user.hand_in("go").await;
        let attempt = node.attempt("script").await;
        attempt.write("out", "a").await;
        let stream = user.resume(&id, 99).await;
        attempt.complete().await;
        let frames = stream.rest().await;
        assert_eq!(lines(&frames), ["3 task WORKING", "4 COMPLETED"]);
        assert_eq!(frames[0].value["task"]["artifacts"][0]["parts"][0]["text"], "a");
    }
    node.finish().await;
}

#[tokio::test]
async fn a_stream_is_resumed_across_a_restart() {
    let mut node = TestNode::start().await;
    for door in crate::harness::DOORS {
        let user = node.anyone("script").over(door);
        let mut stream = user.stream("go").await;
        let attempt = node.attempt("script").await;
        let id = attempt.task();
        attempt.write("out", "a").await;
        stream.until("3 out=a").await;
        attempt.progress("so far").await;
        let (again, ()) = tokio::join!(node.restart(), attempt.drains());
        drop(stream);
        node = again;

        let user = node.anyone("script").over(door);
        let attempt = node.attempt("script").await;
        assert_eq!((attempt.task(), attempt.job.attempt), (id.clone(), 2));
        let resumed = user.resume(&id, 3).await;
        attempt.write("out", "b").await;
        attempt.complete().await;
        // 5 and 6 are the end of the first attempt and the begin of the second: nothing that a client is shown.
        let missed = ["3 task WORKING", "4 WORKING \"so far\"", "7 out=b", "8 COMPLETED"];
        assert_eq!(resumed.lines().await, missed);
        assert_eq!(user.get(&id).await["artifacts"].as_array().unwrap().len(), 1);

        node = node.restart().await;
        let user = node.anyone("script").over(door);
        assert_eq!(user.resume(&id, 3).await.lines().await, missed, "finished, and started again");
        user.resume_in_vain(&id, 8).await.refused(Kind::UnsupportedOperation);
    }
    node.finish().await;
}

/// A task that is over keeps its events for a week, then only how it ended.
#[tokio::test]
async fn what_was_pruned_cannot_be_resumed() {
    let node = TestNode::start().await;
    for user in node.doors("echo") {
        let id = user.send("x").await["id"].as_str().unwrap().to_owned();
        let task = user.get(&id).await;
        node.clock.advance(Duration::from_hours(6 * 24));
        pruner::sweep(&node.node().service).await.unwrap();
        assert_eq!(user.resume(&id, 1).await.lines().await.len(), 4);
        node.clock.advance(Duration::from_hours(2 * 24));
        pruner::sweep(&node.node().service).await.unwrap();
        user.resume_in_vain(&id, 1).await.refused(Kind::UnsupportedOperation);
        assert_eq!(user.get(&id).await, task);
        assert_eq!(user.list(json!({"historyLength": 0})).await["tasks"][0]["id"], id.as_str());
    }
    node.finish().await;
}

impl User {
    async fn resume_in_vain(&self, task: &str, last: u64) -> crate::harness::Answer {
        self.with("last-event-id", &last.to_string()).subscribe_in_vain(task).await
    }
}

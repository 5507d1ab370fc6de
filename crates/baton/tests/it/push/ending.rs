//! How a task ends is told once, whatever races to end it, and to nobody but those whom its owner named.

use baton_wire::fault::Kind;
use baton_wire::operation::Operation;
use serde_json::json;

use super::{Hook, allow_loopback, hand_in, node, settled};
use crate::harness::{TestNode, message};

/// Report 5: twenty cancellations, with and against the end that the agent makes.
#[tokio::test]
async fn one_end_is_told() {
    let node = node().await;
    for user in node.doors("script") {
        for completes in [false, true] {
            let hook = Hook::start().await;
            let task = hand_in(&user, "go", &json!({"url": hook.url()})).await;
            let attempt = node.attempt("script").await;
            let cancels = futures_util::future::join_all((0..20).map(|_| user.cancel(&task)));
            let ends = async { if completes { attempt.complete().await } else { attempt.stops().await } };
            tokio::join!(cancels, ends);
            let state = user.state(&task).await;
            hook.gets(2).await;
            settled(&node, &task).await;
            let lines = hook.lines();
            let over = |line: &&String| !line.ends_with("WORKING");
            let ends: Vec<_> = lines.iter().filter(over).collect();
            assert_eq!(ends.len(), 1, "{lines:?}");
            assert!(lines.last().unwrap().ends_with(&state), "{state}: {lines:?}");
        }
    }
    node.finish().await;
}

/// Report 15: a stranger who knows the task and its configuration neither hears of it nor keeps others from hearing.
#[tokio::test]
async fn a_stranger_neither_hears_nor_silences() {
    let node = TestNode::with(|settings| {
        allow_loopback(settings);
        settings.node.dev = false;
    })
    .await;
    let (owner, stranger) = (node.holder("script").await, node.holder("script").await);
    for (owner, stranger) in owner.doors().into_iter().zip(stranger.doors()) {
        let (hook, theirs) = (Hook::start().await, Hook::start().await);
        let task = hand_in(&owner, "go", &json!({"id": "mine", "url": hook.url()})).await;
        let attempt = node.attempt("script").await;
        let mut turn = message("mine now");
        turn["taskId"] = task.as_str().into();
        let inline = json!({"taskPushNotificationConfig": {"id": "mine", "url": theirs.url()}});
        for (operation, params) in [
            (
                Operation::CreateTaskPushNotificationConfig,
                json!({"taskId": task, "id": "mine", "url": theirs.url()}),
            ),
            (Operation::CreateTaskPushNotificationConfig, json!({"taskId": task, "url": theirs.url()})),
            (Operation::DeleteTaskPushNotificationConfig, json!({"taskId": task, "id": "mine"})),
            (Operation::SendMessage, json!({"message": turn, "configuration": inline})),
            (Operation::CancelTask, json!({"id": task})),
        ] {
            stranger.call(operation, params).await.refused(Kind::TaskNotFound);
        }
        attempt.complete().await;
        hook.gets(2).await;
        settled(&node, &task).await;
        assert_eq!(hook.lines(), ["2 WORKING", "3 COMPLETED"]);
        assert_eq!(theirs.lines(), [""; 0]);
    }
    node.finish().await;
}

//! What a worker gives back waits anew, and is rung for at once.

use std::time::Duration;

use baton_store::{Elsewhere, Observer as _};
use serde_json::json;

use super::Client;
use crate::harness::{TestNode, soon};
use crate::work::clerk;

const QUEUE: &str = "baton://queues/clerk";

#[tokio::test]
async fn a_task_that_is_given_back_is_rung_for() {
    let node = TestNode::with(clerk).await;
    let client = Client::new(&node.anyone("clerk")).await;
    let mut ear = client.listen().await;
    client.subscribe(QUEUE).await;
    node.anyone("clerk").hand_in("work").await;
    assert_eq!(soon(ear.rings()).await, QUEUE);
    for verb in ["release", "fail"] {
        let task = client.claim().await;
        let mut said = json!({"task_id": task["task_id"], "lease_token": task["lease_token"]});
        if verb == "fail" {
            said["retryable"] = true.into();
        }
        client.does(verb, said).await;
        // What failed waits a while before it is tried again.
        node.clock.advance(Duration::from_mins(1));
        node.node().service.hub.elsewhere(&[Elsewhere::Anything]);
        assert_eq!(soon(ear.rings()).await, QUEUE, "{verb}");
    }
    node.finish().await;
}

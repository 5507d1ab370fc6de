//! Extensions: asked for, activated, required, and handed to the agent.

use baton::config::settings::Settings;
use baton_core::ident::AgentName;
use baton_core::model::AgentExtension;
use baton_wire::fault::Kind;
use baton_wire::operation::Operation;
use serde_json::json;

use crate::harness::{TestNode, message};

const CITES: &str = "https://example.com/ext/cites/v1";
const MUST: &str = "urn:example:must";
const IDEMPOTENT: &str = "urn:x-baton:idempotent-send:v1";

/// `echo` and `script` declare two; `text` requires the second.
fn declare(settings: &mut Settings) {
    let extension =
        |uri: &str, required| AgentExtension { uri: uri.to_owned(), required, ..AgentExtension::default() };
    for name in ["echo", "script", "text"] {
        let agent = settings.agents.get_mut(&AgentName::parse(name).unwrap()).unwrap();
        agent.extensions = vec![extension(CITES, false), extension(MUST, name == "text")];
    }
}

#[tokio::test]
async fn what_is_declared_is_activated_and_echoed() {
    let node = TestNode::with(declare).await;
    for user in node.doors("echo") {
        let asked = format!("urn:unknown, {MUST},{IDEMPOTENT} , {CITES}");
        let answer = user.with("a2a-extensions", &asked).try_send(message("x")).await;
        answer.ok();
        assert_eq!(answer.header("a2a-extensions"), Some(format!("{IDEMPOTENT},{CITES},{MUST}").as_str()));
        let twice = user.with("a2a-extensions", CITES).with("a2a-extensions", "urn:other");
        let answer = twice.try_send(message("x")).await;
        assert_eq!(answer.header("a2a-extensions"), Some(CITES));
        // A client of 0.3 asks by another name and is answered by it.
        let answer = user.with("x-a2a-extensions", MUST).try_send(message("x")).await;
        assert_eq!((answer.header("x-a2a-extensions"), answer.header("a2a-extensions")), (Some(MUST), None));
        // A prefix is another extension; nothing activated is nothing said.
        for asked in ["urn:unknown", "", "urn:example:mus", &MUST.to_uppercase()] {
            let answer = user.with("a2a-extensions", asked).try_send(message("x")).await;
            answer.ok();
            assert_eq!(answer.header("a2a-extensions"), None, "{asked}");
        }
    }
    node.finish().await;
}

#[tokio::test]
async fn the_agent_hears_of_its_own() {
    let node = TestNode::with(declare).await;
    for user in node.doors("script") {
        let asking = user.with("a2a-extensions", &format!("{CITES},{IDEMPOTENT},urn:unknown"));
        asking.hand_in("x").await;
        let attempt = node.attempt("script").await;
        assert_eq!(attempt.job.request.extensions, [CITES]);
        attempt.complete().await;
        user.hand_in("x").await;
        let attempt = node.attempt("script").await;
        assert_eq!(attempt.job.request.extensions, [""; 0]);
        attempt.complete().await;
    }
    node.finish().await;
}

#[tokio::test]
async fn what_is_required_is_required_of_every_operation() {
    let node = TestNode::with(declare).await;
    let task = json!({"id": "t"});
    let config = json!({"taskId": "t", "id": "c", "url": "https://example.com/hook"});
    for user in node.doors("text") {
        for (operation, params) in [
            (Operation::SendMessage, json!({"message": message("x")})),
            (Operation::SendStreamingMessage, json!({"message": message("x")})),
            (Operation::GetTask, task.clone()),
            (Operation::ListTasks, json!({})),
            (Operation::CancelTask, task.clone()),
            (Operation::SubscribeToTask, task.clone()),
            (Operation::CreateTaskPushNotificationConfig, config.clone()),
            (Operation::GetTaskPushNotificationConfig, config.clone()),
            (Operation::ListTaskPushNotificationConfigs, config.clone()),
            (Operation::DeleteTaskPushNotificationConfig, config.clone()),
            (Operation::GetExtendedAgentCard, json!({})),
        ] {
            let other = user.with("a2a-extensions", CITES);
            for user in [&user, &other] {
                let error =
                    user.call(operation, params.clone()).await.refused(Kind::ExtensionSupportRequired);
                assert!(error.to_string().contains(MUST), "it says which: {error}");
            }
        }
        let asking = user.with("a2a-extensions", MUST);
        let before = asking.list(json!({})).await["totalSize"].clone();
        let id = asking.hand_in("x").await;
        node.attempt("text").await.complete().await;
        assert_eq!(asking.state(&id).await, "COMPLETED");
        let after = asking.list(json!({})).await["totalSize"].clone();
        assert_eq!(after.as_u64(), before.as_u64().map(|n| n + 1), "what was refused created nothing");
    }
    node.finish().await;
}

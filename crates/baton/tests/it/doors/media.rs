//! Media types: what an agent takes, and what its caller takes back.

use baton::config::settings::Settings;
use baton_core::ident::AgentName;
use baton_wire::fault::Kind;
use baton_wire::operation::Operation;
use serde_json::{Value, json};

use crate::harness::{TestNode, message};

/// `script` takes and gives text and pictures.
fn declare(settings: &mut Settings) {
    let agent = settings.agents.get_mut(&AgentName::parse("script").unwrap()).unwrap();
    agent.input_modes = vec!["text/plain".to_owned(), "image/*".to_owned()];
    agent.output_modes = vec!["text/plain".to_owned(), "image/png".to_owned()];
}

fn with(part: Value) -> Value {
    let mut message = message("see this");
    message["parts"].as_array_mut().unwrap().push(part);
    message
}

#[tokio::test]
async fn a_part_that_the_agent_does_not_take_is_refused() {
    let node = TestNode::with(declare).await;
    for user in node.doors("script") {
        for part in [
            json!({"data": {"a": 1}}),
            json!({"raw": "AAAA"}),
            json!({"raw": "AAAA", "mediaType": "audio/wav"}),
            json!({"url": "https://example.com/x", "mediaType": "application/pdf"}),
            json!({"text": "# x", "mediaType": "text/markdown"}),
        ] {
            for operation in [Operation::SendMessage, Operation::SendStreamingMessage] {
                let answer = user.open(operation, json!({"message": with(part.clone())})).await.unwrap_err();
                let error = answer.refused(Kind::ContentTypeNotSupported);
                let said = error["message"].as_str().unwrap();
                assert!(said.contains("parts[1]") && said.contains("image/*"), "{said}");
            }
        }
        assert_eq!(user.list(json!({})).await["totalSize"], 0);
    }
    let user = node.anyone("script");
    let task = user.hand_in_message(with(json!({"raw": "AAAA", "mediaType": "image/png"}))).await;
    let mut attempt = node.attempt("script").await;
    // A follow-up is looked at in the same way.
    let mut more = with(json!({"data": 1}));
    more["taskId"] = task["id"].clone();
    user.try_send(more).await.refused(Kind::ContentTypeNotSupported);
    let mut more = with(json!({"url": "https://example.com/x"}));
    more["taskId"] = task["id"].clone();
    user.hand_in_message(more).await;
    assert_eq!(attempt.hears_message().await, "see this");
    attempt.complete().await;
    node.finish().await;
}

#[tokio::test]
async fn a_caller_who_takes_nothing_that_the_agent_gives_is_told() {
    let node = TestNode::with(declare).await;
    for user in node.doors("script") {
        let asking = |modes: Value| {
            json!({
                "message": message("x"),
                "configuration": {"acceptedOutputModes": modes, "returnImmediately": true},
            })
        };
        let refused = user.call(Operation::SendMessage, asking(json!(["audio/wav", "text/html"]))).await;
        refused.refused(Kind::ContentTypeNotSupported);
        for modes in [json!([]), json!(["audio/wav", "TEXT/plain; q=1"]), json!(["image/*"]), json!(["*/*"])]
        {
            user.call(Operation::SendMessage, asking(modes.clone())).await.ok();
            let attempt = node.attempt("script").await;
            assert_eq!(json!(attempt.job.request.accepted_output_modes), modes);
            attempt.complete().await;
        }
    }
    node.finish().await;
}

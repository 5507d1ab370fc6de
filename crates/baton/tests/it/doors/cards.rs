//! Agent cards (reports 18, 19 and 21): where they are, who sees them, what caches need.

use baton::config::settings::{Agent, Card, Compat};
use baton_core::ident::AgentName;
use baton_store::Verb;
use baton_wire::fault::Kind;
use baton_wire::operation::Operation;
use serde_json::{Value, json};

use crate::harness::{Answer, Door, TestNode, User};

const CARD: &str = "/.well-known/agent-card.json";

async fn card(user: &User) -> Answer {
    let user = user.over(Door::Rest);
    user.ask(user.raw("GET", CARD, "")).await
}

#[tokio::test]
async fn a_published_card_is_public_and_cached() {
    let node = TestNode::closed().await;
    let user = node.anyone("echo").over(Door::Rest);
    let answer = card(&user).await;
    let shown = answer.ok();
    assert_eq!(shown["name"], "echo");
    assert_eq!(shown["capabilities"]["streaming"], true);
    let url = format!("{}/a2a/echo", node.url());
    for (at, binding) in ["JSONRPC", "HTTP+JSON"].into_iter().enumerate() {
        let interface = &shown["supportedInterfaces"][at];
        assert_eq!((&interface["url"], &interface["protocolBinding"]), (&json!(url), &json!(binding)));
        assert_eq!(interface["protocolVersion"], "1.0");
    }
    assert_eq!(shown["securityRequirements"][0]["schemes"]["bearer"], json!({"list": ["send"]}));
    assert_no_empty_members(&shown);
    assert_eq!(answer.header("cache-control"), Some("public, max-age=60"));
    let (tag, changed) = (answer.header("etag").unwrap(), answer.header("last-modified").unwrap());

    for (name, value) in [
        ("if-none-match", tag.to_owned()),
        ("if-none-match", format!("\"x\", W/{tag}")),
        ("if-none-match", "*".to_owned()),
        ("if-modified-since", changed.to_owned()),
    ] {
        let same = card(&user.with(name, &value)).await;
        assert_eq!(
            (same.status, same.body.len(), same.header("etag")),
            (304, 0, Some(tag)),
            "{name}: {value}"
        );
    }
    let past = "Thu, 01 Jan 1970 00:00:00 GMT";
    for stale in [
        user.with("if-none-match", "\"x\""),
        user.with("if-modified-since", past),
        user.with("if-none-match", "\"x\"").with("if-modified-since", changed),
    ] {
        assert_eq!(card(&stale).await.status, 200);
    }
    let head = user.ask(user.raw("HEAD", CARD, "")).await;
    assert_eq!((head.status, head.header("etag")), (200, Some(tag)));
    node.finish().await;
}

/// Implementations drop what is empty or keep it as they like, and signatures break on that.
fn assert_no_empty_members(value: &Value) {
    let empty = value.is_null() || value == "" || value == &json!([]) || value == &json!({});
    assert!(!empty, "something is empty");
    match value {
        Value::Array(items) => items.iter().for_each(assert_no_empty_members),
        Value::Object(members) => members.values().for_each(assert_no_empty_members),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[tokio::test]
async fn the_default_agents_card_is_at_the_origin() {
    let node = TestNode::closed().await;
    let user = node.anyone("echo");
    let origin = crate::harness::request("GET", &format!("{}{CARD}", node.url()), &[], "");
    let shown = card(&user).await.body;
    assert_eq!(user.ask(origin).await.body, shown);
    for legacy in ["/.well-known/agent.json", "/a2a/echo/.well-known/agent.json"] {
        let legacy = crate::harness::request("GET", &format!("{}{legacy}", node.url()), &[], "");
        assert_eq!(user.ask(legacy).await.body, shown);
    }
    node.finish().await;

    let node = TestNode::with(|settings| settings.node.default_agent = None).await;
    let origin = crate::harness::request("GET", &format!("{}{CARD}", node.url()), &[], "");
    let nowhere = node.anyone("echo").over(Door::Rest).ask(origin).await;
    nowhere.refused(Kind::UnknownPath);
    node.finish().await;
}

#[tokio::test]
async fn an_unpublished_card_is_for_those_with_a_grant() {
    let node = TestNode::closed().await;
    let (_, holder) = node.grant(&["script"], &[Verb::Read]).await;
    let (_, other) = node.grant(&["text"], &[Verb::Read]).await;
    let anyone = node.anyone("script");
    let made_up = card(&node.anyone("no-such-agent")).await;
    for who in [&anyone, &other.to("script"), &anyone.with("authorization", "Bearer x")] {
        let answer = card(who).await;
        answer.refused(Kind::UnknownPath);
        assert_eq!(answer.body, made_up.body, "as if there was no such agent");
    }
    let answer = card(&holder).await;
    assert_eq!(answer.ok()["name"], "script");
    assert!(answer.header("cache-control").unwrap().starts_with("private"));
    assert_eq!(answer.header("vary"), Some("authorization"));
    node.finish().await;
}

#[tokio::test]
async fn what_is_not_declared_says_so() {
    let node = TestNode::with(|settings| {
        settings.agents.get_mut(&AgentName::parse("script").unwrap()).unwrap().push = false;
    })
    .await;
    for user in node.doors("script") {
        let shown = card(&user).await.ok();
        assert_eq!(shown["capabilities"]["pushNotifications"], false);
        assert_eq!(shown["capabilities"]["extendedAgentCard"], false);
        let config = json!({"taskId": "t", "id": "c", "url": "https://example.com/hook"});
        for operation in [
            Operation::CreateTaskPushNotificationConfig,
            Operation::GetTaskPushNotificationConfig,
            Operation::ListTaskPushNotificationConfigs,
            Operation::DeleteTaskPushNotificationConfig,
        ] {
            let answer = user.call(operation, config.clone()).await;
            answer.refused(Kind::PushNotificationNotSupported);
        }
        user.call(Operation::GetExtendedAgentCard, json!({})).await.refused(Kind::UnsupportedOperation);
        let inline = json!({
            "message": crate::harness::message("x"),
            "configuration": {"taskPushNotificationConfig": {"url": "https://example.com/hook"}},
        });
        for operation in [Operation::SendMessage, Operation::SendStreamingMessage] {
            let answer = user.open(operation, inline.clone()).await.unwrap_err();
            answer.refused(Kind::PushNotificationNotSupported);
        }
        assert_eq!(user.list(json!({})).await["totalSize"], 0);
    }
    node.finish().await;
}

#[tokio::test]
async fn a_card_is_of_both_versions_or_of_one() {
    let node = TestNode::with(|settings| {
        settings.node.dev = false;
        let echo = settings.agents.get_mut(&AgentName::parse("echo").unwrap()).unwrap();
        let only_v1 = Agent { name: AgentName::parse("new").unwrap(), ..echo.clone() };
        let only_v1 = Agent { card: Card { compat: Compat::V1, environment: false }, ..only_v1 };
        settings.agents.insert(only_v1.name.clone(), only_v1);
    })
    .await;
    let both = card(&node.anyone("echo")).await.ok();
    assert_no_empty_members(&both);
    let url = format!("{}/a2a/echo", node.url());
    assert_eq!((&both["url"], &both["protocolVersion"]), (&json!(url), &json!("0.3.0")));
    assert_eq!(both["preferredTransport"], "JSONRPC");
    let transports = both["additionalInterfaces"].as_array().unwrap().iter();
    let transports: Vec<_> = transports.map(|interface| interface["transport"].as_str().unwrap()).collect();
    assert!(transports.contains(&"HTTP+JSON"), "{transports:?}");
    // Security in both spellings, in one object.
    let scheme = &both["securitySchemes"]["bearer"];
    assert_eq!((&scheme["type"], &scheme["scheme"]), (&json!("http"), &json!("bearer")));
    assert_eq!(scheme["httpAuthSecurityScheme"]["scheme"], "bearer");
    assert_eq!(both["security"], json!([{"bearer": ["send"]}, {"oauth2": ["send"]}]));

    let v1 = card(&node.anyone("new")).await.ok();
    for member in ["url", "protocolVersion", "preferredTransport", "additionalInterfaces", "security"] {
        assert_eq!(v1.get(member), None, "{member}");
    }
    assert_eq!(v1["securitySchemes"]["bearer"], json!({"httpAuthSecurityScheme": {"scheme": "bearer"}}));
    assert_eq!(
        v1["skills"],
        json!([{"id": "new", "name": "echo", "description": both["description"], "tags": ["new"]}])
    );
    node.finish().await;
}

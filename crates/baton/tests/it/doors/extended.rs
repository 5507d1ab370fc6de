//! The extended card (report 21): who gets one, and what stands on it.

use baton::config::settings::{Audience, Settings, Skill};
use baton_core::ident::AgentName;
use baton_core::model::AgentSkill;
use baton_store::Verb;
use baton_wire::fault::Kind;
use baton_wire::operation::Operation;
use serde_json::{Value, json};

use crate::harness::{Answer, Door, TestNode, User};

pub fn skill(id: &str, to: Audience) -> Skill {
    let card = AgentSkill {
        id: id.to_owned(),
        name: id.to_owned(),
        description: id.to_owned(),
        tags: vec!["x".to_owned()],
        ..AgentSkill::default()
    };
    Skill { card, to }
}

/// `echo` has skills for everyone, for callers, and for a grant that is labelled `a test`; `script` says that it has an
/// extended card and has none.
fn declare(settings: &mut Settings) {
    settings.node.dev = false;
    let mut agent = |name: &str| settings.agents.remove(&AgentName::parse(name).unwrap()).unwrap();
    let (mut echo, mut script) = (agent("echo"), agent("script"));
    echo.extended_card = true;
    echo.skills = vec![
        skill("open", Audience::Everyone),
        skill("more", Audience::Extended),
        skill("ours", Audience::Grants(vec!["a test".to_owned()])),
        skill("theirs", Audience::Grants(vec!["another".to_owned()])),
    ];
    script.extended_card = true;
    settings.agents.extend([(echo.name.clone(), echo), (script.name.clone(), script)]);
}

fn ids(card: &Value) -> Vec<&str> {
    card["skills"].as_array().unwrap().iter().map(|skill| skill["id"].as_str().unwrap()).collect()
}

async fn extended(user: &User) -> Answer {
    user.call(Operation::GetExtendedAgentCard, json!({})).await
}

#[tokio::test]
async fn a_caller_sees_the_skills_that_are_for_him() {
    let node = TestNode::with(declare).await;
    let (id, holder) = node.grant(&["echo", "script", "text"], &[Verb::ExtendedCard]).await;
    let (_, sender) = node.grant(&["echo"], &[Verb::Send, Verb::Read]).await;
    for user in holder.doors() {
        let answer = extended(&user).await;
        assert_eq!(ids(&answer.ok()), ["open", "more", "ours"]);
        assert_eq!(answer.ok()["capabilities"]["extendedAgentCard"], true);
        if user.door != Door::Grpc {
            assert!(answer.header("cache-control").unwrap().starts_with("private"));
            assert_eq!(answer.header("vary"), Some("authorization"));
        }
        // Another agent declares one and has none; a third declares none.
        extended(&user.to("script")).await.refused(Kind::ExtendedAgentCardNotConfigured);
        extended(&user.to("text")).await.refused(Kind::UnsupportedOperation);
    }
    for user in sender.doors() {
        extended(&user).await.refused(Kind::PermissionDenied);
    }
    for user in node.doors("echo") {
        let answer = extended(&user).await;
        answer.refused(Kind::Unauthenticated);
        assert_eq!(answer.status, if user.door == Door::Grpc { 200 } else { 401 });
        assert!(answer.header("www-authenticate").unwrap().starts_with("Bearer"));
    }
    let anyone = node.anyone("echo").over(Door::Rest);
    let public = anyone.ask(anyone.raw("GET", "/.well-known/agent-card.json", "")).await.ok();
    assert_eq!(ids(&public), ["open"]);
    node.revoke(&id).await;
    extended(&holder).await.refused(Kind::Unauthenticated);
    node.finish().await;
}

/// As 0.3 asks for it: by method, and at a path of its own.
#[tokio::test]
async fn a_client_of_0_3_gets_the_same_card() {
    let node = TestNode::with(declare).await;
    let (_, holder) = node.grant(&["echo", "script", "text"], &[Verb::ExtendedCard]).await;
    let ask = async |user: &User| match user.door {
        Door::Rest => user.ask(user.raw("GET", "/v1/card", "")).await,
        Door::Rpc | Door::Grpc => {
            let method = "agent/getAuthenticatedExtendedCard";
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": method});
            user.ask(user.raw("POST", "", body.to_string())).await
        }
    };
    for user in holder.json_doors() {
        let answer = ask(&user).await;
        assert_eq!(ids(&answer.ok()), ["open", "more", "ours"]);
        assert_eq!(answer.ok()["supportsAuthenticatedExtendedCard"], true);
        assert!(answer.header("cache-control").unwrap().starts_with("private"));
        ask(&user.to("script")).await.refused(Kind::ExtendedAgentCardNotConfigured);
        ask(&user.to("text")).await.refused(Kind::UnsupportedOperation);
    }
    for user in node.json_doors("echo") {
        let answer = ask(&user).await;
        answer.refused(Kind::Unauthenticated);
        assert_eq!(answer.status, 401);
    }
    node.finish().await;
}

#[tokio::test]
async fn the_operator_sees_what_cards_are_made_from() {
    let node = TestNode::with(declare).await;
    let manifest = node.operator("GET", "/api/v1/agents/echo", None).await.ok();
    assert_eq!(ids(&manifest), ["open", "more", "ours", "theirs"]);
    assert_eq!(manifest["skills"][3]["shownTo"], json!({"grants": ["another"]}));
    assert_eq!(manifest["capabilities"]["extendedCard"], "on");
    let bindings: Vec<_> = manifest["interfaces"].as_array().unwrap().iter().collect();
    assert!(bindings.iter().any(|interface| interface["protocolBinding"] == "JSONRPC"), "{bindings:?}");
    let absent = node.operator("GET", "/api/v1/agents/script", None).await.ok();
    assert_eq!(absent["capabilities"]["extendedCard"], "absent");
    // An agent that is not published has a card for its operator all the same.
    let card = node.operator("GET", "/api/v1/agents/text/card", None).await.ok();
    assert_eq!(card["name"], "text");
    for path in ["/api/v1/agents/none", "/api/v1/agents/none/card"] {
        node.operator("GET", path, None).await.refused(Kind::UnknownPath);
        let anyone = node.anyone("echo").over(Door::Rest);
        let request = crate::harness::request("GET", &anyone.at_origin(path), &[], "");
        anyone.ask(request).await.refused(Kind::PermissionDenied);
    }
    node.finish().await;
}

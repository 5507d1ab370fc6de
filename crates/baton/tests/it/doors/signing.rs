//! Signed cards and the node's keys (report 20).

use baton::config::settings::{Audience, Settings, Skill};
use baton::federation::signature::{Form, verify};
use baton::keys::Jwks;
use baton_core::ident::AgentName;
use baton_core::model::AgentSkill;
use baton_store::Verb;
use baton_wire::fault::Kind;
use baton_wire::operation::Operation;
use serde_json::json;

use crate::harness::{Answer, Door, TestNode, User};

async fn get(user: &User, path: &str) -> Answer {
    let request = crate::harness::request("GET", &user.at_origin(path), &[], "");
    user.over(Door::Rest).ask(request).await
}

async fn card(user: &User) -> Answer {
    get(user, "/a2a/echo/.well-known/agent-card.json").await
}

async fn jwks(user: &User) -> Jwks {
    Jwks::parse(get(user, "/.well-known/jwks.json").await.text()).unwrap()
}

/// The names of the keys that sign, each signature checked.
async fn signers(user: &User) -> Vec<String> {
    let (card, keys) = (card(user).await, jwks(user).await);
    let verdicts = verify(card.text(), &keys.keys).unwrap();
    let mut names: Vec<String> = verdicts
        .into_iter()
        .map(|verdict| {
            assert!(verdict.proof.is_ok(), "{verdict:?}");
            verdict.kid.unwrap()
        })
        .collect();
    // Each key signs the card of 1.0 and the whole with the members of 0.3.
    names.sort();
    names.dedup();
    names
}

fn odd(settings: &mut Settings) {
    settings.node.dev = false;
    let echo = settings.agents.get_mut(&AgentName::parse("echo").unwrap()).unwrap();
    echo.description = String::from("Zoë's 🗺️ echo");
    echo.extended_card = true;
    let card = AgentSkill { id: "x".to_owned(), tags: vec!["é".to_owned()], ..AgentSkill::default() };
    echo.skills = vec![Skill { card, to: Audience::Extended }];
}

#[tokio::test]
async fn a_card_is_signed_by_every_key_until_it_is_retired() {
    let node = TestNode::with(odd).await;
    let user = node.anyone("echo");
    let unsigned = card(&user).await;
    assert_eq!(unsigned.ok().get("signatures"), None);
    // The one key that signs webhooks, and none that signs cards.
    assert_eq!(jwks(&user).await.keys.len(), 1);

    for (kid, algorithm) in [("one", "ES256"), ("two", "EdDSA")] {
        let wanted = json!({"kid": kid, "algorithm": algorithm});
        let made = node.operator("POST", "/api/v1/keys", Some(&wanted)).await.ok();
        assert_eq!((&made["kid"], &made["algorithm"]), (&json!(kid), &json!(algorithm)));
        assert_eq!(made["jwk"].get("d"), None);
    }
    assert_eq!(signers(&user).await, ["one", "two"]);
    let signed = card(&user).await;
    let verdicts = verify(signed.text(), &jwks(&user).await.keys).unwrap();
    let proofs: Vec<_> = verdicts.into_iter().map(|verdict| verdict.proof.unwrap()).collect();
    assert_eq!(proofs, [Form::V1, Form::Whole, Form::V1, Form::Whole], "one of each by each key");
    assert_ne!(signed.header("etag"), unsigned.header("etag"));
    assert_eq!(card(&user).await.body, signed.body, "it looks the same as long as it is the same");

    node.operator("DELETE", "/api/v1/keys/one", None).await.ok();
    assert_eq!(signers(&user).await, ["two"]);
    let node = node.restart().await;
    let user = node.anyone("echo");
    assert_eq!(signers(&user).await, ["two"]);
    assert_eq!(jwks(&user).await.keys.len(), 2);
    node.operator("DELETE", "/api/v1/keys/two", None).await.ok();
    assert_eq!(card(&user).await.ok().get("signatures"), None);
    node.finish().await;
}

#[tokio::test]
async fn an_extended_card_is_signed_too() {
    let node = TestNode::with(odd).await;
    node.operator("POST", "/api/v1/keys", Some(&json!({"algorithm": "EdDSA"}))).await.ok();
    let (_, holder) = node.grant(&["echo"], &[Verb::ExtendedCard]).await;
    let keys = jwks(&holder).await.keys;
    for user in holder.doors() {
        let card = user.call(Operation::GetExtendedAgentCard, json!({})).await.ok();
        let verdicts = verify(&card.to_string(), &keys).unwrap();
        let proofs: Vec<_> = verdicts.into_iter().map(|verdict| verdict.proof).collect();
        // A message of 1.0 has the members of 1.0 only.
        let form = if user.door == Door::Grpc { Form::V1 } else { Form::Whole };
        assert_eq!(proofs[0], Ok(form));
    }
    node.finish().await;
}

#[tokio::test]
async fn only_the_operator_changes_keys_and_mistakes_are_named() {
    let node = TestNode::with(odd).await;
    let make = async |kid: &str, algorithm: &str| {
        let wanted = json!({"kid": kid, "algorithm": algorithm});
        node.operator("POST", "/api/v1/keys", Some(&wanted)).await
    };
    assert_eq!(make("../x", "ES256").await.invalid(), "kid");
    assert_eq!(make("a", "HS256").await.invalid(), "algorithm");
    assert_eq!(make("a", "RS256").await.invalid(), "algorithm");
    make("a", "ES256").await.ok();
    assert_eq!(make("a", "ES256").await.invalid(), "kid");
    assert_eq!(node.operator("DELETE", "/api/v1/keys/b", None).await.invalid(), "kid");
    let holder = node.holder("echo").await.over(Door::Rest);
    for (method, path) in [("GET", "/api/v1/keys"), ("DELETE", "/api/v1/keys/a")] {
        let request = crate::harness::request(method, &holder.at_origin(path), &[], "");
        holder.ask(request).await.refused(Kind::PermissionDenied);
    }
    assert_eq!(signers(&node.anyone("echo")).await, ["a"]);
    node.finish().await;
}

//! Tokens of a real OpenID provider.

use std::time::Duration;

use baton::config::settings::{Destination, Issuer, Network};
use baton_store::Verb;
use baton_wire::fault::Kind;
use jsonwebtoken::Algorithm;
use serde_json::json;

use super::Provider;
use super::issuer::contains;
use crate::harness::{TestNode, User, message};

const RESOURCE: &str = "https://agents.example.com/";

#[tokio::test]
async fn its_tokens_reach_a_task() {
    let Some(provider) = Provider::start().await else { return };
    let node = TestNode::with(|settings| {
        settings.node.dev = false;
        settings.net.allow =
            vec![Destination::Network(Network { address: [127, 0, 0, 0].into(), prefix: 8 })];
        settings.auth.issuers = vec![Issuer {
            url: provider.url.clone(),
            audience: ["RS256", "ES256", "PS256"].map(|algorithm| format!("{RESOURCE}{algorithm}")).to_vec(),
            algorithms: vec![Algorithm::RS256, Algorithm::ES256, Algorithm::PS256],
            rules: vec![contains("scope", "agents", "team")],
        }];
    })
    .await;
    let body = json!({"label": "team", "agents": ["echo"], "verbs": Verb::ALL});
    node.operator("POST", "/api/v1/grants", Some(&body)).await.json();
    let with = |token: &str| User::new(node.url(), "echo", Some(token));
    let refused = async |token: &str| with(token).try_send(message("x")).await.refused(Kind::Unauthenticated);

    let mut tasks = Vec::new();
    for algorithm in ["RS256", "ES256", "PS256"] {
        let token = provider.token(&format!("{RESOURCE}{algorithm}"), "agents").await;
        for user in with(&token).doors() {
            tasks.push(user.send(algorithm).await["id"].as_str().unwrap().to_owned());
        }
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let first = if signature.starts_with('A') { 'B' } else { 'A' };
        refused(&format!("{signed}.{first}{}", &signature[1..])).await;
    }
    refused(&provider.token("https://other.example.com/RS256", "agents").await).await;
    refused(&provider.token(&format!("{RESOURCE}RS256"), "other").await).await;

    // New keys, without the old ones.
    let before = provider.token(&format!("{RESOURCE}ES256"), "agents").await;
    provider.post("/rotate", "").await;
    let after = provider.token(&format!("{RESOURCE}ES256"), "agents").await;
    node.clock.advance(Duration::from_secs(31));
    assert_eq!(
        with(&after).list(json!({})).await["totalSize"],
        tasks.len(),
        "the same user with the next token"
    );
    refused(&before).await;

    node.clock.advance(Duration::from_mins(11));
    refused(&after).await;
    let fresh = provider.token(&format!("{RESOURCE}RS256"), "agents").await;
    // Made by a clock that is eleven minutes behind ours, it is over for us already.
    refused(&fresh).await;
    node.finish().await;
}

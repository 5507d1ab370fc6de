//! Operators who sign in at a real OpenID provider, in a real browser, for which it is another site.

use baton::config::settings::{Claim, ClaimTest, ClientSecret, Destination, Oidc};
use jsonwebtoken::Algorithm;
use serde_json::{Value, json};
use url::form_urlencoded::byte_serialize;

use super::super::browser::{Browser, DESKTOP, PHONE, THEMES, Theme};
use crate::authentication::Provider;
use crate::harness::{TestNode, until};

/// A node whose operators are the provider's group `operators`.
async fn node(provider: &Provider, client: &str, secret: Option<&str>) -> TestNode {
    let node = TestNode::with(|settings| {
        settings.node.dev = false;
        settings.net.allow = vec![Destination::Host("localhost".to_owned())];
        settings.console.oidc = Some(Box::new(Oidc {
            issuer: provider.url.clone(),
            client_id: client.to_owned(),
            client_secret: secret.map(ClientSecret::new),
            scopes: vec!["openid".to_owned(), "groups".to_owned()],
            algorithms: vec![Algorithm::RS256],
            operators: vec![Claim {
                path: vec!["groups".to_owned()],
                test: ClaimTest::Contains("operators".into()),
            }],
        }));
    })
    .await;
    let back = format!("{}/console/login/callback", node.url());
    provider
        .post(&format!("/redirect?uri={}", byte_serialize(back.as_bytes()).collect::<String>()), "")
        .await;
    node
}

const SECRET: Option<&str> = Some("of the console: +/&");

async fn go_to_the_provider(browser: &Browser, page: &str) {
    browser.goto(page).await;
    browser.sees("Sign in to this node").await;
    browser.click("button", "Sign in with localhost").await;
    browser.sees("The provider").await;
    assert!(browser.path().await.starts_with("http://localhost:"), "it is another site");
}

async fn be(browser: &Browser, name: &str) {
    browser.write("input[name=name]", name).await;
    browser.click("button", "Sign in").await;
}

async fn arrives(browser: &Browser, at: &str) {
    until(&format!("the page is {at}"), async || browser.path().await == at).await;
}

async fn sign_ins(node: &TestNode) -> Vec<Value> {
    let log = node.operator("GET", "/api/v1/audit?action=console.sign-in", None).await.ok();
    log["rows"].as_array().unwrap().clone()
}

#[tokio::test]
async fn an_operator_signs_in_and_out_and_in_again() {
    let Some(provider) = Provider::start_at("localhost").await else { return };
    let node = node(&provider, "console", SECRET).await;
    if let Some(browser) = Browser::open(&node, Theme::Light, DESKTOP).await {
        go_to_the_provider(&browser, "/console/tasks?state=failed").await;
        browser.keep("oidc-provider").await;
        be(&browser, "ada").await;
        arrives(&browser, "/console/tasks?state=failed").await;
        browser.goto("/console/settings").await;
        browser.sees(&format!("signed in from 127.0.0.1 as ada at {}", provider.url)).await;
        browser.sees("there is one; not shown").await;
        browser.keep("oidc-settings").await;
        browser.is_quiet().await;
        // Nothing that a person can go back to has a code in it.
        let shown = browser.run("return document.referrer + location.href + document.cookie").await;
        assert!(!shown.to_string().contains("code="), "{shown}");
        browser.click("nav button", "Sign out").await;
        browser.sees("Sign in to this node").await;
        // The provider knows this browser still.
        browser.click("button", "Sign in with localhost").await;
        arrives(&browser, "/console").await;
        browser.sees("Nothing needs you.").await;
        let rows = sign_ins(&node).await;
        let who = json!(format!("127.0.0.1 as ada at {}", provider.url));
        assert_eq!(rows.len(), 2);
        for row in rows {
            assert_eq!(
                (&row["actor"], &row["origin"], &row["outcome"]),
                (&json!("operator"), &who, &json!("allowed"))
            );
        }
        browser.close().await;
    }
    node.finish().await;
}

#[tokio::test]
async fn a_public_client_has_no_secret() {
    let Some(provider) = Provider::start_at("localhost").await else { return };
    let node = node(&provider, "console-public", None).await;
    if let Some(browser) = Browser::open(&node, Theme::Dark, PHONE).await {
        go_to_the_provider(&browser, "/console").await;
        be(&browser, "ada").await;
        browser.sees("Nothing needs you.").await;
        browser.fits().await;
        browser.close().await;
    }
    node.finish().await;
}

#[tokio::test]
async fn whoever_is_not_in_the_list_hears_who_they_are() {
    let Some(provider) = Provider::start_at("localhost").await else { return };
    let node = node(&provider, "console", SECRET).await;
    if let Some(browser) = Browser::open(&node, Theme::Light, DESKTOP).await {
        go_to_the_provider(&browser, "/console").await;
        be(&browser, "<b>eve</b>").await;
        browser.sees("You are no operator of this node").await;
        browser.sees(&format!("{} knows you as <b>eve</b>, and that is not", provider.url)).await;
        browser.keep("oidc-not-listed").await;
        browser.goto("/console").await;
        browser.sees("Sign in to this node").await;
        let rows = sign_ins(&node).await;
        let who = json!(format!("127.0.0.1 as <b>eve</b> at {}", provider.url));
        assert_eq!(rows.len(), 1);
        assert_eq!(
            (&rows[0]["actor"], &rows[0]["origin"], &rows[0]["outcome"]),
            (&json!("anonymous"), &who, &json!("refused"))
        );
        // The page of somebody who is refused says so to the log as well.
        browser.forget_log().await;
        browser.close().await;
    }
    node.finish().await;
}

#[tokio::test]
async fn whoever_declines_comes_back_as_nobody() {
    let Some(provider) = Provider::start_at("localhost").await else { return };
    let node = node(&provider, "console", SECRET).await;
    if let Some(browser) = Browser::open(&node, Theme::Light, DESKTOP).await {
        go_to_the_provider(&browser, "/console").await;
        browser.click("button", "Decline").await;
        browser.sees("localhost says that you did not agree").await;
        browser.keep("oidc-declined").await;
        browser.click("a", "Sign in").await;
        browser.click("button", "Sign in with localhost").await;
        be(&browser, "ada").await;
        browser.sees("Nothing needs you.").await;
        browser.forget_log().await;
        browser.close().await;
    }
    node.finish().await;
}

/// The provider is there beside the link, and the link works as it did.
#[tokio::test]
async fn the_page_offers_both_ways() {
    let Some(provider) = Provider::start_at("localhost").await else { return };
    let node = node(&provider, "console", SECRET).await;
    for theme in THEMES {
        for screen in [DESKTOP, PHONE] {
            let Some(browser) = Browser::open(&node, theme, screen).await else { continue };
            browser.goto("/console").await;
            browser.sees("Sign in with localhost").await;
            browser.sees("baton login").await;
            browser.fits().await;
            let on = if screen == PHONE { "phone" } else { "desk" };
            browser.keep(&format!("oidc-login-{on}-{}", theme.name())).await;
            browser.close().await;
        }
    }
    if let Some(browser) = Browser::signed_in(&node, Theme::Light, DESKTOP).await {
        browser.close().await;
    }
    node.finish().await;
}

//! A client asks for access in a real browser: it comes from the client's side, decides, and goes back there.

use axum::body::Body;

use super::browser::{Browser, DESKTOP, Hand, PHONE, THEMES};
use super::world::{self, HOSTILE};
use crate::authentication::asking::{BACK, Program, Tokens, register};
use crate::harness::{TestNode, until};
use crate::script::{Asked, Server};

/// What listens at the address where the client wants to hear.
async fn listener() -> Server {
    Server::start(|_, _, _| http::Response::new(Body::from("You can close this page."))).await
}

/// What the browser brought there.
async fn brought(listener: &Server) -> Vec<(String, String)> {
    until("the browser came back", async || !listener.asked_for("GET /back").is_empty()).await;
    let Asked { line, headers, .. } = listener.asked_for("GET /back").pop().unwrap();
    assert!(headers.get("referer").is_none(), "{headers:?}");
    let url = url::Url::parse(&format!("http://x{}", line.split(' ').nth(1).unwrap())).unwrap();
    url.query_pairs().into_owned().collect()
}

fn value<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
}

fn asks(node: &TestNode, program: &Program, listener: &Server) -> String {
    let (back, resource) = (format!("{}/back?a=b", listener.url), format!("{}/mcp", node.url()));
    let change = [("redirect_uri", &*back), ("resource", &*resource), ("scope", "send read cancel work")];
    format!("/oauth/authorize?{}", program.query(&change))
}

#[tokio::test]
async fn an_operator_allows_a_client() {
    for (theme, hand) in THEMES.into_iter().flat_map(|theme| [(theme, Hand::Mouse), (theme, Hand::Keyboard)])
    {
        let (node, listener) = (world::node().await, listener().await);
        let program = Program::new(&node).await;
        if let Some(browser) = Browser::signed_in(&node, theme, DESKTOP).await.map(|it| it.by(hand)) {
            let name = |page: &str| format!("consent-{page}-{}-{hand:?}", theme.name()).to_lowercase();
            browser.goto(&asks(&node, &program, &listener)).await;
            browser.sees("Desk asks for access").await;
            browser.sees("a program on the computer where this browser runs").await;
            browser.keep(&name("asks")).await;
            browser.toggle("[name=agent][value=echo]").await;
            let ticked = browser.run(
                "return [...document.querySelectorAll('[name=verb]:checked')].map((it) => it.value).join()",
            );
            assert_eq!(ticked.await, "send,read,cancel", "everybody's tasks are for a person to give");
            browser.press("button", "What would it allow?").await;
            browser.sees("Nothing is made yet.").await;
            browser.keep(&name("look")).await;
            browser.press("button", "Approve").await;
            let pairs = brought(&listener).await;
            browser.sees("You can close this page.").await;
            assert_eq!((value(&pairs, "a"), value(&pairs, "state")), (Some("b"), Some("st&te")));
            assert_eq!(value(&pairs, "iss"), Some(node.url()));
            let back = format!("{}/back?a=b", listener.url);
            let code = value(&pairs, "code").unwrap();
            let tokens = Tokens::of(&program.redeem_with(code, &[("redirect_uri", &back)]).await);
            assert_eq!(tokens.scope, "send read cancel");
            browser.goto("/console/grants").await;
            browser.sees("Signed in by the browser").await;
            browser.keep(&name("grants")).await;
            browser.press("a", "MCP: Desk").await;
            browser.sees("Signed in by the browser").await;
            browser.keep(&name("grant")).await;
            browser.press("button", "End its access").await;
            browser.sees("Desk is signed out.").await;
            assert_eq!(program.refresh(&tokens.refresh, &[]).await.status, 400);
            browser.close().await;
        }
        node.finish().await;
    }
}

#[tokio::test]
async fn an_operator_refuses_on_a_phone() {
    for theme in THEMES {
        let (node, listener) = (world::node().await, listener().await);
        let program = Program::new(&node).await;
        if let Some(browser) = Browser::open(&node, theme, PHONE).await {
            let name = |page: &str| format!("consent-{page}-phone-{}", theme.name());
            // Whoever is not signed in does that first, and is asked then.
            browser.goto(&asks(&node, &program, &listener)).await;
            browser.sees("Sign in to this node").await;
            browser.fill("[name=code]", &super::code(&node).await).await;
            browser.press("button", "Sign in").await;
            browser.sees("Desk asks for access").await;
            browser.fits().await;
            browser.keep(&name("asks")).await;
            browser.press("button", "Deny").await;
            let pairs = brought(&listener).await;
            assert_eq!((value(&pairs, "error"), value(&pairs, "code")), (Some("access_denied"), None));
            browser.is_quiet().await;
            // A client that makes a mistake, and a way back that is the person's to take.
            let wrong = asks(&node, &program, &listener).replace("S256", "plain");
            browser.goto(&wrong).await;
            browser.sees("This is no request that can be answered").await;
            browser.fits().await;
            browser.keep(&name("wrong")).await;
            // The answer to that is an error, which the browser says.
            browser.forget_log().await;
            // Somebody whose name means no good.
            let name = HOSTILE.chars().take(170).collect::<String>();
            let metadata = serde_json::json!({"client_name": name, "redirect_uris": [BACK]});
            let answer = register(&node, &metadata).await.json();
            let hostile = Program::known_as(&node, answer["client_id"].as_str().unwrap());
            browser.goto(&asks(&node, &hostile, &listener)).await;
            browser.sees("asks for access").await;
            browser.fits().await;
            assert!(browser.title().await.starts_with("<img src=x"), "it is text");
            browser.keep(&format!("consent-hostile-phone-{}", theme.name())).await;
            browser.close().await;
        }
        let found = node.operator("GET", "/api/v1/grants", None).await.ok();
        assert_eq!(found["grants"], serde_json::json!([]));
        node.finish().await;
    }
}

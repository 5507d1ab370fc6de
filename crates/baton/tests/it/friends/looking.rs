//! What the operator's look finds of who asks, and what it cannot be made to do.

use serde_json::{Value, json};

use super::{Asked, Document, Home, ask, node, wish};
use crate::authentication::Issuer;
use crate::harness::{TestNode, logs};
use crate::script;

/// A look: what was found.
async fn look(node: &TestNode, asked: &Asked) -> Value {
    asked.operate(node, "look", None).await.ok()["look"].take()
}

/// A card at its own server.
fn card(home: &Home) -> Value {
    script::card(&home.server.url, &[("JSONRPC", "1.0")], false)
}

/// Another node that asks, by the card of its agent `echo`.
async fn stranger() -> (TestNode, String) {
    let node = node(|_| {}).await;
    let url = format!("{}/a2a/echo/.well-known/agent-card.json", node.url());
    (node, url)
}

async fn sign(node: &TestNode, kid: &str) {
    let key = json!({"kid": kid, "algorithm": "EdDSA"});
    node.operator("POST", "/api/v1/keys", Some(&key)).await.ok();
}

#[tokio::test]
async fn an_unsigned_card_is_kept_with_its_time() {
    let node = node(|_| {}).await;
    let home = Home::open().await;
    home.put_card(&card(&home));
    let asked = ask(&node, &wish(&home.card())).await;
    assert_eq!((home.hits(), asked.shown(&node).await.get("look")), (0, None));
    let found = look(&node, &asked).await;
    let seen = &found["card"];
    assert_eq!((&seen["name"], &seen["atHome"]), (&json!("scripted"), &json!(true)));
    assert_eq!((&seen["signature"], &seen["standing"]), (&json!("unsigned"), &json!("new")));
    assert_eq!(seen["document"], card(&home));
    assert_eq!(home.hits(), 1, "the card alone");
    assert_eq!(asked.shown(&node).await["look"], found, "what was found is kept");
    assert_eq!(home.hits(), 1, "showing it fetches nothing");
    let listed = node.operator("GET", "/api/v1/friend-requests", None).await.ok();
    assert_eq!(listed["requests"][0]["look"]["card"].get("document"), None);

    // What is kept is told apart from what is there now.
    let mut other = card(&home);
    other["description"] = "Another".into();
    home.put_card(&other);
    for _ in 0..2 {
        let changed = look(&node, &asked).await;
        assert_eq!(
            (&changed["card"]["standing"], &changed["card"]["changed"]),
            (&json!("changed"), &json!("content"))
        );
        assert_eq!(changed["card"]["since"], found["at"]);
    }
    // A friend is a friend: nothing is fetched any more.
    asked.approve(&node).await;
    let hits = home.hits();
    assert_eq!(look(&node, &asked).await["card"]["document"], other);
    assert_eq!(home.hits(), hits);
    node.finish().await;
}

/// A card that its own server signs; once it was a friend's, another key is seen.
#[tokio::test]
async fn a_signed_card_is_pinned_by_its_key() {
    let (node, (other, url)) = (node(|_| {}).await, stranger().await);
    sign(&other, "one").await;
    let first = ask(&node, &wish(&url)).await;
    let seen = look(&node, &first).await["card"].take();
    assert_eq!(
        (&seen["signature"], &seen["kid"], &seen["standing"]),
        (&json!("signed"), &json!("one"), &json!("new"))
    );
    first.approve(&node).await;

    let again = ask(&node, &wish(&url)).await;
    let same = look(&node, &again).await["card"].take();
    assert_eq!((&same["standing"], &same["key"]), (&json!("pinned"), &seen["key"]));
    sign(&other, "two").await;
    other.operator("DELETE", "/api/v1/keys/one", None).await.ok();
    let changed = look(&node, &again).await["card"].take();
    assert_eq!((&changed["standing"], &changed["changed"]), (&json!("changed"), &json!("key")));
    assert_ne!(changed["key"], seen["key"]);
    other.operator("DELETE", "/api/v1/keys/two", None).await.ok();
    let unsigned = look(&node, &again).await["card"].take();
    assert_eq!((&unsigned["changed"], &unsigned["signature"]), (&json!("unsigned"), &json!("unsigned")));
    other.finish().await;
    node.finish().await;
}

/// A signature counts only by a key that the card's own server publishes.
#[tokio::test]
async fn a_copied_or_changed_card_proves_nothing() {
    let (node, (other, url)) = (node(|_| {}).await, stranger().await);
    sign(&other, "one").await;
    let user = other.anyone("echo");
    let mut copied = user.ask(user.raw("GET", "/.well-known/agent-card.json", "")).await.json();
    let home = Home::open().await;
    home.put_card(&copied);
    let asked = ask(&node, &wish(&home.card())).await;
    let seen = look(&node, &asked).await["card"].take();
    assert_eq!((&seen["signature"], &seen["atHome"]), (&json!("unproven"), &json!(false)));
    assert!(seen.get("key").is_none() && seen["signatureProblem"].is_string(), "{seen}");
    let keys =
        user.ask(crate::harness::request("GET", &user.at_origin("/.well-known/jwks.json"), &[], "")).await;
    home.put("/.well-known/jwks.json", Document::Json(keys.text().to_owned()));
    assert_eq!(look(&node, &asked).await["card"]["signature"], "signed");
    copied["name"] = "Somebody else".into();
    home.put_card(&copied);
    assert_eq!(look(&node, &asked).await["card"]["signature"], "unproven");
    let signature = copied["signatures"][0].clone();
    copied["signatures"] = json!(vec![signature; 17]);
    home.put_card(&copied);
    let many = look(&node, &asked).await["card"].take();
    assert!(many["signatureProblem"].as_str().unwrap().contains("17 signatures"), "{many}");
    assert!(!url.is_empty());
    other.finish().await;
    node.finish().await;
}

#[tokio::test]
async fn what_is_no_card_is_said_and_no_redirect_is_followed() {
    let node = node(|_| {}).await;
    let (home, victim) = (Home::open().await, Home::open().await);
    let asked = ask(&node, &wish(&home.card())).await;
    let problem = async || look(&node, &asked).await["problem"].as_str().unwrap().to_owned();
    assert!(problem().await.contains("no agent card"));
    for document in ["{}", "[1]", "not json", r#"{"name":""}"#] {
        home.put("/card.json", Document::Json(document.into()));
        assert!(problem().await.contains("no agent card"), "{document}");
    }
    home.put("/card.json", Document::Json(format!("{{\"name\":\"{}\"}}", "x".repeat(300_000))));
    assert!(problem().await.contains("larger than"));
    victim.put_card(&card(&victim));
    home.put("/card.json", Document::Redirect(victim.card()));
    assert!(problem().await.contains("redirect"));
    assert_eq!(victim.hits(), 0);
    assert_eq!(asked.shown(&node).await["state"], "pending");
    node.finish().await;
}

/// The node goes nowhere inside, whatever a stranger names and whoever looks.
#[tokio::test]
async fn a_card_inside_is_not_fetched() {
    let node = node(|settings| settings.net.allow.clear()).await;
    let home = Home::open().await;
    home.put_card(&card(&home));
    let port = home.server.url.rsplit(':').next().unwrap();
    for host in [
        "127.0.0.1",
        "0x7f000001",
        "2130706433",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "localhost",
        "169.254.169.254",
    ] {
        node.clock.advance(std::time::Duration::from_hours(1));
        let asked = ask(&node, &wish(&format!("http://{host}:{port}/card.json"))).await;
        let found = look(&node, &asked).await;
        assert!(found["problem"].as_str().unwrap().contains("sends nothing"), "{host}: {found}");
        asked.operate(&node, "deny", None).await.ok();
    }
    assert_eq!(home.hits(), 0);
    node.finish().await;
}

/// An ID token says who asks, where an issuer that the operator trusts made it for this node.
#[tokio::test]
async fn an_id_token_says_who_asks() {
    let issuer = Issuer::start().await;
    let node = node(|settings| issuer.trusted(settings, Vec::new())).await;
    let home = Home::open().await;
    for (change, value, proven) in [
        ("sub", json!("ada"), true),
        ("exp", json!(1_000), false),
        ("aud", json!("https://elsewhere.example"), false),
        ("iss", json!("https://elsewhere.example"), false),
    ] {
        let mut claims = issuer.claims(node.clock.now().as_millis() / 1_000, "ada");
        claims[change] = value;
        let token = issuer.sign("ed", &claims);
        let mut body = wish(&home.card());
        body["idToken"] = json!(token);
        let asked = ask(&node, &body).await;
        assert_eq!(asked.shown(&node).await["hasIdToken"], true);
        // It was good when it came, whenever it is looked at.
        node.clock.advance(std::time::Duration::from_hours(1));
        let found = look(&node, &asked).await["idToken"].take();
        assert_eq!(found["proven"], proven, "{claims}: {found}");
        if proven {
            assert_eq!((&found["issuer"], &found["subject"]), (&json!(issuer.url()), &json!("ada")));
        }
        asked.operate(&node, "deny", None).await.ok();
        let shown = asked.shown(&node).await;
        assert_eq!(
            (&shown["hasIdToken"], &shown["look"]["idToken"]["proven"]),
            (&json!(false), &json!(proven))
        );
    }
    node.finish().await;
}

/// What a stranger sends along as a proof is sealed, and gone with the decision.
#[tokio::test]
async fn an_id_token_is_kept_as_a_secret() {
    let node = node(|_| {}).await;
    let home = Home::open().await;
    let token = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl";
    let mut body = wish(&home.card());
    body["idToken"] = token.into();
    let asked = ask(&node, &body).await;
    let found = look(&node, &asked).await;
    assert_eq!(found["idToken"]["proven"], false);
    let file = std::fs::read(node.folder().join("data/baton.db-wal")).unwrap();
    assert!(!file.windows(token.len()).any(|part| part == token.as_bytes()), "sealed at rest");
    asked.operate(&node, "deny", None).await.ok();
    assert_eq!(asked.shown(&node).await["hasIdToken"], false);
    let logged = logs::logged();
    assert!(!logged.contains(token) && !logged.contains(&asked.secret));
    node.finish().await;
}

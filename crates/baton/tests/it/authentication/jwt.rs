//! Tokens of issuers: whose grant they open, and all that makes one worth nothing.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use baton::keys::{Algorithm, SecretKey};
use baton_store::Verb;
use baton_wire::fault::Kind;
use serde_json::{Value, json};

use super::ending::{do_not_meet, is_cut};
use super::issuer::{AUDIENCE, Issuer, contains, token};
use crate::harness::{Attempt, DOORS, TestNode, User, message, until};

/// A node that trusts an issuer: who is in the group `agents` has the grant `team`.
async fn start(issuer: &Issuer) -> TestNode {
    let node = TestNode::with(|settings| {
        issuer.trusted(
            settings,
            vec![contains("groups", "agents", "team"), contains("groups", "others", "nobody's")],
        );
    })
    .await;
    make(&node, "team").await;
    node
}

async fn make(node: &TestNode, label: &str) -> String {
    let body = json!({"label": label, "agents": ["echo", "script"], "verbs": Verb::ALL});
    let made = node.operator("POST", "/api/v1/grants", Some(&body)).await.json();
    made["id"].as_str().unwrap().to_owned()
}

fn now(node: &TestNode) -> i64 {
    node.clock.now().as_millis() / 1_000
}

fn with(node: &TestNode, token: &str) -> User {
    User::new(node.url(), "echo", Some(token))
}

fn changed(mut claims: Value, name: &str, value: Value) -> Value {
    claims[name] = value;
    claims
}

#[tokio::test]
async fn a_token_opens_the_grant_that_a_rule_names() {
    let issuer = Issuer::start().await;
    let node = start(&issuer).await;
    for kid in ["es", "ed"] {
        for door in DOORS {
            let claims = issuer.claims(now(&node), kid);
            let user = with(&node, &issuer.sign(kid, &claims)).over(door);
            let task = user.send("hello").await;
            assert_eq!(user.state(task["id"].as_str().unwrap()).await, "COMPLETED");
            // The next token of the same user is the same owner.
            let next = issuer.sign("es", &changed(claims, "aud", json!(["x", "baton"])));
            assert_eq!(with(&node, &next).state(task["id"].as_str().unwrap()).await, "COMPLETED");
        }
    }
    assert_eq!(issuer.times_asked(), 1);
    node.finish().await;
}

/// Claims that prove nothing, though their issuer signed them.
fn wrong_claims(issuer: &Issuer, at: i64) -> Vec<(&'static str, Value)> {
    let good = issuer.claims(at, "ada");
    let without = |name: &str| {
        let mut claims = good.clone();
        claims.as_object_mut().unwrap().remove(name);
        claims
    };
    let of = |name: &str, value: Value| changed(good.clone(), name, value);
    vec![
        ("expired", of("exp", json!(at - 31))),
        ("without an end", without("exp")),
        ("with an end that is none", of("exp", json!("tomorrow"))),
        ("not yet", of("nbf", json!(at + 60))),
        ("with a begin that is none", of("nbf", json!("now"))),
        ("of the future", of("iat", json!(at + 60))),
        ("of no time", without("iat")),
        ("for another", of("aud", json!("https://other.example.com"))),
        ("for several others", of("aud", json!(["a", "b"]))),
        ("for nobody", without("aud")),
        ("for a number", of("aud", json!(7))),
        ("of another issuer", of("iss", json!("https://evil.example.com"))),
        ("of several issuers", of("iss", json!([issuer.url()]))),
        ("of an issuer with a slash", of("iss", json!(format!("{}/", issuer.url())))),
        ("of no issuer", without("iss")),
        ("about nobody", without("sub")),
        ("about nothing", of("sub", json!(""))),
        ("about a number", of("sub", json!(1))),
        ("in no group", without("groups")),
        ("in another group", of("groups", json!(["Agents", "agents2"]))),
        ("in a group without a grant", of("groups", json!(["others"]))),
    ]
}

/// Tokens with good claims that prove nothing.
fn wrong_tokens(issuer: &Issuer, at: i64) -> Vec<(&'static str, String)> {
    let (good, key) = (issuer.claims(at, "ada"), issuer.key("es"));
    let header = json!({"alg": "ES256", "kid": "es", "typ": "JWT"});
    let with_header = |name: &str, value: Value| token(&changed(header.clone(), name, value), &good, &key);
    let other = SecretKey::generate(Algorithm::Es256).unwrap();
    let encode = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
    let whole = token(&header, &good, &key);
    let (signed, signature) = whole.rsplit_once('.').unwrap();
    vec![
        ("signed by another", token(&header, &good, &other)),
        ("that brings its key along", {
            let jwk = json!({"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"});
            token(&changed(changed(header.clone(), "jwk", jwk), "kid", json!("mine")), &good, &other)
        }),
        ("by a key of another kind", with_header("kid", json!("ed"))),
        ("by an unknown key", with_header("kid", json!("unknown"))),
        ("that demands something", with_header("crit", json!(["exp"]))),
        ("that demands b64", {
            token(&changed(changed(header.clone(), "crit", json!(["b64"])), "b64", json!(true)), &good, &key)
        }),
        ("that demands nothing", with_header("crit", json!([]))),
        ("for logging out", with_header("typ", json!("logout+jwt"))),
        ("that is no algorithm's", with_header("alg", json!("none"))),
        ("of a shared secret", with_header("alg", json!("HS256"))),
        ("of an algorithm that is not taken", with_header("alg", json!("ES384"))),
        ("without a signature", format!("{signed}.")),
        ("with another's claims", {
            let claims = encode(&changed(good.clone(), "sub", json!("eve")).to_string());
            format!("{}.{claims}.{signature}", signed.split_once('.').unwrap().0)
        }),
        ("that is unsigned", format!("{}.{}.", encode(r#"{"alg":"none"}"#), encode(&good.to_string()))),
        ("of two parts", signed.to_owned()),
        ("of four parts", format!("{whole}.x")),
        ("that is no base64", "a.b.c".to_owned()),
        ("that is too long", {
            token(&header, &changed(good.clone(), "more", json!("x".repeat(10_000))), &key)
        }),
    ]
}

#[tokio::test]
async fn what_proves_nothing_is_refused() {
    let issuer = Issuer::start().await;
    let node = start(&issuer).await;
    let at = now(&node);
    let claims = wrong_claims(&issuer, at).into_iter();
    let signed = claims.map(|(what, claims)| (what, issuer.sign("es", &claims)));
    for (what, token) in signed.chain(wrong_tokens(&issuer, at)) {
        for user in with(&node, &token).doors() {
            eprintln!("one {what}, over {:?}", user.door);
            user.try_send(message(what)).await.refused(Kind::Unauthenticated);
        }
    }
    with(&node, &issuer.sign("es", &issuer.claims(at, "ada"))).send("but this one").await;
    node.finish().await;
}

/// A clock may be half a minute off; a header may say less.
#[tokio::test]
async fn what_is_good_enough() {
    let issuer = Issuer::start().await;
    let node = start(&issuer).await;
    let (at, key) = (now(&node), issuer.key("es"));
    let good = issuer.claims(at, "ada");
    for claims in [
        changed(good.clone(), "exp", json!(at - 20)),
        changed(good.clone(), "iat", json!(at + 20)),
        changed(good.clone(), "nbf", json!(at + 20)),
        changed(good.clone(), "exp", json!(f64::from(u32::try_from(at).unwrap()) + 100.5)),
    ] {
        with(&node, &issuer.sign("es", &claims)).send("x").await;
    }
    for header in [
        json!({"alg": "ES256", "kid": "es"}),
        // Of this kind there is one key only.
        json!({"alg": "ES256"}),
        json!({"alg": "ES256", "kid": "es", "typ": "at+jwt"}),
        json!({"alg": "ES256", "kid": "es", "typ": "application/at+JWT", "x5t": "x"}),
    ] {
        with(&node, &token(&header, &good, &key)).send("x").await;
    }
    node.finish().await;
}

#[tokio::test]
async fn users_of_one_issuer_do_not_meet() {
    let (issuer, other) = (Issuer::start().await, Issuer::start().await);
    let node = TestNode::with(|settings| {
        issuer.trusted(settings, vec![contains("groups", "agents", "team")]);
        other.trusted(settings, vec![contains("groups", "agents", "team")]);
    })
    .await;
    make(&node, "team").await;
    let user = |issuer: &Issuer, kid: &str, subject: &str| {
        with(&node, &issuer.sign(kid, &issuer.claims(now(&node), subject)))
    };
    let (ada, again) = (user(&issuer, "es", "ada"), user(&issuer, "ed", "ada"));
    do_not_meet(&node, &ada, &user(&issuer, "es", "bob"), &again).await;
    let listed = user(&other, "es", "ada").list(json!({})).await;
    assert_eq!(listed["totalSize"], 0, "the same name at another issuer is another user");
    node.finish().await;
}

#[tokio::test]
async fn the_grant_acts_on_all_of_them_at_once() {
    let issuer = Issuer::start().await;
    let node =
        TestNode::with(|settings| issuer.trusted(settings, vec![contains("groups", "agents", "team")])).await;
    for door in DOORS {
        let grant = make(&node, "team").await;
        let users = ["ada", "bob"].map(|name| {
            with(&node, &issuer.sign("es", &issuer.claims(now(&node), name))).over(door).to("script")
        });
        let mut open = Vec::new();
        for user in &users {
            let stream = user.stream("x").await;
            open.push((stream, node.attempt("script").await));
        }
        node.operator("POST", &format!("/api/v1/grants/{grant}/pause"), None).await.json();
        let mut attempts = Vec::new();
        for (stream, attempt) in open {
            is_cut(stream).await;
            attempts.push(attempt);
        }
        for user in &users {
            user.try_send(message("x")).await.refused(Kind::GrantPaused);
        }
        node.operator("POST", &format!("/api/v1/grants/{grant}/resume"), None).await.json();
        let stopped = futures_util::future::join_all(attempts.into_iter().map(Attempt::stops));
        tokio::join!(node.revoke(&grant), stopped);
        for user in &users {
            user.try_send(message("x")).await.refused(Kind::Unauthenticated);
        }
    }
    node.finish().await;
}

#[tokio::test]
async fn a_stream_ends_with_its_token() {
    let issuer = Issuer::start().await;
    let node = start(&issuer).await;
    let claims = issuer.claims(now(&node), "ada");
    let user = with(&node, &issuer.sign("es", &claims)).over(crate::harness::Door::Grpc).to("script");
    let stream = user.stream("x").await;
    let attempt = node.attempt("script").await;
    node.clock.advance(Duration::from_secs(331));
    is_cut(stream).await;
    user.try_send(message("x")).await.refused(Kind::Unauthenticated);
    let fresh = with(&node, &issuer.sign("es", &issuer.claims(now(&node), "ada"))).to("script");
    assert_eq!(fresh.state(&attempt.task()).await, "WORKING");
    attempt.complete().await;
    node.finish().await;
}

#[tokio::test]
async fn new_keys_are_fetched_and_old_ones_let_go() {
    let issuer = Issuer::start().await;
    let node = start(&issuer).await;
    let send = async |token: &str| with(&node, token).try_send(message("x")).await.status;
    assert_eq!(send(&issuer.sign("es", &issuer.claims(now(&node), "ada"))).await, 200);

    issuer.add("new", Algorithm::Es256);
    let by_new = issuer.sign("new", &issuer.claims(now(&node), "ada"));
    assert_eq!(send(&by_new).await, 401, "it was asked a moment ago");
    node.clock.advance(Duration::from_secs(31));
    assert_eq!(send(&by_new).await, 200);
    assert_eq!(issuer.times_asked(), 2);

    let old = issuer.withdraw("es");
    let header = json!({"alg": "ES256", "kid": "es"});
    let by_old = token(&header, &issuer.claims(now(&node), "ada"), &old);
    assert_eq!(send(&by_old).await, 200, "nobody looked yet");
    node.clock.advance(Duration::from_secs(31));
    let unknown = token(&json!({"alg": "ES256", "kid": "x"}), &issuer.claims(now(&node), "ada"), &old);
    assert_eq!(send(&unknown).await, 401);
    assert_eq!(send(&by_old).await, 401, "what was fetched is all there is");
    assert_eq!(send(&by_new).await, 200);
    node.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn however_many_keys_are_made_up_it_is_asked_once() {
    let issuer = Issuer::start().await;
    let node = start(&issuer).await;
    with(&node, &issuer.sign("es", &issuer.claims(now(&node), "ada"))).send("x").await;
    node.clock.advance(Duration::from_secs(31));
    let key = SecretKey::generate(Algorithm::Es256).unwrap();
    let tries = (0..40).map(|n| {
        let header = json!({"alg": "ES256", "kid": format!("made up {n}")});
        let user = with(&node, &token(&header, &issuer.claims(now(&node), "eve"), &key));
        async move { user.try_send(message("x")).await.refused(Kind::Unauthenticated) }
    });
    futures_util::future::join_all(tries).await;
    assert_eq!(issuer.times_asked(), 2, "at the start, and once more");
    with(&node, &issuer.sign("es", &issuer.claims(now(&node), "ada"))).send("x").await;
    node.finish().await;
}

#[tokio::test]
async fn an_issuer_that_cannot_be_reached() {
    let issuer = Issuer::start().await;
    issuer.go_down(true);
    let node = start(&issuer).await;
    let good = || issuer.sign("es", &issuer.claims(now(&node), "ada"));
    for user in with(&node, &good()).doors() {
        user.try_send(message("x")).await.refused(Kind::Unavailable);
    }
    let made_up =
        token(&json!({"alg": "ES256"}), &json!({"iss": "https://evil.example.com"}), &issuer.key("es"));
    with(&node, &made_up).try_send(message("x")).await.refused(Kind::Unauthenticated);
    issuer.go_down(false);
    node.clock.advance(Duration::from_secs(31));
    with(&node, &good()).send("x").await;

    // What was had is good for a day.
    issuer.go_down(true);
    node.clock.advance(Duration::from_hours(23));
    with(&node, &good()).send("x").await;
    node.clock.advance(Duration::from_hours(2));
    with(&node, &good()).try_send(message("x")).await.refused(Kind::Unavailable);
    node.finish().await;
}

/// What an issuer publishes is looked at as critically as what it signs.
#[tokio::test]
async fn what_an_issuer_publishes() {
    let issuer = Issuer::start().await;
    issuer.say(json!({"issuer": "https://other.example.com", "jwks_uri": format!("{}/keys", issuer.url())}));
    let node = start(&issuer).await;
    let good = || issuer.sign("es", &issuer.claims(now(&node), "ada"));
    with(&node, &good()).try_send(message("x")).await.refused(Kind::Unavailable);
    assert_eq!(issuer.times_asked(), 0, "its document is another's");
    issuer.say(Value::Null);

    let own = serde_json::to_value(baton::keys::Jwk {
        kid: Some("es".to_owned()),
        algorithm: None,
        key: issuer.key("es").public(),
    })
    .unwrap();
    let with_own = |name: &str, value: Value| json!({"keys": [changed(own.clone(), name, value)]});
    for (set, good_then) in [
        (with_own("use", json!("enc")), false),
        (with_own("alg", json!("RSA-OAEP")), false),
        (with_own("alg", json!("RS256")), false),
        (with_own("key_ops", json!(["sign"])), false),
        (json!({"keys": [{"kty": "oct", "kid": "es", "k": "AAAA"}]}), false),
        (json!({"keys": []}), false),
        (json!({"keys": [7, {"kty": "XX", "kid": "es"}, own.clone()]}), true),
        (with_own("more", json!("x".repeat(300_000))), true),
    ] {
        issuer.publish(set.clone());
        node.clock.advance(Duration::from_secs(31));
        // A key that nobody has makes the node look again.
        let asked = issuer.times_asked();
        let unknown =
            token(&json!({"alg": "ES256", "kid": "x"}), &issuer.claims(now(&node), "x"), &issuer.key("es"));
        with(&node, &unknown).try_send(message("x")).await;
        until("it was asked", async || issuer.times_asked() > asked).await;
        let status = with(&node, &good()).try_send(message("x")).await.status;
        assert_eq!(
            status == 200,
            good_then,
            "{}: {status}",
            &set.to_string()[..60.min(set.to_string().len())]
        );
    }
    let wrong = changed(issuer.claims(now(&node), "ada"), "aud", json!([AUDIENCE, "x"]));
    with(&node, &issuer.sign("es", &wrong)).send("one of several audiences is enough").await;
    node.finish().await;
}

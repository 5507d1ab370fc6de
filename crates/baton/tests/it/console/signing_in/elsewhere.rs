//! Signing in at a provider that a test plays: what it and others may say, and who gets in by it.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use baton::config::settings::{Claim, ClaimTest, ClientSecret, Destination, Network, Oidc, Settings};
use baton::keys::{Algorithm, SecretKey};
use baton_store::{Per, Rate};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;

use super::super::{Person, form};
use crate::authentication::{Issuer, token};
use crate::harness::{Answer, TestNode, logs};

const CLIENT: &str = "console of agents.example.com";
const SECRET: &str = "pa:ss wörd-less+";
const OPERATOR: &str = "248289761001";

fn trust(settings: &mut Settings, issuer: &Issuer) {
    settings.node.dev = false;
    settings.net.allow = vec![Destination::Network(Network { address: [127, 0, 0, 0].into(), prefix: 8 })];
    settings.console.oidc = Some(Box::new(Oidc {
        issuer: issuer.url().to_owned(),
        client_id: CLIENT.to_owned(),
        client_secret: Some(ClientSecret::new(SECRET)),
        scopes: vec!["openid".to_owned(), "email".to_owned()],
        algorithms: vec![jsonwebtoken::Algorithm::ES256],
        operators: vec![Claim {
            path: vec!["sub".to_owned()],
            test: ClaimTest::OneOf(vec![OPERATOR.into()]),
        }],
    }));
}

async fn start(issuer: &Issuer) -> TestNode {
    TestNode::with(|settings| trust(settings, issuer)).await
}

/// A sign-in that has begun, in a browser of its own.
struct Begun {
    person: Person,
    there: Url,
}

impl Begun {
    async fn new(node: &TestNode) -> Self {
        Self::wanting(node, "/console").await
    }

    async fn wanting(node: &TestNode, page: &str) -> Self {
        let mut person = Person::stranger(node);
        let answer = person.post("/console/login/oidc", &[("to", page)]).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        person.keep(&answer);
        let there = leads_to(&answer).parse().unwrap();
        Self { person, there }
    }

    fn says(&self, name: &str) -> String {
        let mut pairs = self.there.query_pairs().filter(|(known, _)| known == name);
        let (_, value) = pairs.next().unwrap_or_else(|| panic!("{name} is in {}", self.there));
        assert!(pairs.next().is_none());
        value.into_owned()
    }

    /// The claims of an ID token for this sign-in.
    fn claims(&self, node: &TestNode, issuer: &Issuer, subject: &str) -> Value {
        let now = node.clock.now().as_millis() / 1_000;
        json!({"iss": issuer.url(), "aud": CLIENT, "sub": subject, "iat": now, "exp": now + 300, "nonce": self.says("nonce")})
    }

    /// Comes back with a code, for which the provider has a token with these claims.
    async fn back(&self, issuer: &Issuer, claims: &Value) -> Answer {
        issuer.grant(
            200,
            json!({"id_token": issuer.sign("es", claims), "access_token": "x", "token_type": "Bearer"}),
        );
        self.come_back(&[("code", "c0de"), ("state", &self.says("state"))]).await
    }

    async fn come_back(&self, fields: &[(&str, &str)]) -> Answer {
        self.person.get(&format!("/console/login/callback?{}", form(fields))).await
    }
}

/// Where a page goes on to by itself.
fn leads_to(answer: &Answer) -> String {
    let (_, rest) = answer.text().split_once("http-equiv=\"refresh\" content=\"0;url=").expect("it goes on");
    let to = rest.split('"').next().unwrap().replace("&amp;", "&");
    assert!(answer.text().contains(&format!("href=\"{}\"", to.replace('&', "&amp;"))), "and so can a person");
    to
}

/// The session that an answer opens.
fn opens(answer: &Answer) -> Option<String> {
    let set = answer.headers.get_all("set-cookie").iter().map(|value| value.to_str().unwrap().to_owned());
    set.into_iter().find(|cookie| cookie.contains("SameSite=Strict"))
}

#[track_caller]
fn refused(answer: &Answer, status: u16, says: &str) {
    assert_eq!(answer.status, status, "{answer:?}");
    assert!(answer.text().contains(says), "{says}: {}", answer.text());
    assert_eq!(opens(answer), None);
    assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
    assert!(!answer.text().contains("<form") && !answer.text().contains("http-equiv"), "{}", answer.text());
}

#[tokio::test]
async fn an_operator_gets_in_by_the_code_flow() {
    let issuer = Issuer::start().await;
    let node = start(&issuer).await;
    let mut begun = Begun::wanting(&node, "/console/tasks?state=failed").await;
    let there = begun.there.clone();
    assert!(there.as_str().starts_with(&format!("{}/authorize?of=people&", issuer.url())), "{there}");
    let redirect = format!("{}/console/login/callback", node.url());
    for (name, value) in [
        ("response_type", "code"),
        ("client_id", CLIENT),
        ("redirect_uri", &redirect),
        ("scope", "openid email"),
        ("code_challenge_method", "S256"),
    ] {
        assert_eq!(begun.says(name), value);
    }
    assert!(!there.as_str().contains("secret") && !there.as_str().contains("verifier"), "{there}");
    let answer = begun.back(&issuer, &begun.claims(&node, &issuer, OPERATOR)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(leads_to(&answer), "/console/tasks?state=failed");
    assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
    assert!(answer.header("content-security-policy").unwrap().contains("form-action 'self'"));
    let port = node.url().rsplit(':').next().unwrap();
    let cookies: Vec<_> =
        answer.headers.get_all("set-cookie").iter().map(|value| value.to_str().unwrap()).collect();
    assert!(cookies[0].starts_with(&format!("baton-{port}=")), "{cookies:?}");
    assert!(cookies[0].ends_with("; Path=/console; HttpOnly; SameSite=Strict"), "{cookies:?}");
    assert!(cookies[1].starts_with(&format!("baton-{port}-oidc=;")) && cookies[1].ends_with("Max-Age=0"));
    let challenge = begun.says("code_challenge");
    begun.person.keep(&answer);
    assert_eq!(begun.person.get("/console").await.status, 200);

    let asked = issuer.asked_for_tokens();
    assert_eq!(asked.len(), 1);
    let fields: Vec<_> = url::form_urlencoded::parse(asked[0].body.as_bytes()).into_owned().collect();
    let field = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    assert_eq!(field("grant_type").as_deref(), Some("authorization_code"));
    assert_eq!(field("code").as_deref(), Some("c0de"));
    assert_eq!(field("redirect_uri"), Some(redirect));
    let verifier = field("code_verifier").unwrap();
    assert_eq!(BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&verifier)), challenge);
    assert_eq!((field("client_id"), field("client_secret")), (None, None), "they are in the header");
    assert!(asked[0].header("authorization").unwrap().starts_with("Basic "));
    for secret in [&verifier, "c0de", &begun.says("state"), &begun.says("nonce"), SECRET] {
        assert!(!logs::logged().contains(secret), "{secret} is in the log");
    }
    node.finish().await;
}

/// What somebody does who signed in so is told with their name.
#[tokio::test]
async fn whatever_they_do_is_told_by_name() {
    let issuer = Issuer::start().await;
    let node = start(&issuer).await;
    let mut begun = Begun::new(&node).await;
    let answer = begun.back(&issuer, &begun.claims(&node, &issuer, OPERATOR)).await;
    begun.person.keep(&answer);
    begun.person.act("/console/control/freeze", &[]).await;
    let log = node.operator("GET", "/api/v1/audit", None).await.ok();
    let who = json!(format!("127.0.0.1 as {OPERATOR} at {}", issuer.url()));
    let rows: Vec<_> =
        log["rows"].as_array().unwrap().iter().filter(|row| row["actor"] == "operator").collect();
    assert_eq!(rows.len(), 2, "{rows:#?}");
    assert!(rows.iter().all(|row| row["origin"] == who), "{rows:#?}");
    begun.person.act("/console/control/unfreeze", &[]).await;
    node.clock.advance(Duration::from_hours(8));
    assert_eq!(begun.person.get("/console").await.status, 303, "it ends as others do");
    node.finish().await;
}

/// Behind a proxy that does TLS, every cookie is for this host and secret connections only.
#[tokio::test]
async fn over_https_cookies_are_bound_to_the_host() {
    let issuer = Issuer::start().await;
    let node = TestNode::with(|settings| {
        trust(settings, &issuer);
        settings.node.public_url = Some("https://agents.example.com".to_owned());
    })
    .await;
    let mut person = Person::stranger(&node);
    let headers = [("origin", "https://agents.example.com"), ("sec-fetch-site", "same-origin")];
    let answer = person.ask(person.request("POST", "/console/login/oidc", &headers, "")).await;
    let cookie = answer.header("set-cookie").unwrap().to_owned();
    assert!(cookie.starts_with("__Host-baton-oidc="), "{cookie}");
    assert!(cookie.ends_with("; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=600"), "{cookie}");
    let there = leads_to(&answer).parse().unwrap();
    let plain = cookie
        .replace("__Host-baton-oidc", &format!("baton-{}-oidc", node.url().rsplit(':').next().unwrap()));
    person.cookie = plain.split(';').next().unwrap().to_owned();
    let mut begun = Begun { person, there };
    assert_eq!(begun.says("redirect_uri"), "https://agents.example.com/console/login/callback");
    let claims = begun.claims(&node, &issuer, OPERATOR);
    refused(&begun.back(&issuer, &claims).await, 401, "begun in another browser");
    begun.person.keep(&answer);
    let opened = opens(&begun.back(&issuer, &claims).await).unwrap();
    assert!(opened.starts_with("__Host-baton=") && opened.contains("; Path=/; Secure; "), "{opened}");
    begun.person.cookie = opened.split(';').next().unwrap().to_owned();
    assert_eq!(begun.person.get("/console").await.status, 200);
    node.finish().await;
}

#[tokio::test]
async fn coming_back_counts_once_and_in_the_browser_that_began() {
    let issuer = Issuer::start().await;
    let node = start(&issuer).await;
    let begun = Begun::new(&node).await;
    let good = begun.claims(&node, &issuer, OPERATOR);
    issuer.grant(200, json!({"id_token": issuer.sign("es", &good)}));
    let state = begun.says("state");
    let fields = [("code", "c0de"), ("state", state.as_str())];

    // Somebody is sent here with an attacker's code, or somebody's code is taken elsewhere.
    let others = [Person::stranger(&node), Begun::new(&node).await.person];
    for other in &others {
        let answer = other.get(&format!("/console/login/callback?{}", form(&fields))).await;
        refused(&answer, 401, "begun in another browser");
    }
    for fields in [
        vec![("code", "c0de"), ("state", "guess")],
        vec![("code", "c0de")],
        vec![],
        vec![("code", "c0de"), ("state", state.as_str()), ("state", state.as_str())],
        vec![("code", "c0de"), ("code", "c0de"), ("state", state.as_str())],
    ] {
        let answer = begun.come_back(&fields).await;
        refused(&answer, 401, "This sign-in is over");
        assert_eq!(answer.header("set-cookie"), None, "a lure ends nothing");
    }
    assert_eq!(issuer.asked_for_tokens().len(), 0, "and the provider was not asked");
    assert!(opens(&begun.come_back(&fields).await).is_some());
    refused(&begun.come_back(&fields).await, 401, "It was used");
    assert_eq!(issuer.asked_for_tokens().len(), 1);

    let late = Begun::new(&node).await;
    node.clock.advance(Duration::from_mins(10));
    refused(&late.back(&issuer, &late.claims(&node, &issuer, OPERATOR)).await, 401, "older than 10 min");
    node.finish().await;
}

fn changed(mut claims: Value, name: &str, value: Value) -> Value {
    if value.is_null() {
        claims.as_object_mut().unwrap().remove(name);
    } else {
        claims[name] = value;
    }
    claims
}

#[tokio::test]
async fn an_id_token_is_for_this_client_and_this_sign_in() {
    let issuer = Issuer::start().await;
    let node = start(&issuer).await;
    let now = node.clock.now().as_millis() / 1_000;
    let earlier = Begun::new(&node).await.says("nonce");
    for (name, value) in [
        ("nonce", json!("other")),
        ("nonce", json!(earlier)),
        ("nonce", Value::Null),
        ("aud", json!("another")),
        ("aud", json!([CLIENT, "another"])),
        ("aud", Value::Null),
        ("azp", json!("another")),
        ("azp", json!(["console"])),
        ("iss", json!(format!("{}/", issuer.url()))),
        ("iss", Value::Null),
        ("exp", json!(now - 31)),
        ("exp", Value::Null),
        ("iat", json!(now + 3_600)),
        ("iat", Value::Null),
        ("sub", Value::Null),
        ("sub", json!(248_289_761_001_i64)),
    ] {
        let begun = Begun::new(&node).await;
        let claims = changed(begun.claims(&node, &issuer, OPERATOR), name, value.clone());
        eprintln!("{name}: {value}");
        refused(&begun.back(&issuer, &claims).await, 401, "proves nothing here");
    }
    let begun = Begun::new(&node).await;
    let several = changed(begun.claims(&node, &issuer, OPERATOR), "aud", json!(["another", CLIENT]));
    let answer = begun.back(&issuer, &changed(several, "azp", json!(CLIENT))).await;
    assert!(opens(&answer).is_some(), "{answer:?}");
    node.finish().await;
}

#[tokio::test]
async fn an_id_token_is_signed_by_its_issuer_and_nothing_else() {
    let issuer = Issuer::start().await;
    let node = start(&issuer).await;
    let other = SecretKey::generate(Algorithm::Es256).unwrap();
    let header = |alg: &str, typ: &str| json!({"alg": alg, "kid": "es", "typ": typ});
    for what in
        ["another key", "an access token", "none", "an algorithm that is not taken", "no token", "nothing"]
    {
        let begun = Begun::new(&node).await;
        let claims = begun.claims(&node, &issuer, OPERATOR);
        let encode = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let text = match what {
            "another key" => token(&header("ES256", "JWT"), &claims, &other),
            "an access token" => token(&header("ES256", "at+jwt"), &claims, &issuer.key("es")),
            "none" => format!("{}.{}.", encode(&header("none", "JWT")), encode(&claims)),
            "an algorithm that is not taken" => issuer.sign("ed", &claims),
            "no token" => "a.b.c".to_owned(),
            _ => String::new(),
        };
        issuer.grant(200, json!({"id_token": text}));
        let answer = begun.come_back(&[("code", "c0de"), ("state", &begun.says("state"))]).await;
        eprintln!("{what}");
        refused(&answer, 401, "proves nothing here");
        assert!(text.is_empty() || !logs::logged().contains(&text));
    }
    assert!(logs::logged().contains("its algorithm is not among `algorithms`"), "and the log says why");
    node.finish().await;
}

/// RFC 9207: an answer says whose it is, and another's code goes nowhere.
#[tokio::test]
async fn another_issuers_answer_is_refused() {
    let issuer = Issuer::start().await;
    let node = start(&issuer).await;
    let begun = Begun::new(&node).await;
    let state = begun.says("state");
    let answer = begun.come_back(&[("code", "c"), ("state", &state), ("iss", "https://evil.example")]).await;
    refused(&answer, 401, "proves nothing here");
    let begun = Begun::new(&node).await;
    issuer.grant(200, json!({"id_token": issuer.sign("es", &begun.claims(&node, &issuer, OPERATOR))}));
    let state = begun.says("state");
    let answer = begun.come_back(&[("code", "c"), ("state", &state), ("iss", issuer.url())]).await;
    assert!(opens(&answer).is_some(), "{answer:?}");

    let at = |path: &str| format!("{}/{path}", issuer.url());
    issuer.say(json!({
        "issuer": issuer.url(), "jwks_uri": at("keys"), "authorization_endpoint": at("authorize?of=people"),
        "token_endpoint": at("token"), "authorization_response_iss_parameter_supported": true,
    }));
    let node = node.restart().await;
    let begun = Begun::new(&node).await;
    let asked = issuer.asked_for_tokens().len();
    refused(&begun.back(&issuer, &begun.claims(&node, &issuer, OPERATOR)).await, 401, "proves nothing here");
    assert_eq!(issuer.asked_for_tokens().len(), asked, "it names itself always, and here it did not");
    node.finish().await;
}

#[tokio::test]
async fn what_the_provider_says_instead() {
    let issuer = Issuer::start().await;
    let node = start(&issuer).await;
    for (error, status, says) in [
        ("access_denied", 403, "did not agree"),
        ("invalid_scope", 502, "invalid_scope"),
        ("<script>alert(1)</script>", 502, "an error without a name"),
    ] {
        let begun = Begun::new(&node).await;
        let state = begun.says("state");
        let fields =
            [("error", error), ("error_description", "hunter2"), ("state", &state), ("code", "c0de")];
        let answer = begun.come_back(&fields).await;
        refused(&answer, status, says);
        assert!(
            !answer.text().contains("hunter2") && !answer.text().contains("alert(1)"),
            "{}",
            answer.text()
        );
    }
    assert_eq!(issuer.asked_for_tokens().len(), 0);
    for (code, granted, status, says) in [
        (
            400,
            json!({"error": "invalid_grant", "error_description": "c0de is unknown"}),
            401,
            "proves nothing here",
        ),
        (401, json!({"error": "invalid_client"}), 401, "proves nothing here"),
        (500, json!({"error": "server_error"}), 502, "cannot be reached"),
        (200, json!({"access_token": "x"}), 502, "cannot be reached"),
        (302, json!({}), 502, "cannot be reached"),
    ] {
        let begun = Begun::new(&node).await;
        issuer.grant(code, granted);
        let answer = begun.come_back(&[("code", "c0de"), ("state", &begun.says("state"))]).await;
        refused(&answer, status, says);
    }
    let logged = logs::logged();
    assert!(logged.contains("invalid_client") && !logged.contains("c0de"), "{logged}");
    node.finish().await;
}

#[tokio::test]
async fn a_provider_that_is_away_stops_nobody() {
    let issuer = Issuer::start().await;
    issuer.go_down(true);
    let node = start(&issuer).await;
    let stranger = Person::stranger(&node);
    let page = stranger.get("/console/login").await;
    assert!(page.text().contains("Sign in with 127.0.0.1"), "{}", page.text());
    let answer = stranger.post("/console/login/oidc", &[]).await;
    assert_eq!(answer.status, 502);
    assert!(answer.text().contains("does not reach 127.0.0.1") && answer.text().contains("baton login"));
    Person::signed_in(&node).await;

    issuer.go_down(false);
    node.clock.advance(Duration::from_secs(31));
    let begun = Begun::new(&node).await;
    assert!(opens(&begun.back(&issuer, &begun.claims(&node, &issuer, OPERATOR)).await).is_some());

    // It goes away while somebody is there.
    let begun = Begun::new(&node).await;
    issuer.go_down(true);
    let answer = begun.come_back(&[("code", "c0de"), ("state", &begun.says("state"))]).await;
    refused(&answer, 502, "does not reach 127.0.0.1");
    node.finish().await;
}

/// Nobody is sent where the provider's people are not: a discovery document may say anything.
#[tokio::test]
async fn a_provider_without_a_safe_place_to_sign_in_is_none() {
    let issuer = Issuer::start().await;
    for endpoint in [json!("javascript:alert(1)"), json!("ftp://id.example.com"), Value::Null] {
        issuer.say(json!({
            "issuer": issuer.url(), "jwks_uri": format!("{}/keys", issuer.url()),
            "authorization_endpoint": endpoint, "token_endpoint": format!("{}/token", issuer.url()),
        }));
        let node = start(&issuer).await;
        let answer = Person::stranger(&node).post("/console/login/oidc", &[]).await;
        assert_eq!(answer.status, 502, "{answer:?}");
        assert!(!answer.text().contains("http-equiv"));
        node.finish().await;
    }
}

#[tokio::test]
async fn nobody_is_an_operator_by_default() {
    let issuer = Issuer::start().await;
    let node = TestNode::with(|settings| {
        trust(settings, &issuer);
        settings.console.oidc.as_mut().unwrap().operators.clear();
    })
    .await;
    let begun = Begun::new(&node).await;
    let answer = begun.back(&issuer, &begun.claims(&node, &issuer, OPERATOR)).await;
    refused(&answer, 403, "not in the list of operators");
    let log = node.operator("GET", "/api/v1/audit?action=console", None).await.ok();
    let row = &log["rows"][0];
    assert_eq!(
        (&row["actor"], &row["action"], &row["outcome"]),
        (&json!("anonymous"), &json!("console.sign-in"), &json!("refused"))
    );
    assert_eq!(row["origin"], format!("127.0.0.1 as {OPERATOR} at {}", issuer.url()));
    assert_eq!(row["detail"]["reason"], "not in the list of operators");
    let shown = node.operator("GET", "/api/v1/settings", None).await.text().to_owned();
    assert!(shown.contains("nobody") && shown.contains("there is one; not shown") && !shown.contains(SECRET));
    node.finish().await;
}

#[tokio::test]
async fn guesses_and_beginnings_are_slowed() {
    let issuer = Issuer::start().await;
    let rate = Rate { requests: 2, per: Per::Minute, burst: 2 };
    let node = TestNode::with(|settings| {
        trust(settings, &issuer);
        settings.limits.failures_per_address = Some(rate);
    })
    .await;
    let stranger = Person::stranger(&node);
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(stranger.get("/console/login/callback?code=c&state=s").await.status);
    }
    for _ in 0..3 {
        statuses.push(stranger.post("/console/login/oidc", &[]).await.status);
    }
    assert_eq!(statuses, [401, 401, 429, 200, 200, 429]);
    assert_eq!(issuer.asked_for_tokens().len(), 0);
    node.finish().await;
}

#[tokio::test]
async fn it_begins_at_the_consoles_own_page_and_address() {
    let issuer = Issuer::start().await;
    let node = start(&issuer).await;
    let stranger = Person::stranger(&node);
    for origin in ["https://evil.example", "null", ""] {
        let asked = stranger.request("POST", "/console/login/oidc", &[("origin", origin)], "");
        let answer = stranger.ask(asked).await;
        assert_eq!((answer.status, answer.header("set-cookie")), (403, None), "{origin}");
    }
    // The way back leads to the node's own address, where a cookie of this one would not be sent.
    let host = node.url().replace("http://127.0.0.1", "localhost");
    let headers = [("origin", &*format!("http://{host}")), ("host", &*host)];
    let asked = stranger.request("POST", "/console/login/oidc", &headers, &form(&[("to", "/console/tasks")]));
    let answer = stranger.ask(asked).await;
    assert_eq!((answer.status, answer.header("set-cookie")), (409, None), "{answer:?}");
    let there = format!("href=\"{}/console/login?to=%2Fconsole%2Ftasks\"", node.url());
    assert!(answer.text().contains(&there), "{}", answer.text());
    for to in ["https://evil.example", "//evil.example", "/console/login/oidc", "javascript:alert(1)"] {
        let begun = Begun::wanting(&node, to).await;
        let answer = begun.back(&issuer, &begun.claims(&node, &issuer, OPERATOR)).await;
        assert_eq!(leads_to(&answer), "/console", "{to}");
    }
    node.finish().await;
}

#[tokio::test]
async fn without_a_provider_there_is_no_such_way() {
    let node = TestNode::closed().await;
    let stranger = Person::stranger(&node);
    assert!(!stranger.get("/console/login").await.text().contains("Sign in with"));
    for answer in [
        stranger.post("/console/login/oidc", &[]).await,
        stranger.get("/console/login/callback?code=c&state=s").await,
    ] {
        assert_eq!((answer.status, answer.header("set-cookie")), (404, None), "{answer:?}");
    }
    node.finish().await;
}

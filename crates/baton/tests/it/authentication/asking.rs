//! Clients that ask an operator for access in a browser: what a client does, and what the operator's browser does.

use serde_json::{Value, json};

use crate::console::{Person, form};
use crate::harness::{Answer, Door, TestNode, User, request};

/// The example of RFC 7636.
pub const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

pub const BACK: &str = "http://127.0.0.1/back?a=b";

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// A client that registered itself.
#[derive(Clone, Debug)]
pub struct Program {
    user: User,
    base: String,
    pub id: String,
}

/// A registration, whatever comes of it.
pub async fn register(node: &TestNode, metadata: &Value) -> Answer {
    register_at(node.url(), metadata).await
}

async fn register_at(base: &str, metadata: &Value) -> Answer {
    let url = format!("{base}/oauth/register");
    let json = [("content-type", "application/json")];
    let user = User::new(base, "echo", None).over(Door::Rest);
    user.ask(request("POST", &url, &json, metadata.to_string())).await
}

impl Program {
    pub async fn new(node: &TestNode) -> Self {
        Self::at(node.url()).await
    }

    /// The same at whatever node is there.
    pub async fn at(base: &str) -> Self {
        let metadata = json!({
            "client_name": "Desk", "redirect_uris": [BACK, "https://desk.example/back"], "token_endpoint_auth_method": "none",
            "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"], "scope": "send read",
        });
        let answer = register_at(base, &metadata).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        Self::of(base, answer.json()["client_id"].as_str().unwrap())
    }

    pub fn known_as(node: &TestNode, id: &str) -> Self {
        Self::of(node.url(), id)
    }

    fn of(base: &str, id: &str) -> Self {
        let user = User::new(base, "echo", None).over(Door::Rest);
        Self { user, base: base.to_owned(), id: id.to_owned() }
    }

    /// The query of a request, with other values; an empty one leaves its parameter out.
    pub fn query(&self, change: &[(&str, &str)]) -> String {
        let mut all = vec![
            ("response_type", "code"),
            ("client_id", &*self.id),
            ("redirect_uri", "http://127.0.0.1:33418/back?a=b"),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
            ("state", "st&te"),
            ("scope", "send read offline_access"),
        ];
        for (name, value) in change {
            match all.iter_mut().find(|(known, _)| known == name) {
                Some(place) => place.1 = value,
                None => all.push((name, value)),
            }
        }
        all.retain(|(_, value)| !value.is_empty());
        form(&all)
    }

    /// One request to the token endpoint.
    pub async fn token(&self, fields: &[(&str, &str)]) -> Answer {
        self.post("token", fields).await
    }

    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let url = format!("{}/oauth/{path}", self.base);
        self.user.ask(request("POST", &url, &[FORM], form(fields))).await
    }

    /// Brings a code, with everything that goes with it.
    pub async fn redeem(&self, code: &str) -> Answer {
        self.redeem_with(code, &[]).await
    }

    /// The same with other values; an empty one leaves its parameter out.
    pub async fn redeem_with(&self, code: &str, change: &[(&str, &str)]) -> Answer {
        let mut all = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("client_id", &*self.id),
            ("redirect_uri", "http://127.0.0.1:33418/back?a=b"),
            ("code_verifier", VERIFIER),
        ];
        for (name, value) in change {
            match all.iter_mut().find(|(known, _)| known == name) {
                Some(place) => place.1 = value,
                None => all.push((name, value)),
            }
        }
        all.retain(|(_, value)| !value.is_empty());
        self.token(&all).await
    }

    pub async fn refresh(&self, token: &str, more: &[(&str, &str)]) -> Answer {
        let mut all =
            vec![("grant_type", "refresh_token"), ("refresh_token", token), ("client_id", &*self.id)];
        all.extend(more);
        self.token(&all).await
    }

    /// Through all of it, with what the operator ticks; what the client has then.
    pub async fn signed_in(
        &self,
        node: &TestNode,
        change: &[(&str, &str)],
        ticked: &[(&str, &str)],
    ) -> Tokens {
        let person = Person::signed_in(node).await;
        let code = approve(&person, &self.query(change), ticked).await;
        Tokens::of(&self.redeem(&code).await)
    }
}

/// What a client is given.
#[derive(Clone, Debug)]
pub struct Tokens {
    pub access: String,
    pub refresh: String,
    pub scope: String,
}

impl Tokens {
    #[track_caller]
    pub fn of(answer: &Answer) -> Self {
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let granted = answer.json();
        let members: Vec<_> = granted.as_object().unwrap().keys().collect();
        assert_eq!(members, ["access_token", "expires_in", "refresh_token", "scope", "token_type"]);
        assert_eq!((&granted["token_type"], &granted["expires_in"]), (&json!("Bearer"), &json!(3600)));
        let text = |name: &str| granted[name].as_str().unwrap().to_owned();
        Self { access: text("access_token"), refresh: text("refresh_token"), scope: text("scope") }
    }

    pub fn user(&self, node: &TestNode, agent: &str) -> User {
        User::new(node.url(), agent, Some(&self.access))
    }
}

/// What an operator ticks at least.
pub const ECHO: [(&str, &str); 4] =
    [("label", "MCP: Desk"), ("agent", "echo"), ("verb", "send"), ("verb", "read")];

/// Sends the form of the page on which it is decided.
pub async fn decide(person: &Person, query: &str, fields: &[(&str, &str)]) -> Answer {
    let csrf = person.csrf().await;
    let mut all = vec![("csrf", &*csrf)];
    all.extend(fields);
    person.post(&format!("/console/authorize?{query}"), &all).await
}

/// Where the page sends the browser.
pub fn leads_to(answer: &Answer) -> Option<String> {
    let (_, rest) = answer.text().split_once("http-equiv=\"refresh\" content=\"0;url=")?;
    Some(rest.split('"').next().unwrap().replace("&amp;", "&"))
}

/// The value of a parameter that the browser brings back to the client.
pub fn brought(answer: &Answer, name: &str) -> Option<String> {
    let to = url::Url::parse(&leads_to(answer)?).unwrap();
    let mut found = to.query_pairs().filter(|(known, _)| known == name);
    let value = found.next().map(|(_, value)| value.into_owned());
    assert!(found.next().is_none(), "{name} is there once");
    value
}

/// The operator approves; the code.
pub async fn approve(person: &Person, query: &str, ticked: &[(&str, &str)]) -> String {
    let mut fields = vec![("act", "approve")];
    fields.extend(ticked);
    let answer = decide(person, query, &fields).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    brought(&answer, "code").unwrap_or_else(|| panic!("no code: {}", answer.text()))
}

pub async fn get(node: &TestNode, path: &str) -> Answer {
    let user = node.anyone("echo").over(Door::Rest);
    user.ask(request("GET", &user.at_origin(path), &[], "")).await
}

/// What an endpoint refuses, which says nothing of what was brought.
#[track_caller]
pub fn error(answer: &Answer, status: u16, error: &str) {
    assert_eq!((answer.status, &answer.json()["error"]), (status, &json!(error)), "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    for secret in ["ba_", "br_", VERIFIER] {
        assert!(!answer.text().contains(secret), "{answer:?}");
    }
}

/// Every grant that there is.
pub async fn grants(node: &TestNode) -> Vec<Value> {
    let all = node.operator("GET", "/api/v1/grants", None).await.ok();
    all["grants"].as_array().unwrap().clone()
}

/// The actions of the audit log that begin like this, the oldest first, each with who it was.
pub async fn told(node: &TestNode, action: &str) -> Vec<(String, String)> {
    let log = node.operator("GET", &format!("/api/v1/audit?action={action}"), None).await.ok();
    let text = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
    log["rows"]
        .as_array()
        .unwrap()
        .iter()
        .rev()
        .map(|row| (text(row, "action"), text(row, "actor")))
        .collect()
}

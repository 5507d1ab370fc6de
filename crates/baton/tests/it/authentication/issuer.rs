//! An issuer of tokens that a test plays: it signs whatever it is told to.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use baton::config::settings::{self, Claim, ClaimRule, ClaimTest, Destination, Network, Settings};
use baton::keys::{Algorithm, Jwk, Jwks, SecretKey};
use serde_json::{Value, json};

use crate::script::{Asked, Server, nothing, ok, status};

pub const AUDIENCE: &str = "https://agents.example.com";

/// What it has and is.
#[derive(Default)]
struct State {
    keys: Mutex<Vec<(String, Arc<SecretKey>)>>,
    down: AtomicBool,
    /// What its discovery document says instead.
    discovery: Mutex<Value>,
    /// What its set of keys says instead.
    set: Mutex<Value>,
    /// What its token endpoint answers, and with which status.
    granted: Mutex<(u16, Value)>,
}

#[derive(Clone)]
pub struct Issuer {
    server: Server,
    state: Arc<State>,
}

impl Issuer {
    /// With one key of each kind, `es` and `ed`.
    pub async fn start() -> Self {
        let state = Arc::new(State::default());
        let answering = Arc::clone(&state);
        let server = Server::start(move |url, asked, _| {
            if answering.down.load(Ordering::Relaxed) {
                return status(500, &json!({}));
            }
            let or = |told: &Mutex<Value>, usual: Value| {
                let told = told.lock().unwrap().clone();
                ok(if told.is_null() { &usual } else { &told })
            };
            match asked.line.as_str() {
                "GET /.well-known/openid-configuration" => {
                    let at = |path: &str| format!("{url}/{path}");
                    let usual = json!({
                        "issuer": url, "jwks_uri": at("keys"),
                        "authorization_endpoint": at("authorize?of=people"), "token_endpoint": at("token"),
                    });
                    or(&answering.discovery, usual)
                }
                "GET /keys" => or(&answering.set, serde_json::to_value(answering.jwks()).unwrap()),
                "POST /token" => {
                    let (code, granted) = answering.granted.lock().unwrap().clone();
                    status(code, &granted)
                }
                _ => nothing(),
            }
        })
        .await;
        let issuer = Self { server, state };
        issuer.add("es", Algorithm::Es256);
        issuer.add("ed", Algorithm::EdDsa);
        issuer
    }

    pub fn url(&self) -> &str {
        &self.server.url
    }

    /// How often its keys were asked for.
    pub fn times_asked(&self) -> usize {
        self.server.asked_for("GET /keys").len()
    }

    /// What its token endpoint was asked.
    pub fn asked_for_tokens(&self) -> Vec<Asked> {
        self.server.asked_for("POST /token")
    }

    /// Lets its token endpoint answer this from now on.
    pub fn grant(&self, status: u16, granted: Value) {
        *self.state.granted.lock().unwrap() = (status, granted);
    }

    pub fn add(&self, kid: &str, algorithm: Algorithm) {
        let key = Arc::new(SecretKey::generate(algorithm).unwrap());
        self.state.keys.lock().unwrap().push((kid.to_owned(), key));
    }

    /// Withdraws a key; tokens can still be made with it.
    pub fn withdraw(&self, kid: &str) -> Arc<SecretKey> {
        let mut keys = self.state.keys.lock().unwrap();
        let at = keys.iter().position(|(name, _)| name == kid).unwrap();
        keys.remove(at).1
    }

    pub fn go_down(&self, down: bool) {
        self.state.down.store(down, Ordering::Relaxed);
    }

    pub fn say(&self, discovery: Value) {
        *self.state.discovery.lock().unwrap() = discovery;
    }

    pub fn publish(&self, set: Value) {
        *self.state.set.lock().unwrap() = set;
    }

    /// Lets a node trust it, with these rules.
    pub fn trusted(&self, settings: &mut Settings, rules: Vec<ClaimRule>) {
        settings.node.dev = false;
        settings.net.allow =
            vec![Destination::Network(Network { address: [127, 0, 0, 0].into(), prefix: 8 })];
        settings.auth.issuers.push(settings::Issuer {
            url: self.url().to_owned(),
            audience: vec![AUDIENCE.to_owned(), "baton".to_owned()],
            algorithms: vec![jsonwebtoken::Algorithm::ES256, jsonwebtoken::Algorithm::EdDSA],
            rules,
        });
    }

    /// The claims of a good token of somebody in the group `agents`.
    pub fn claims(&self, now: i64, subject: &str) -> Value {
        json!({"iss": self.url(), "aud": AUDIENCE, "sub": subject, "iat": now, "exp": now + 300, "groups": ["agents"]})
    }

    pub fn sign(&self, kid: &str, claims: &Value) -> String {
        let keys = self.state.keys.lock().unwrap();
        let (_, key) = keys.iter().find(|(name, _)| name == kid).unwrap();
        token(&json!({"alg": key.algorithm().as_str(), "kid": kid, "typ": "JWT"}), claims, key)
    }

    pub fn key(&self, kid: &str) -> Arc<SecretKey> {
        let keys = self.state.keys.lock().unwrap();
        Arc::clone(&keys.iter().find(|(name, _)| name == kid).unwrap().1)
    }
}

impl State {
    fn jwks(&self) -> Jwks {
        let jwk = |(kid, key): &(String, Arc<SecretKey>)| Jwk {
            kid: Some(kid.clone()),
            algorithm: None,
            key: key.public(),
        };
        Jwks { keys: self.keys.lock().unwrap().iter().map(jwk).collect() }
    }
}

/// A token with any header.
pub fn token(header: &Value, claims: &Value, key: &SecretKey) -> String {
    let encode = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let input = format!("{}.{}", encode(header), encode(claims));
    let signature = BASE64_URL_SAFE_NO_PAD.encode(key.sign(input.as_bytes()));
    format!("{input}.{signature}")
}

/// `claim` contains `wanted`.
pub fn contains(claim: &str, wanted: &str, grant: &str) -> ClaimRule {
    let claim = Claim { path: vec![claim.to_owned()], test: ClaimTest::Contains(wanted.into()) };
    ClaimRule { claim, grant: grant.to_owned() }
}

//! Tokens of a real OpenID provider: npm `oidc-provider`, which `conformance/clients/install` installs.
//!
//! Without it these tests fail under `CI`; elsewhere they say so and pass.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use baton::config::settings::{Destination, Issuer, Network};
use baton_store::Verb;
use baton_wire::fault::Kind;
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use jsonwebtoken::Algorithm;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::issuer::contains;
use crate::harness::{TestNode, User, message, request, soon};

const RESOURCE: &str = "https://agents.example.com/";

/// The provider, as a process of its own; it ends with its standard input.
struct Provider {
    url: String,
    _child: Child,
    _folder: tempfile::TempDir,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

impl Provider {
    /// None where it is not installed.
    async fn start() -> Option<Self> {
        let installed = root().join("target/clients/oidc");
        if !installed.join("node_modules/oidc-provider").exists() {
            assert!(std::env::var_os("CI").is_none(), "run conformance/clients/install");
            eprintln!("skipped: run conformance/clients/install");
            return None;
        }
        // A module finds its packages beside itself, and tests run side by side.
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(installed.join("node_modules"), folder.path().join("node_modules"))
            .unwrap();
        std::fs::copy(root().join("conformance/oidc/provider.mjs"), folder.path().join("provider.mjs"))
            .unwrap();
        let mut child = Command::new("node")
            .arg(folder.path().join("provider.mjs"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = soon(lines.next_line()).await.unwrap().expect("it prints its URL");
        Some(Self { url, _child: child, _folder: folder })
    }

    async fn post(&self, path: &str, form: &str) -> Value {
        // `ada:s3cret`.
        let headers = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("authorization", "Basic YWRhOnMzY3JldA=="),
        ];
        let client = Client::builder(TokioExecutor::new()).build_http::<Full<bytes::Bytes>>();
        let request = request("POST", &format!("{}{path}", self.url), &headers, form.to_owned());
        let (head, body) = soon(client.request(request)).await.unwrap().into_parts();
        let body = soon(body.collect()).await.unwrap().to_bytes();
        assert_eq!(head.status, 200, "{body:?}");
        serde_json::from_slice(&body).unwrap_or_default()
    }

    /// A token for a resource, whose path says how it is to be signed.
    async fn token(&self, resource: &str, scope: &str) -> String {
        let form = format!("grant_type=client_credentials&scope={scope}&resource={resource}");
        self.post("/token", &form).await["access_token"].as_str().unwrap().to_owned()
    }
}

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

//! A real OpenID provider: npm `oidc-provider`, which `conformance/clients/install` installs.
//!
//! Without it the tests with it fail under `CI`; elsewhere they say so and pass.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::harness::{request, soon};

/// The provider, as a process of its own; it ends with its standard input.
pub struct Provider {
    pub url: String,
    _child: Child,
    _folder: tempfile::TempDir,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

impl Provider {
    /// None where it is not installed.
    pub async fn start() -> Option<Self> {
        Self::start_at("127.0.0.1").await
    }

    /// Under another name of this machine: for a browser it is another site then.
    pub async fn start_at(host: &str) -> Option<Self> {
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
            .arg(host)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = soon(lines.next_line()).await.unwrap().expect("it prints its URL");
        // It writes on, and ends when nobody reads.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Some(Self { url, _child: child, _folder: folder })
    }

    pub async fn post(&self, path: &str, form: &str) -> Value {
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
    pub async fn token(&self, resource: &str, scope: &str) -> String {
        let form = format!("grant_type=client_credentials&scope={scope}&resource={resource}");
        self.post("/token", &form).await["access_token"].as_str().unwrap().to_owned()
    }
}

//! Clients that are known by a document at a URL: fetched for an operator, through the guarded dialer, and not for anybody.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use baton::config::settings::{Destination, Network};
use baton::net::dialer::{Allow, Dialer, Options};
use baton::service::Service;
use baton::service::grants::WantedGrant;
use baton::service::oauth::authorize::{Asked, Chosen, Wrong};
use baton_store::Actor;
use rustls::ServerConfig;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::asking::{Program, Tokens, error, get, leads_to};
use crate::console::Person;
use crate::harness::TestNode;

fn certificates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/certificates")
}

/// The host of a client, and how often somebody came there.
struct Host {
    /// The client's id.
    id: String,
    came: Arc<AtomicUsize>,
}

impl Host {
    async fn start() -> Self {
        let chain = vec![CertificateDer::from_pem_file(certificates().join("cert.pem")).unwrap()];
        let key = PrivateKeyDer::from_pem_file(certificates().join("key.pem")).unwrap();
        let builder = ServerConfig::builder_with_provider(rustls::crypto::ring::default_provider().into());
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        let config = builder.with_no_client_auth().with_single_cert(chain, key).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let id = format!("https://localhost:{}/oauth/client.json", listener.local_addr().unwrap().port());
        let came = Arc::<AtomicUsize>::default();
        let (counter, client) = (Arc::clone(&came), id.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::SeqCst);
                let Ok(stream) = acceptor.accept(stream).await else { continue };
                let mut stream = BufReader::new(stream);
                let mut line = String::new();
                while stream.read_line(&mut line).await.is_ok_and(|read| read > 2) {
                    line.clear();
                }
                let body = json!({"client_id": client, "client_name": "Desk", "redirect_uris": ["http://127.0.0.1/back?a=b"]});
                let (body, kind) = (body.to_string(), "content-type: application/json\r\nconnection: close");
                let head = format!("HTTP/1.1 200 OK\r\n{kind}\r\ncontent-length: {}\r\n\r\n", body.len());
                stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
                stream.shutdown().await.unwrap();
            }
        });
        Self { id, came }
    }

    fn came(&self) -> usize {
        self.came.load(Ordering::SeqCst)
    }
}

/// The use cases of a node that may dial this machine, and trusts the certificates of the tests.
fn reaching(node: &TestNode) -> Service {
    let network = Network { address: [127, 0, 0, 0].into(), prefix: 8 };
    let mut options = Options::new(Allow::new(vec![Destination::Network(network)]));
    let ca = CertificateDer::from_pem_file(certificates().join("ca.pem")).unwrap();
    options.roots.add(ca).unwrap();
    Service { dialer: Dialer::new(options), ..node.node().service.clone() }
}

#[tokio::test]
async fn a_client_is_known_by_what_stands_at_its_url() {
    let (node, host) = (TestNode::closed().await, Host::start().await);
    let (program, service) = (Program::known_as(&node, &host.id), reaching(&node));
    let query = program.query(&[("resource", &format!("{}/mcp", node.url()))]);
    let asked = Asked::read(&query).unwrap();
    let request = service.check_authorization(&asked).await.unwrap();
    let known = (&*request.client.name, request.client.host.as_deref());
    let place = host.id.strip_prefix("https://").unwrap().split('/').next();
    assert_eq!(known, ("Desk", place));

    // What was read is what is decided on, for as long as that takes.
    service.check_authorization(&asked).await.unwrap();
    node.clock.advance(Duration::from_mins(9));
    service.check_authorization(&asked).await.unwrap();
    assert_eq!(host.came(), 1);
    node.clock.advance(Duration::from_mins(2));
    let request = service.check_authorization(&asked).await.unwrap();
    assert_eq!(host.came(), 2);
    let foreign = Asked::read(&program.query(&[("redirect_uri", "https://evil.example/back")])).unwrap();
    let foreign = service.check_authorization(&foreign).await;
    assert!(matches!(foreign, Err(Wrong::Person(_))), "{foreign:?}");

    let wanted = WantedGrant {
        label: "Desk".to_owned(),
        agents: vec!["echo".to_owned()],
        verbs: vec!["send".to_owned()],
        ..WantedGrant::default()
    };
    let by = Actor::new("operator", "socket");
    let back = service.allow_client(&request, Chosen::New(wanted), &by).await.unwrap();
    let back = url::Url::parse(&back).unwrap();
    let code = back.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned();
    let tokens = Tokens::of(&program.redeem(&code).await);
    assert_eq!(tokens.scope, "send");
    Tokens::of(&program.refresh(&tokens.refresh, &[]).await);
    // It is known, whoever it is: what it brings is not good.
    error(&program.redeem("never-was").await, 400, "invalid_grant");
    node.finish().await;
}

/// A stranger makes the node fetch nothing, and an operator nothing that the node may not dial.
#[tokio::test]
async fn nothing_is_fetched_for_a_stranger() {
    let (node, host) = (TestNode::closed().await, Host::start().await);
    let person = Person::signed_in(&node).await;
    let inside = host.id.replace("localhost", "127.0.0.1");
    for id in [&*host.id, &inside, "https://169.254.169.254/latest/meta-data/", "http://localhost/c"] {
        let program = Program::known_as(&node, id);
        let query = program.query(&[]);
        let begun = get(&node, &format!("/oauth/authorize?{query}")).await;
        assert_eq!(leads_to(&begun), Some(format!("/console/authorize?{query}")), "{id}");
        let stranger = Person::stranger(&node).get(&format!("/console/authorize?{query}")).await;
        assert_eq!(stranger.status, 303, "{id}");
        let page = person.get(&format!("/console/authorize?{query}")).await;
        assert_eq!((page.status, leads_to(&page)), (400, None), "{id}");
        assert!(page.text().contains("cannot be used"), "{}", page.text());
        error(&program.redeem("never-was").await, 400, "invalid_grant");
    }
    assert_eq!(host.came(), 0);
    node.finish().await;
}

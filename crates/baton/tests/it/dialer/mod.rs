//! The guarded dialer against hostile URLs and hostile name servers: nothing is dialled that was not judged.

mod corpus;

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use baton::config::settings::{Destination, Listen, Network};
use baton::net::dialer::{Allow, Ask, Connect, Dialer, Error, Options, Refused, Resolver, Target};
use http::StatusCode;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use tokio::net::TcpStream;

use crate::harness::TestNode;
use crate::script::{Server, nothing};

const BOUNDS: (usize, Duration) = (64 * 1024, Duration::from_secs(20));

/// A name server that says what a test wrote down: one answer after the other, the last one for ever.
#[derive(Default)]
struct Names(Mutex<HashMap<String, Vec<Vec<IpAddr>>>>);

impl Names {
    /// `answers`: addresses separated by commas, one text per answer.
    fn tell(&self, name: &str, answers: &[&str]) {
        let addresses = |text: &&str| text.split(',').map(|one| one.parse().expect(one)).collect();
        self.0.lock().unwrap().insert(name.to_owned(), answers.iter().map(addresses).collect());
    }
}

#[async_trait]
impl Resolver for Names {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let mut names = self.0.lock().unwrap();
        let unknown = || io::Error::new(io::ErrorKind::NotFound, "no such name");
        let answers = names.get_mut(name.trim_end_matches('.')).ok_or_else(unknown)?;
        Ok(if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() })
    }
}

/// Writes down what is dialled, and connects to one server whatever that is.
struct Recorder {
    dialled: Mutex<Vec<SocketAddr>>,
    server: SocketAddr,
}

#[async_trait]
impl Connect for Recorder {
    async fn connect(&self, to: SocketAddr) -> io::Result<TcpStream> {
        self.dialled.lock().unwrap().push(to);
        TcpStream::connect(self.server).await
    }
}

/// A dialer in a world of its own.
struct World {
    names: Arc<Names>,
    recorder: Arc<Recorder>,
    server: Server,
    dialer: Dialer,
}

fn network(text: &str) -> Destination {
    let (address, prefix) = text.split_once('/').unwrap();
    Destination::Network(Network { address: address.parse().unwrap(), prefix: prefix.parse().unwrap() })
}

fn host(name: &str) -> Destination {
    Destination::Host(name.to_owned())
}

fn dialer(allow: &[Destination], names: &Arc<Names>, recorder: &Arc<Recorder>) -> Dialer {
    Dialer::new(Options {
        resolver: Arc::clone(names) as _,
        connect: Arc::clone(recorder) as _,
        ..Options::new(Allow::new(allow.to_vec()))
    })
}

impl World {
    async fn new(allow: &[Destination]) -> Self {
        let server = Server::start(|_, _, _| nothing()).await;
        let address = server.url.strip_prefix("http://").unwrap().parse().unwrap();
        let names = Arc::new(Names::default());
        let recorder = Arc::new(Recorder { dialled: Mutex::default(), server: address });
        let dialer = dialer(allow, &names, &recorder);
        Self { names, recorder, server, dialer }
    }

    /// One more, which opens nothing besides the public internet.
    fn dialer(&self) -> Dialer {
        dialer(&[], &self.names, &self.recorder)
    }

    /// Looks, then dials all the same, as a configuration that was stored before would.
    async fn call(&self, url: &str) -> Result<StatusCode, Error> {
        let looked = self.dialer.look(url).await;
        let target = match Target::parse(url) {
            Ok(target) => target,
            Err(refused) => {
                assert_eq!(looked, Err(refused.clone()), "{url}");
                return Err(refused.into());
            }
        };
        let answer = self.dialer.call(&target, Ask::default(), BOUNDS).await;
        if let Err(Error::Refused(refused)) = &answer {
            assert!(looked.is_ok() || looked == Err(refused.clone()), "{url}: {looked:?}");
        }
        answer.map(|answer| answer.status)
    }

    fn dialled(&self) -> Vec<SocketAddr> {
        std::mem::take(&mut self.recorder.dialled.lock().unwrap())
    }
}

#[tokio::test]
async fn no_hostile_url_is_dialled() {
    let world = World::new(&[]).await;
    for (name, answer) in corpus::HOSTILE_ANSWERS {
        world.names.tell(name, &[answer]);
    }
    let urls = corpus::HOSTILE.iter().map(|url| (*url).to_owned());
    let names = corpus::HOSTILE_ANSWERS
        .iter()
        .flat_map(|(name, _)| [format!("http://{name}/hook"), format!("https://{name}.:8443/")]);
    let (mut tried, long) = (0, format!("http://example.com/{}", "a".repeat(2048)));
    for url in urls.chain(names).chain([long]) {
        let refused = world.call(&url).await;
        assert!(matches!(refused, Err(Error::Refused(_))), "{url}: {refused:?}");
        assert!(world.dialer.look(&url).await.is_err(), "{url}");
        tried += 1;
    }
    assert!(tried >= 200, "{tried}");
    assert_eq!(world.dialled(), []);
    assert_eq!(world.server.asked().len(), 0);
}

#[tokio::test]
async fn every_good_url_is_dialled_where_it_was_judged() {
    let world = World::new(&[]).await;
    let mut tried = 0;
    for (url, address) in corpus::GOOD {
        if let Some((host, _)) = corpus::GOOD_ANSWERS.iter().find(|(name, _)| url.contains(name)) {
            world.names.tell(host, &[address]);
        }
        // One of its own, without a connection that is still open to the same host.
        let dialer = world.dialer();
        let target = Target::parse(url).expect(url);
        assert!(dialer.look(url).await.is_ok(), "{url}");
        let answer = dialer.call(&target, Ask::default(), BOUNDS).await;
        // The server speaks no TLS: what counts is who was dialled.
        match answer {
            Ok(answer) => assert_eq!(answer.status, StatusCode::NOT_FOUND),
            Err(why) => assert!(url.starts_with("https"), "{url}: {why}"),
        }
        let dialled: Vec<_> = world.dialled().iter().map(SocketAddr::ip).collect();
        let first: IpAddr = address.split(',').next().unwrap().parse().unwrap();
        assert_eq!(dialled, [first], "{url}");
        tried += 1;
    }
    assert!(tried >= 100, "{tried}");
}

/// The name is good when it is looked at and bad when it is dialled, and the other way round.
#[tokio::test]
async fn a_name_that_changes_its_mind_is_judged_at_every_dial() {
    let world = World::new(&[]).await;
    for bad in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "8.8.8.8,192.168.0.1"] {
        world.names.tell("rebind.example", &["8.8.8.8", bad]);
        assert!(world.dialer.look("http://rebind.example/").await.is_ok());
        let target = Target::parse("http://rebind.example/").unwrap();
        let refused = world.dialer.call(&target, Ask::default(), BOUNDS).await;
        assert_eq!(refused.unwrap_err(), Error::Refused(Refused::Name), "{bad}");
    }
    assert_eq!(world.dialled(), []);
}

/// What cannot be resolved now may be later; it is refused then, if it is bad then.
#[tokio::test]
async fn a_name_without_an_address_is_no_refusal() {
    let world = World::new(&[]).await;
    assert!(world.dialer.look("http://nobody.example/").await.is_ok());
    let target = Target::parse("http://nobody.example/").unwrap();
    let lost = world.dialer.call(&target, Ask::default(), BOUNDS).await;
    assert!(matches!(lost, Err(Error::Unreachable(_))), "{lost:?}");
    assert_eq!(world.dialled(), []);
}

#[tokio::test]
async fn the_operator_opens_networks_and_names() {
    let allow = [
        network("10.0.0.0/8"),
        network("fd12::/16"),
        network("0.0.0.0/0"),
        network("::/0"),
        host("localhost"),
        host("metadata.internal"),
    ];
    let narrow = World::new(&allow[..2]).await;
    narrow.names.tell("localhost", &["127.0.0.1"]);
    for (url, open) in [
        ("http://10.1.2.3/", true),
        ("http://0xa.1/", true),
        ("http://[::ffff:10.1.2.3]/", true),
        ("http://[fd12::1]/", true),
        ("http://[fd13::1]/", false),
        ("http://192.168.0.1/", false),
        ("http://localhost/", false),
        ("http://127.0.0.1/", false),
    ] {
        assert_eq!(narrow.call(url).await.is_ok(), open, "{url}");
        narrow.dialled();
    }
    let wide = World::new(&allow).await;
    wide.names.tell("localhost", &["127.0.0.1"]);
    wide.names.tell("metadata.internal", &["169.254.169.254"]);
    for (url, open) in [
        ("http://localhost/", true),
        ("http://LOCALHOST./", true),
        ("http://192.168.0.1/", true),
        ("http://[::1]/", true),
        // Neither a name nor a wide network opens these.
        ("http://metadata.internal/", false),
        ("http://169.254.169.254/", false),
        ("http://[fd00:ec2::254]/", false),
        ("http://[64:ff9b::a9fe:a9fe]/", false),
        ("http://224.0.0.1/", false),
        ("http://0.0.0.0/", false),
        ("http://[2002:7f00:1::]/", false),
        ("http://[::7f00:1]/", false),
    ] {
        assert_eq!(wide.call(url).await.is_ok(), open, "{url}");
        if !open {
            assert_eq!(wide.dialled(), [], "{url}");
        }
        wide.dialled();
    }
    let exact = World::new(&[network("169.254.169.254/32"), network("169.254.0.0/16")]).await;
    assert!(exact.call("http://169.254.169.254/").await.is_ok());
    assert!(exact.call("http://169.254.3.4/").await.is_ok());
    assert!(exact.call("http://169.254.170.2/").await.is_err());
}

#[tokio::test]
async fn a_redirect_leads_nowhere() {
    let server = Server::start(|_, _, _| {
        let redirect = http::Response::builder().status(302).header("location", "http://127.0.0.1:1/secret");
        redirect.body(axum::body::Body::empty()).unwrap()
    })
    .await;
    let dialer = Dialer::new(Options::new(Allow::new(vec![network("127.0.0.0/8")])));
    let target = Target::parse(&server.url).unwrap();
    let answer = dialer.call(&target, Ask::default(), BOUNDS).await.unwrap();
    assert_eq!(answer.status, StatusCode::FOUND);
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn answers_are_bounded() {
    let server = Server::start(|_, asked, _| {
        let body = if asked.line.ends_with("large") {
            axum::body::Body::from(vec![b'x'; 70_000])
        } else {
            axum::body::Body::from_stream(futures_util::stream::pending::<io::Result<bytes::Bytes>>())
        };
        http::Response::new(body)
    })
    .await;
    let dialer = Dialer::new(Options::new(Allow::new(vec![network("127.0.0.0/8")])));
    let at = |path: &str| Target::parse(&format!("{}/{path}", server.url)).unwrap();
    let large = dialer.call(&at("large"), Ask::default(), BOUNDS).await;
    assert_eq!(large.unwrap_err(), Error::TooLarge(64 * 1024));
    let within = Duration::from_millis(50);
    let slow = dialer.call(&at("slow"), Ask::default(), (64 * 1024, within)).await;
    assert_eq!(slow.unwrap_err(), Error::TooSlow(within));
}

/// The name that was asked for is the one in the certificate and in the request, whatever address was dialled.
#[tokio::test]
async fn tls_is_with_the_name_and_not_with_the_address() {
    let certificates = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/certificates");
    let node = TestNode::with(|settings| {
        let (certificate, key) = (certificates.join("cert.pem"), certificates.join("key.pem"));
        settings.node.listen = vec![Listen::Https { at: ([127, 0, 0, 1], 0).into(), certificate, key }];
    })
    .await;
    let port: u16 = node.url().rsplit(':').next().unwrap().parse().unwrap();
    let names = Arc::new(Names::default());
    names.tell("localhost", &["127.0.0.1"]);
    names.tell("other.example", &["127.0.0.1"]);
    let mut options = Options::new(Allow::new(vec![network("127.0.0.0/8")]));
    options.resolver = names;
    let ca = CertificateDer::from_pem_file(certificates.join("ca.pem")).unwrap();
    options.roots.add(ca).unwrap();
    let dialer = Dialer::new(options);
    let at = |host: &str| Target::parse(&format!("https://{host}:{port}/healthz")).unwrap();
    let answer = dialer.call(&at("localhost"), Ask::default(), BOUNDS).await.unwrap();
    assert_eq!(answer.status, StatusCode::OK);
    let foreign = dialer.call(&at("other.example"), Ask::default(), BOUNDS).await;
    assert!(matches!(&foreign, Err(Error::Unreachable(why)) if why.contains("certificate")), "{foreign:?}");
    drop(dialer);
    node.finish().await;
}

//! HTTP over guarded connections.

use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::USER_AGENT;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client as Pool;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};

use super::allow::Allow;
use super::connect::{Connect, Connector, Tcp};
use super::guard::{Error, Guard};
use super::resolve::{Resolver, System};
use super::target::{Refused, Target};

/// Idle connections are closed by then, before most servers close them under a request.
const IDLE: Duration = Duration::from_secs(20);

/// Idle connections to one host.
const IDLE_EACH: usize = 32;

/// Bytes of an answer's head.
const HEAD: usize = 64 * 1024;

const AGENT: HeaderValue = HeaderValue::from_static(concat!("baton/", env!("CARGO_PKG_VERSION")));

/// What a dialer is made of; what is left out is the real thing.
pub struct Options {
    pub allow: Allow,
    pub resolver: Arc<dyn Resolver>,
    pub connect: Arc<dyn Connect>,
    /// Certificate authorities; the public ones where nothing else is said.
    pub roots: RootCertStore,
}

impl Options {
    pub fn new(allow: Allow) -> Self {
        let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        Self { allow, resolver: Arc::new(System), connect: Arc::new(Tcp), roots }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("allow", &self.allow).finish_non_exhaustive()
    }
}

/// The guarded dialer. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Dialer {
    guard: Guard,
    /// Made at the first call.
    pool: Arc<LazyLock<Connections, Box<dyn FnOnce() -> Connections + Send>>>,
}

type Connections = Pool<HttpsConnector<Connector>, Full<Bytes>>;

/// One request, but for where it goes.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    pub method: Method,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Dialer {
    pub fn new(options: Options) -> Self {
        let Options { allow, resolver, connect, roots } = options;
        let guard = Guard::new(allow, resolver);
        let connector = Connector::new(guard.clone(), connect);
        Self { guard, pool: Arc::new(LazyLock::new(Box::new(|| pool(connector, roots)))) }
    }

    /// The early look at a URL that is to be called later.
    pub async fn look(&self, url: &str) -> Result<Target, Refused> {
        self.guard.look(url).await
    }

    /// Sends one request and waits up to `within` for the head of the answer. A redirect is an answer like any other:
    /// nothing follows it.
    pub async fn open(&self, to: &Target, ask: Ask, within: Duration) -> Result<Response<Incoming>, Error> {
        let mut request = Request::new(Full::new(ask.body));
        *request.method_mut() = ask.method;
        *request.uri_mut() = to.uri().clone();
        *request.headers_mut() = ask.headers;
        request.headers_mut().insert(USER_AGENT, AGENT);
        match tokio::time::timeout(within, self.pool.request(request)).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(why)) => Err(cause(&why)),
            Err(_) => Err(Error::TooSlow(within)),
        }
    }

    /// Sends one request and reads the whole answer: at most `most` bytes, within `within` from now.
    pub async fn call(
        &self,
        to: &Target,
        ask: Ask,
        (most, within): (usize, Duration),
    ) -> Result<Answer, Error> {
        let whole = async {
            let (head, body) = self.open(to, ask, within).await?.into_parts();
            match Limited::new(body, most).collect().await {
                Ok(body) => Ok(Answer { status: head.status, headers: head.headers, body: body.to_bytes() }),
                Err(why) if why.is::<LengthLimitError>() => Err(Error::TooLarge(most)),
                Err(why) => Err(cause(why.as_ref())),
            }
        };
        tokio::time::timeout(within, whole).await.unwrap_or(Err(Error::TooSlow(within)))
    }
}

fn pool(connector: Connector, roots: RootCertStore) -> Connections {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has the default versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = hyper_rustls::HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_http1()
        .wrap_connector(connector);
    let mut pool = Pool::builder(TokioExecutor::new());
    pool.pool_idle_timeout(IDLE).pool_timer(TokioTimer::new()).pool_max_idle_per_host(IDLE_EACH);
    pool.http1_max_buf_size(HEAD);
    pool.build(connector)
}

/// Our own error where one is at the bottom of another's, else the bottom.
fn cause(error: &(dyn std::error::Error + 'static)) -> Error {
    let mut at = error;
    loop {
        if let Some(ours) = at.downcast_ref::<Error>() {
            return ours.clone();
        }
        match at.source() {
            Some(source) => at = source,
            None => return Error::Unreachable(at.to_string()),
        }
    }
}

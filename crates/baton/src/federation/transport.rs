//! HTTP to one place: connections, TLS, the token, and what an answer may cost.

use std::fmt;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, HeaderValue, LOCATION, USER_AGENT};
use http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use tokio::net::UnixStream;

use super::{Address, Error, Place};
use crate::net::dialer::{self, Ask, Dialer, Target};

/// How a place is called.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Sent to the place that was named, and nowhere else.
    pub token: Option<Token>,
    /// A PEM file with certificate authorities that are trusted besides the public ones.
    pub ca_file: Option<PathBuf>,
    pub limits: Limits,
}

/// What another agent's answers may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of an agent card.
    pub card: usize,
    /// Bytes of an answer: a task with all its artifacts and its history.
    pub answer: usize,
    /// Bytes of one event of a stream; the first can hold the whole task.
    pub event: usize,
    /// How long a short answer may take.
    pub answer_within: Duration,
    /// How long a blocking send may take: servers wait up to ten minutes before they answer with the task as it is.
    pub send_within: Duration,
    /// Silence after which a stream counts as lost. Servers that keep streams alive say something every few seconds;
    /// the others lose nothing, as the stream is resumed.
    pub silence: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            card: 1024 * 1024,
            answer: 96 * 1024 * 1024,
            event: 96 * 1024 * 1024,
            answer_within: Duration::from_secs(30),
            send_within: Duration::from_mins(15),
            silence: Duration::from_mins(5),
        }
    }
}

/// A bearer token. Never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(HeaderValue);

impl Token {
    pub fn parse(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        let value = HeaderValue::try_from(format!("Bearer {text}"));
        let (true, Ok(mut value)) = (plain, value) else {
            let why = "the token is empty or holds characters that a header cannot carry; copy it again";
            return Err(Error::Unusable(why.to_owned()));
        };
        value.set_sensitive(true);
        Ok(Self(value))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// How long a connection may take to be made.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// After this much silence the kernel asks whether the other side is still there.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Idle connections are closed by then, before most servers close them under a request.
const IDLE: Duration = Duration::from_secs(20);

type Body = Full<Bytes>;

/// Connections to other agents. Cheap to clone.
#[derive(Clone)]
pub struct Transport {
    wires: Wires,
    /// With the place that it was given for.
    token: Option<(Place, Token)>,
    pub(super) limits: Limits,
}

#[derive(Clone)]
enum Wires {
    /// To what somebody else named.
    Guarded(Dialer),
    Net(Pool<HttpsConnector<HttpConnector>, Body>),
    Unix(Pool<UnixConnector, Body>),
}

impl Transport {
    /// For an agent at `place`, and for what its card names. Behind a unix socket everything is at that socket.
    pub fn new(place: &Place, options: &Options) -> Result<Self, Error> {
        let wires = match place {
            Place::Unix(path) => Wires::Unix(pool().build(UnixConnector(path.clone()))),
            Place::Tcp { .. } => Wires::Net(pool().build(connector(options.ca_file.as_deref())?)),
        };
        let token = options.token.clone().map(|token| (place.clone(), token));
        Ok(Self { wires, token, limits: options.limits })
    }

    /// For places that somebody else named. No token goes anywhere.
    pub const fn guarded(dialer: Dialer, limits: Limits) -> Self {
        Self { wires: Wires::Guarded(dialer), token: None, limits }
    }

    /// The same, with a token for one place.
    #[must_use]
    pub fn with_token(self, place: Place, token: Token) -> Self {
        Self { token: Some((place, token)), ..self }
    }

    /// Whether calls to `place` carry the token.
    pub fn is_token_for(&self, place: &Place) -> bool {
        self.token.as_ref().is_some_and(|(origin, _)| self.is_unix() || origin.is_origin_of(place))
    }

    pub const fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Whether somebody else named where it goes.
    pub const fn is_guarded(&self) -> bool {
        matches!(self.wires, Wires::Guarded(_))
    }

    const fn is_unix(&self) -> bool {
        matches!(self.wires, Wires::Unix(_))
    }

    /// Sends one request and waits up to `within` for the head of the answer.
    pub async fn send(
        &self,
        to: &Address,
        call: Call<'_>,
        within: Duration,
    ) -> Result<Response<Incoming>, Error> {
        let url = to.to_string();
        let mut request = Request::builder().method(call.method).uri(to.uri()?);
        request = request.header(USER_AGENT, concat!("baton/", env!("CARGO_PKG_VERSION")));
        request = request.header(ACCEPT, call.accept);
        for (name, value) in call.headers {
            request = request.header(*name, *value);
        }
        if let Some((_, Token(value))) = self.token.as_ref().filter(|_| self.is_token_for(&to.place)) {
            request = request.header(AUTHORIZATION, value);
        }
        let request = request
            .body(Full::new(call.body))
            .map_err(|why| Error::Unusable(format!("cannot write a request to {url}: {why}")))?;
        let answer = async {
            match &self.wires {
                Wires::Guarded(dialer) => return guarded(dialer, request, &url, within).await,
                Wires::Net(pool) => pool.request(request).await,
                Wires::Unix(pool) => pool.request(request).await,
            }
            .map_err(|why| Error::Unreachable { url: url.clone(), why: root_cause(&why) })
        };
        match tokio::time::timeout(within, answer).await {
            Ok(Ok(response)) => refuse_redirect(response, &url),
            Ok(Err(why)) => Err(why),
            Err(_) => Err(Error::Unreachable { url, why: format!("no answer within {within:?}") }),
        }
    }

    /// Sends one request and reads the whole answer.
    pub async fn call(
        &self,
        to: &Address,
        call: Call<'_>,
        bounds: (usize, Duration),
    ) -> Result<(StatusCode, Bytes), Error> {
        let (limit, within) = bounds;
        let url = to.to_string();
        let whole = async {
            let response = self.send(to, call, within).await?;
            let status = response.status();
            Ok((status, read(response, limit, &url).await?))
        };
        match tokio::time::timeout(within, whole).await {
            Ok(answer) => answer,
            Err(_) => Err(Error::Unreachable { url, why: format!("no whole answer within {within:?}") }),
        }
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport").field("token", &self.token).finish_non_exhaustive()
    }
}

/// One request, but for where it goes.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    pub method: Method,
    pub accept: &'static str,
    pub headers: &'a [(&'static str, &'a str)],
    pub body: Bytes,
}

async fn guarded(
    dialer: &Dialer,
    request: Request<Body>,
    url: &str,
    within: Duration,
) -> Result<Response<Incoming>, Error> {
    let target = Target::parse(url).map_err(|why| Error::Unusable(format!("`{url}` {why}")))?;
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let ask = Ask { method: head.method, headers: head.headers, body };
    dialer.open(&target, ask, within).await.map_err(|why| match why {
        dialer::Error::Refused(why) => Error::Unusable(format!("`{url}` {why}")),
        other => Error::Unreachable { url: url.to_owned(), why: other.to_string() },
    })
}

/// The whole body, as far as it is allowed to go.
pub(super) async fn read(response: Response<Incoming>, limit: usize, url: &str) -> Result<Bytes, Error> {
    match Limited::new(response.into_body(), limit).collect().await {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(why) if why.is::<LengthLimitError>() => {
            Err(Error::unreadable(url, format!("the answer is larger than {limit} bytes")))
        }
        Err(why) => Err(Error::Unreachable { url: url.to_owned(), why: root_cause(why.as_ref()) }),
    }
}

/// A redirect could lead a request and its token anywhere.
fn refuse_redirect(response: Response<Incoming>, url: &str) -> Result<Response<Incoming>, Error> {
    if !response.status().is_redirection() || response.status() == StatusCode::NOT_MODIFIED {
        return Ok(response);
    }
    let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or("another place");
    Err(Error::unreadable(
        url,
        format!("redirects to {to}, which is not followed; name that URL yourself if you trust it"),
    ))
}

/// What went wrong at the bottom: the layers above say only that they could not.
fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut at = error;
    while let Some(source) = at.source() {
        at = source;
    }
    at.to_string()
}

fn pool() -> hyper_util::client::legacy::Builder {
    let mut builder = Pool::builder(TokioExecutor::new());
    builder.pool_idle_timeout(IDLE).pool_timer(TokioTimer::new());
    builder
}

fn connector(ca_file: Option<&Path>) -> Result<HttpsConnector<HttpConnector>, Error> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_connect_timeout(Some(CONNECT_WITHIN));
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.set_nodelay(true);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has the default versions")
        .with_root_certificates(roots(ca_file)?)
        .with_no_client_auth();
    Ok(hyper_rustls::HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp))
}

/// The public authorities, and those of a file.
fn roots(ca_file: Option<&Path>) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let Some(file) = ca_file else { return Ok(roots) };
    let wrong =
        |why: String| Error::Unusable(format!("cannot take certificates from {}: {why}", file.display()));
    let certificates = CertificateDer::pem_file_iter(file).map_err(|why| wrong(why.to_string()))?;
    let certificates: Vec<_> =
        certificates.collect::<Result<_, _>>().map_err(|why| wrong(why.to_string()))?;
    let (added, _) = roots.add_parsable_certificates(certificates);
    if added == 0 { Err(wrong("there is none that can be used".to_owned())) } else { Ok(roots) }
}

/// Connects every request to one socket, whatever its URI says.
#[derive(Clone, Debug)]
struct UnixConnector(PathBuf);

impl tower::Service<Uri> for UnixConnector {
    type Response = TokioIo<UnixStream>;
    type Error = std::io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let path = self.0.clone();
        Box::pin(async move { UnixStream::connect(path).await.map(TokioIo::new) })
    }
}

//! Plain HTTP requests, over TCP and over the node's socket.

pub use baton_wire::query::segment;
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::client::WantsClientCert;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore};
use serde_json::Value;

use super::{Answer, Door, grpc, soon};

/// A client that opens a connection for each request, so that none outlives the node it goes to.
#[derive(Clone, Debug)]
pub struct Http {
    one: Pool,
    two: Pool,
}

type Pool = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

impl Default for Http {
    fn default() -> Self {
        Self::tls(tls(RootCertStore::empty()).with_no_client_auth())
    }
}

/// Of a client of TLS, all but who it is.
pub fn tls(roots: RootCertStore) -> ConfigBuilder<ClientConfig, WantsClientCert> {
    let provider = rustls::crypto::ring::default_provider().into();
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    builder.unwrap().with_root_certificates(roots)
}

impl Http {
    pub fn tls(config: ClientConfig) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        let connector = HttpsConnector::from((tcp, config));
        let mut builder = Client::builder(TokioExecutor::new());
        let one = builder.pool_max_idle_per_host(0).build(connector.clone());
        Self { one, two: builder.http2_only(true).build(connector) }
    }

    pub async fn open(&self, request: Request<Full<Bytes>>, door: Door) -> Response<Incoming> {
        self.try_open(request, door).await.expect("the node answers")
    }

    /// The same where there may be no connection at all.
    pub async fn try_open(
        &self,
        request: Request<Full<Bytes>>,
        door: Door,
    ) -> Result<Response<Incoming>, hyper_util::client::legacy::Error> {
        let client = if door == Door::Grpc { &self.two } else { &self.one };
        let path = Path(request.uri().path().to_owned());
        let mut response = soon(client.request(request)).await?;
        response.extensions_mut().insert(path);
        Ok(response)
    }

    pub async fn answer(&self, request: Request<Full<Bytes>>, door: Door) -> Answer {
        whole(self.open(request, door).await, door).await
    }
}

/// The path that an answer came from.
#[derive(Clone, Debug)]
pub struct Path(pub String);

/// A request with these headers.
pub fn request(
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(method).uri(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::new(body.into())).unwrap()
}

pub async fn whole(response: Response<Incoming>, door: Door) -> Answer {
    let (mut parts, body) = response.into_parts();
    if door == Door::Grpc {
        let path = parts.extensions.remove::<Path>().expect("the client says where it asked");
        let body = grpc::whole(&path.0, body, &mut parts.headers).await.to_string().into();
        return Answer { door, status: parts.status.as_u16(), headers: parts.headers, body };
    }
    let body = soon(body.collect()).await.expect("the answer comes whole").to_bytes();
    Answer { door, status: parts.status.as_u16(), headers: parts.headers, body }
}

pub async fn over_socket(socket: &std::path::Path, method: &str, path: &str, body: Option<&Value>) -> Answer {
    let stream = tokio::net::UnixStream::connect(socket).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    let connection = tokio::spawn(connection);
    let body = body.map(Value::to_string).unwrap_or_default();
    let headers = [("host", "localhost"), ("content-type", "application/json")];
    let response = soon(sender.send_request(request(method, path, &headers, body))).await.unwrap();
    let answer = whole(response, Door::Rest).await;
    connection.abort();
    answer
}

/// `?a=1&b=2` of an object of scalars.
pub fn query(params: &Value) -> String {
    let mut out = String::new();
    for (name, value) in params.as_object().unwrap() {
        out.push(if out.is_empty() { '?' } else { '&' });
        out.push_str(name);
        out.push('=');
        out.push_str(&segment(&value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
    }
    out
}

/// The first value of a header.
pub fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).map(|value| value.to_str().unwrap())
}

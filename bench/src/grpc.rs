//! Owns the gRPC half of the load generator: callers over HTTP/2 that each send a unary call, wait for its answer, check it
//! and send the next. Messages are spelled by hand, so that the generator costs little.

use bytes::{Buf as _, Bytes, BytesMut};
use h2::client::SendRequest;
use http::Request;
use tokio::net::TcpStream;

use crate::Result;
use crate::load::Exchange;
use crate::messages::{TEXT, hexadecimal};

/// Bytes before a message: not compressed, and its length.
const PREFIX: usize = 5;

/// Blocking SendMessage to one agent.
#[derive(Debug)]
pub struct Send {
    tenant: &'static str,
    /// Callers that share a connection.
    each: usize,
}

impl Send {
    pub const PATH: &'static str = "/lf.a2a.v1.A2AService/SendMessage";

    pub const fn new(tenant: &'static str, each: usize) -> Self {
        Self { tenant, each }
    }
}

impl Exchange for Send {
    fn grpc(&self) -> Option<(&'static str, usize)> {
        Some((Self::PATH, self.each))
    }

    /// SendMessageRequest: tenant 1, message 2; Message: message_id 1, role 4, parts 5; Part: text 1.
    fn write(&self, number: u64, out: &mut Vec<u8>) {
        let digits = hexadecimal(number);
        let text = [TEXT.as_bytes(), &digits].concat();
        let mut part = Vec::with_capacity(64);
        field(1, &text, &mut part);
        let mut message = Vec::with_capacity(128);
        field(1, &digits, &mut message);
        // ROLE_USER, a varint.
        message.extend_from_slice(&[4 << 3, 1]);
        field(5, &part, &mut message);
        let start = out.len();
        out.extend_from_slice(&[0; PREFIX]);
        field(1, self.tenant.as_bytes(), out);
        field(2, &message, out);
        let length = (out.len() - start - PREFIX) as u32;
        out[start + 1..start + PREFIX].copy_from_slice(&length.to_be_bytes());
    }

    /// A completed task that repeats the text: its artifact does so after the history.
    fn accepts(&self, number: u64, body: &[u8]) -> bool {
        let text = [TEXT.as_bytes(), &hexadecimal(number)].concat();
        memchr::memmem::find_iter(body, &text).count() >= 2
    }
}

/// A length-delimited field of fewer than 16,384 bytes.
fn field(number: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(number << 3 | 2);
    match bytes.len() {
        short @ 0..128 => out.push(short as u8),
        length => out.extend_from_slice(&[length as u8 | 0x80, (length >> 7) as u8]),
    }
    out.extend_from_slice(bytes);
}

/// A caller's part in one connection.
#[derive(Clone)]
pub struct Channel {
    requests: SendRequest<Bytes>,
    uri: String,
}

impl Channel {
    pub async fn open(stream: TcpStream, path: &str) -> Result<Self> {
        let uri = format!("http://{}{path}", stream.peer_addr()?);
        let (requests, connection) = h2::client::handshake(stream).await?;
        tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(Self { requests, uri })
    }

    /// The answer's message; any status but OK is an error.
    pub async fn call(&mut self, message: &[u8]) -> Result<Bytes> {
        let request = Request::post(&self.uri)
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .header("a2a-version", "1.0")
            .body(())?;
        self.requests = self.requests.clone().ready().await?;
        let (answer, mut body) = self.requests.send_request(request, false)?;
        body.send_data(Bytes::copy_from_slice(message), true)?;
        let answer = answer.await?;
        let status = |headers: &http::HeaderMap| {
            headers.get("grpc-status").map(|value| value.to_str().unwrap_or("?").to_owned())
        };
        let mut found = status(answer.headers());
        let mut body = answer.into_body();
        let mut whole = BytesMut::new();
        while let Some(data) = body.data().await {
            let data = data?;
            body.flow_control().release_capacity(data.len())?;
            whole.extend_from_slice(&data);
        }
        if let Some(trailers) = body.trailers().await? {
            found = status(&trailers).or(found);
        }
        if found.as_deref() != Some("0") || whole.len() < PREFIX {
            return Err(format!("gRPC status {found:?}, {} bytes", whole.len()).into());
        }
        whole.advance(PREFIX);
        Ok(whole.freeze())
    }
}

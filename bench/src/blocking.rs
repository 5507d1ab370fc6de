//! Owns the one-at-a-time client: a keep-alive connection over TCP or a Unix socket, for latencies at
//! concurrency 1, readiness and the node's status. The load generator has its own loop.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::Result;
use crate::http::{self, Door};

/// A server that is silent for this long has failed the run.
const SILENCE: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub struct Client<S> {
    stream: S,
    host: String,
    request: Vec<u8>,
    buffer: Vec<u8>,
}

pub fn tcp(address: SocketAddr) -> Result<Client<TcpStream>> {
    let stream = TcpStream::connect_timeout(&address, SILENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    Ok(Client { stream, host: address.to_string(), request: Vec::new(), buffer: Vec::new() })
}

pub fn unix(path: &Path) -> Result<Client<UnixStream>> {
    let stream = UnixStream::connect(path).map_err(|error| format!("node socket: {error}"))?;
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    Ok(Client { stream, host: "localhost".to_owned(), request: Vec::new(), buffer: Vec::new() })
}

impl<S: Read + Write> Client<S> {
    /// The body of a 200 answer.
    pub fn get(&mut self, path: &str) -> Result<Vec<u8>> {
        self.request.clear();
        http::write_get(&self.door(path), &mut self.request);
        self.exchange()
    }

    /// The body of a 200 answer.
    pub fn post(&mut self, path: &str, body: &[u8]) -> Result<Vec<u8>> {
        self.request.clear();
        http::write_post(&self.door(path), body, &mut self.request);
        self.exchange()
    }

    pub fn get_json(&mut self, path: &str) -> Result<Value> {
        Ok(serde_json::from_slice(&self.get(path)?)?)
    }

    /// The `result` of a JSON-RPC call; an error answer is an error here.
    pub fn call(&mut self, path: &str, method: &str, params: &Value) -> Result<Value> {
        let body = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut answer: Value = serde_json::from_slice(&self.post(path, body.to_string().as_bytes())?)?;
        match answer.get_mut("result") {
            Some(result) => Ok(result.take()),
            None => Err(format!("{method} was refused: {answer}").into()),
        }
    }

    fn door(&self, path: &str) -> Door {
        Door { host: self.host.clone(), path: path.to_owned(), token: None }
    }

    /// Any answer to a request that is written out: its status, its head and its body.
    pub fn ask(&mut self, request: &str) -> Result<(u16, String, Vec<u8>)> {
        self.request.clear();
        self.request.extend_from_slice(request.as_bytes());
        self.answer()
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    fn exchange(&mut self) -> Result<Vec<u8>> {
        match self.answer()? {
            (200, _, body) => Ok(body),
            (status, _, body) => Err(format!("HTTP {status}: {}", String::from_utf8_lossy(&body)).into()),
        }
    }

    fn answer(&mut self) -> Result<(u16, String, Vec<u8>)> {
        self.stream.write_all(&self.request)?;
        self.buffer.clear();
        let mut chunk = [0; 16 * 1024];
        loop {
            if let Some(answer) = http::parse(&self.buffer)? {
                let head = String::from_utf8_lossy(&self.buffer[..answer.body_start]).into_owned();
                let body = self.buffer[answer.body_start..answer.body_end].to_vec();
                return Ok((answer.status, head, body));
            }
            match self.stream.read(&mut chunk)? {
                0 => return Err("the server closed the connection".into()),
                length => self.buffer.extend_from_slice(&chunk[..length]),
            }
        }
    }
}

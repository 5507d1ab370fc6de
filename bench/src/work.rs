//! Owns what the bench says as a worker, and as who hands work in for workers.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use memchr::memmem::find;

use crate::blocking::Client;
use crate::{Result, cycles, messages};

/// The agent that workers serve.
pub const CLERK: &str = "clerk";
const DOOR: &str = "/a2a/clerk";
/// A stream is not silent for longer, or it is lost.
const STREAM_SILENCE: Duration = Duration::from_secs(20);

/// A task in a worker's hands.
#[derive(Debug)]
pub struct Claimed {
    pub task: String,
    pub token: String,
}

/// Hands in this many tasks, with as many clients; each is on disk when it is answered.
pub fn hand_in(address: SocketAddr, clients: usize, count: u64) -> Result<()> {
    cycles::run((address, clients), count, |client, number| {
        let start = Instant::now();
        send(client, number)?;
        Ok(start.elapsed())
    })
    .map(|_| ())
}

/// Hands in one task; its id.
pub fn send(client: &mut Client<TcpStream>, number: u64) -> Result<String> {
    let body = messages::send_body(number, true);
    let answer = client.post(DOOR, body.as_bytes())?;
    match find(&answer, b"TASK_STATE_SUBMITTED").or_else(|| find(&answer, b"TASK_STATE_WORKING")) {
        Some(_) => member(&answer, b"\"task\":{\"id\":\"").ok_or_else(|| "a task without an id".into()),
        None => Err(format!("not handed in: {}", String::from_utf8_lossy(&answer)).into()),
    }
}

/// Hands in one task and waits for its result.
pub fn send_and_wait(client: &mut Client<TcpStream>, number: u64) -> Result<()> {
    let body = messages::send_body(number, false);
    let answer = client.post(DOOR, body.as_bytes())?;
    match find(&answer, b"TASK_STATE_COMPLETED") {
        Some(_) => Ok(()),
        None => Err(format!("not completed: {}", String::from_utf8_lossy(&answer)).into()),
    }
}

/// The event stream of a task, over a connection of its own.
#[derive(Debug)]
pub struct Stream {
    connection: TcpStream,
    read: Vec<u8>,
}

impl Stream {
    /// It is open when its first event, the task as it is, was read.
    pub fn open(address: SocketAddr, task: &str) -> Result<Self> {
        let mut connection = TcpStream::connect(address)?;
        connection.set_nodelay(true)?;
        connection.set_read_timeout(Some(STREAM_SILENCE))?;
        let body = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"SubscribeToTask\",\"params\":{{\"id\":\"{task}\"}}}}"
        );
        let request = format!(
            "POST {DOOR} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\na2a-version: 1.0\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        connection.write_all(request.as_bytes())?;
        let mut stream = Self { connection, read: Vec::new() };
        stream.read_until(b"\"task\":{")?;
        Ok(stream)
    }

    /// Reads on until these bytes have come.
    pub fn read_until(&mut self, wanted: &[u8]) -> Result<()> {
        let mut chunk = [0; 16 * 1024];
        while find(&self.read, wanted).is_none() {
            match self.connection.read(&mut chunk)? {
                0 => return Err(format!("the stream ended: {}", String::from_utf8_lossy(&self.read)).into()),
                length => self.read.extend_from_slice(&chunk[..length]),
            }
        }
        Ok(())
    }
}

/// The next task, where there is one within so many seconds.
pub fn claim(client: &mut Client<TcpStream>, token: &str, wait: u64) -> Result<Option<Claimed>> {
    let body = if wait == 0 { "{}".to_owned() } else { format!("{{\"wait_seconds\":{wait}}}") };
    let answer = says(client, token, "claim_next", &body)?;
    let Some(task) = member(&answer, b"\"task_id\":\"") else { return Ok(None) };
    let token = member(&answer, b"\"lease_token\":\"").ok_or("a claimed task without a token")?;
    Ok(Some(Claimed { task, token }))
}

pub fn complete(client: &mut Client<TcpStream>, token: &str, claimed: &Claimed) -> Result<()> {
    let body = format!(
        "{{\"task_id\":\"{}\",\"lease_token\":\"{}\",\"result\":\"{} and so on\"}}",
        claimed.task,
        claimed.token,
        messages::TEXT
    );
    let answer = says(client, token, "complete", &body)?;
    match find(&answer, b"TASK_STATE_COMPLETED") {
        Some(_) => Ok(()),
        None => Err(format!("not completed: {}", String::from_utf8_lossy(&answer)).into()),
    }
}

fn says(client: &mut Client<TcpStream>, token: &str, verb: &str, body: &str) -> Result<Vec<u8>> {
    let request = format!(
        "POST /api/v1/work/{verb} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\ncontent-type: \
         application/json\r\ncontent-length: {}\r\n\r\n{body}",
        client.host(),
        body.len()
    );
    match client.ask(&request)? {
        (200, _, body) => Ok(body),
        (status, _, body) => Err(format!("{verb}: HTTP {status}: {}", String::from_utf8_lossy(&body)).into()),
    }
}

/// The text behind the first of these members.
fn member(json: &[u8], name: &[u8]) -> Option<String> {
    let start = find(json, name)? + name.len();
    let end = start + memchr::memchr(b'"', &json[start..])?;
    std::str::from_utf8(&json[start..end]).ok().map(str::to_owned)
}

//! Owns the section `streams`: what an open event stream costs the node, and how long an event takes to the last of many
//! subscribers of one task.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use memchr::memmem;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::http::{self, Door};
use crate::jsonl::{HOLD, PAUSE, TICK, TICKS};
use crate::node::{Node, TURN};
use crate::options::Options;
use crate::report::{Bar, Report};
use crate::{Result, stats};

const NAME: &str = "streams";
/// Open streams, and KiB of resident memory that each may cost.
const OPEN: usize = 5_000;
const EACH: Bar = Bar::AtMost(20.0);
/// Subscribers of one task, and milliseconds to the last of them.
const SUBSCRIBERS: usize = 1_000;
const LAST: Bar = Bar::AtMost(50.0);
/// What an open stream keeps is there after this long.
const SETTLE: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_mins(1);
/// Streams that are opened at the same time.
const OPENING: usize = 64;

pub fn run(options: &Options, report: &mut Report) -> Result<()> {
    let Some(binary) = options.node_binary()? else {
        return Ok(());
    };
    let folder = options.scratch_folder()?;
    allow_files(2 * OPEN as u64);
    let node = Node::start_with_jsonl(&binary, folder.path())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        open_streams(&node, report).await?;
        last_subscriber(&node, report).await
    })?;
    node.stop()
}

/// Resident memory of the node before and after many streams of one task.
async fn open_streams(node: &Node, report: &mut Report) -> Result<()> {
    let task = begin(node, HOLD)?;
    let door = node.door(TURN);
    // What the first streams bring once is not what each costs.
    let first = open(node.address(), &door, &task, OPENING).await?;
    tokio::time::sleep(SETTLE).await;
    let before = node.memory()?;
    let rest = open(node.address(), &door, &task, OPEN - OPENING).await?;
    tokio::time::sleep(SETTLE).await;
    let after = node.memory()?;
    let each = (after.resident - before.resident) * 1024.0 / (OPEN - OPENING) as f64;
    let detail = format!("{:.1} MiB with {OPENING}, {:.1} MiB with {OPEN}", before.resident, after.resident);
    report.hold(NAME, "resident memory of a stream", (each, "KiB"), EACH, detail);
    drop((first, rest));
    node.client()?.call(TURN, "CancelTask", &json!({"id": task}))?;
    Ok(())
}

/// From the agent's line to the last of the subscribers, for every line.
async fn last_subscriber(node: &Node, report: &mut Report) -> Result<()> {
    let task = begin(node, TICK)?;
    let door = node.door(TURN);
    let streams = open(node.address(), &door, &task, SUBSCRIBERS).await?;
    let ready = Arc::new(Barrier::new(SUBSCRIBERS + 1));
    let mut readers = JoinSet::new();
    for stream in streams {
        let ready = Arc::clone(&ready);
        readers.spawn(async move {
            ready.wait().await;
            timeout(PATIENCE, ticks(stream)).await?
        });
    }
    ready.wait().await;
    let start = json!({"message": {"messageId": "go", "taskId": task, "role": "ROLE_USER", "parts": [{"text": "go"}]},
        "configuration": {"returnImmediately": true}});
    node.client()?.call(TURN, "SendMessage", &start)?;
    let mut slowest = vec![0_f64; TICKS];
    while let Some(read) = readers.join_next().await {
        let read: Vec<f64> = read??;
        if read.len() != TICKS {
            return Err(format!("a subscriber saw {} of {TICKS} events", read.len()).into());
        }
        slowest.iter_mut().zip(read).for_each(|(slowest, one)| *slowest = slowest.max(one));
    }
    let detail = format!(
        "p99 of {TICKS} events, one every {} ms, from the agent's line, its commit included; p50 {:.1} ms, largest {:.1} ms",
        PAUSE.as_millis(),
        stats::median(&slowest),
        stats::largest(&slowest)
    );
    let value = (stats::percentile(&slowest, 0.99), "ms");
    report.hold(NAME, "event to the last of 1,000 subscribers", value, LAST, detail);
    Ok(())
}

/// Hands a task in, and waits until its agent asks: subscribers are to find it as it will stay. Its identifier.
fn begin(node: &Node, text: &str) -> Result<String> {
    let params = json!({"message": {"messageId": text, "role": "ROLE_USER", "parts": [{"text": text}]}});
    let answer = node.client()?.call(TURN, "SendMessage", &params)?;
    let of = |path: &str| answer.pointer(path).and_then(Value::as_str);
    match (of("/task/status/state"), of("/task/id")) {
        (Some("TASK_STATE_INPUT_REQUIRED"), Some(id)) => Ok(id.to_owned()),
        _ => Err(format!("the agent does not ask: {answer}").into()),
    }
}

/// Streams that have shown their first event.
async fn open(address: SocketAddr, door: &Door, task: &str, count: usize) -> Result<Vec<TcpStream>> {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": {"id": task}});
    let mut request = Vec::new();
    http::write_post(door, body.to_string().as_bytes(), &mut request);
    let request = Arc::new(request);
    let (mut opening, mut streams) = (JoinSet::new(), Vec::with_capacity(count));
    for started in 0..count {
        if started >= OPENING
            && let Some(opened) = opening.join_next().await
        {
            streams.push(opened??);
        }
        let request = Arc::clone(&request);
        opening.spawn(async move { timeout(PATIENCE, open_one(address, &request)).await? });
    }
    while let Some(opened) = opening.join_next().await {
        streams.push(opened??);
    }
    Ok(streams)
}

async fn open_one(address: SocketAddr, request: &[u8]) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    stream.write_all(request).await?;
    let mut seen = Vec::with_capacity(2_048);
    while memmem::find(&seen, b"data: ").is_none() || !seen.ends_with(b"\n\r\n") {
        if stream.read_buf(&mut seen).await? == 0 {
            return Err(format!("no stream: {}", String::from_utf8_lossy(&seen)).into());
        }
    }
    Ok(stream)
}

/// Milliseconds that each event took to this reader.
async fn ticks(mut stream: TcpStream) -> Result<Vec<f64>> {
    let (mut taken, mut buffer) = (Vec::with_capacity(TICKS), Vec::with_capacity(4_096));
    while taken.len() < TICKS {
        if stream.read_buf(&mut buffer).await? == 0 {
            break;
        }
        let now = micros();
        let mut done = 0;
        for at in memmem::find_iter(&buffer, b"tick ") {
            let digits = &buffer[at + 5..];
            let Some(end) = digits.iter().position(|byte| !byte.is_ascii_digit()) else { break };
            let sent: u64 = std::str::from_utf8(&digits[..end])?.parse()?;
            taken.push(now.saturating_sub(sent) as f64 / 1_000.0);
            done = at + 5 + end;
        }
        // A number that is cut is read again with its rest.
        let keep = done.max(buffer.len().saturating_sub(64));
        buffer.drain(..keep);
    }
    Ok(taken)
}

/// Microseconds since 1970: the same clock in the agent's process.
pub fn micros() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64
}

/// Raises the limit of open files, here and so for the node, as far as it may be.
fn allow_files(wanted: u64) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let current = limit.maximum.map_or(wanted, |most| most.min(wanted));
    if limit.current.is_some_and(|now| now < current) {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(current), ..limit });
    }
}

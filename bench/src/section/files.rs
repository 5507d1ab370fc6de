//! Owns the section `files`: what a task with 60 MiB of artifacts costs a node in memory, on each way out. Each way is taken
//! from a fresh node, so that none inherits what another left.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::memory;
use crate::Result;
use crate::jsonl::{FILE, MEBIBYTES};
use crate::node::{Node, TURN};
use crate::options::Options;
use crate::report::{Bar, Report};

const NAME: &str = "files";
/// MiB above the idle node: the content once, and what is under way of it: pieces that are read, written and sent.
const ONCE: Bar = Bar::AtMost(MEBIBYTES as f64 * 1.5);
/// A node that is silent for so long has failed.
const SILENCE: Duration = Duration::from_mins(1);

pub fn run(options: &Options, report: &mut Report) -> Result<()> {
    let Some(binary) = options.node_binary()? else {
        return Ok(());
    };
    let mut task = String::new();
    for (name, method) in [("blocking send", "SendMessage"), ("streamed send", "SendStreamingMessage")] {
        let folder = options.scratch_folder()?;
        let peak = peak_of(&binary, folder.path(), |node| {
            let message = json!({"messageId": "file", "role": "ROLE_USER", "parts": [{"text": FILE}]});
            let answer = answered(node, method, &json!({"message": message}))?;
            let at = answer.find("\"id\":\"0").ok_or("no task in the answer")? + "\"id\":\"".len();
            answer[at..at + 36].clone_into(&mut task);
            Ok(())
        })?;
        report.hold(NAME, name, (peak, "MiB"), ONCE, above());
        if method == "SendMessage" {
            let peak = peak_of(&binary, folder.path(), |node| {
                answered(node, "GetTask", &json!({"id": task})).map(drop)
            })?;
            report.hold(NAME, "GetTask", (peak, "MiB"), ONCE, above());
        }
    }
    Ok(())
}

/// How far the resident memory of a node rises above idle by what is asked of it.
fn peak_of(binary: &Path, folder: &Path, ask: impl FnOnce(&Node) -> Result<()>) -> Result<f64> {
    let node = Node::start_with_jsonl(binary, folder)?;
    let idle = memory::settled(&node)?.resident;
    node.forget_peak()?;
    ask(&node)?;
    let peak = node.memory()?.peak;
    node.stop()?;
    Ok(peak - idle)
}

/// The answer as it came, which must hold all of the content.
fn answered(node: &Node, method: &str, params: &serde_json::Value) -> Result<String> {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let body = body.to_string();
    let mut connection = TcpStream::connect(node.address())?;
    connection.set_read_timeout(Some(SILENCE))?;
    write!(
        connection,
        "POST {TURN} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\na2a-version: 1.0\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        node.address(),
        body.len()
    )?;
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer)?;
    if answer.len() < MEBIBYTES * 1024 * 1024 {
        return Err(format!("{method} answered with {} bytes", answer.len()).into());
    }
    Ok(String::from_utf8(answer)?)
}

fn above() -> String {
    format!("peak above idle; the content has {MEBIBYTES} MiB")
}

//! Owns the `jsonl` agent of the bench and both of its ends: the child that Baton runs, and the bare pipe that
//! the node's turn is compared with. Baton's own text is `docs/process-agents.md`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::Result;
use crate::section::streams::micros;

/// A task of this text asks and waits; so does one of [`TICK`], which after the answer says a line now and then.
pub const HOLD: &str = "Hold this line";
pub const TICK: &str = "Tick for a while";
/// Lines of [`TICK`], and the pause between them: long enough that a line has come to everybody before the next. What many
/// lines in a row cost is throughput, and no latency.
pub const TICKS: usize = 200;
pub const PAUSE: Duration = Duration::from_millis(100);

/// A task of this text gets a file of so many mebibytes, in pieces that each fit into a line.
pub const FILE: &str = "Write a large file";
pub const MEBIBYTES: usize = 60;
const PIECES: usize = 80;

/// The command that runs [`agent`].
pub fn command() -> Result<Vec<String>> {
    let binary = std::env::current_exe()?;
    let binary = binary.to_str().ok_or("the bench's own path is not UTF-8")?;
    Ok(vec![binary.to_owned(), "jsonl-agent".to_owned()])
}

/// Answers every task with one artifact that repeats its text, until standard input ends.
pub fn agent() -> Result<()> {
    let mut output = std::io::stdout().lock();
    write_lines(&mut output, &[json!({"type": "ready"})])?;
    for line in std::io::stdin().lock().lines() {
        let line: Value = serde_json::from_str(&line?)?;
        match line["type"].as_str() {
            Some("task") if text(&line) == HOLD || text(&line) == TICK => {
                write_lines(
                    &mut output,
                    &[json!({"type": "ask", "task_id": line["task_id"], "text": "Go on?"})],
                )?;
            }
            Some("task") if text(&line) == FILE => write_file(&mut output, &line["task_id"])?,
            Some("message") if text(&line) == "go" => tick(&mut output, &line["task_id"])?,
            Some("task" | "message") => write_lines(&mut output, &answer(&line))?,
            Some("ping") => write_lines(&mut output, &[json!({"type": "pong"})])?,
            _ => {}
        }
    }
    Ok(())
}

/// What the newest message says.
fn text(line: &Value) -> &Value {
    let message =
        line["messages"].as_array().and_then(|messages| messages.last()).unwrap_or(&line["message"]);
    &message["parts"][0]["text"]
}

/// Lines that carry the time at which they were written.
fn tick(output: &mut impl Write, task: &Value) -> Result<()> {
    for _ in 0..TICKS {
        std::thread::sleep(PAUSE);
        let line = json!({"type": "status", "task_id": task, "text": format!("tick {} ", micros())});
        write_lines(output, &[line])?;
    }
    write_lines(output, &[json!({"type": "complete", "task_id": task})])
}

fn write_file(output: &mut impl Write, task: &Value) -> Result<()> {
    let raw = "QmF0".repeat(MEBIBYTES * 1024 * 1024 / PIECES / 4);
    for piece in 0..PIECES {
        let artifact = json!({"artifactId": "file", "parts": [{"raw": raw, "filename": "file"}]});
        let last = piece + 1 == PIECES;
        let line = json!({"type": "artifact", "task_id": task, "artifact": artifact, "append": piece > 0, "last_chunk": last});
        write_lines(output, &[line])?;
    }
    write_lines(output, &[json!({"type": "complete", "task_id": task})])
}

fn answer(line: &Value) -> [Value; 2] {
    let id = &line["task_id"];
    let text = text(line);
    [
        json!({"type": "artifact", "task_id": id, "artifact": {"parts": [{"text": text}]}}),
        json!({"type": "complete", "task_id": id}),
    ]
}

/// One write for all lines, as a careful agent does it.
fn write_lines(output: &mut impl Write, lines: &[Value]) -> Result<()> {
    let mut text = String::new();
    for line in lines {
        text.push_str(&line.to_string());
        text.push('\n');
    }
    output.write_all(text.as_bytes())?;
    output.flush()?;
    Ok(())
}

/// The same child on a bare pipe, without a node.
#[derive(Debug)]
pub struct Pipe {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Pipe {
    pub fn start() -> Result<Self> {
        let words = command()?;
        let mut child =
            Command::new(&words[0]).args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().ok_or("no standard input")?;
        let output = BufReader::new(child.stdout.take().ok_or("no standard output")?);
        let mut pipe = Self { child, input, output };
        pipe.read_until("ready")?;
        Ok(pipe)
    }

    /// Writes one task and reads to the end of its answer.
    pub fn turn(&mut self, number: u64) -> Result<()> {
        let task = json!({
            "type": "task", "task_id": format!("00000000-0000-7000-8000-{number:012x}"),
            "context_id": "bench-turns",
            "messages": [{"messageId": format!("turn-{number}"), "role": "ROLE_USER",
                "parts": [{"text": format!("Please echo this line back, number {number}")}]}],
        });
        write_lines(&mut self.input, &[task])?;
        self.read_until("complete")
    }

    fn read_until(&mut self, kind: &str) -> Result<()> {
        let mut text = String::new();
        loop {
            text.clear();
            if self.output.read_line(&mut text)? == 0 {
                return Err("the agent ended".into());
            }
            let line: Value = serde_json::from_str(&text)?;
            if line["type"] == kind {
                return Ok(());
            }
        }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

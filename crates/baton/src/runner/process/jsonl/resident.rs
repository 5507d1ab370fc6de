//! A `jsonl` child and its streams, with a task or without.

use futures_util::StreamExt as _;
use tokio::process::ChildStdout;
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};

use super::MAX_LINE_BYTES;
use super::down::Down;
use crate::runner::process::child::Child;
use crate::runner::process::exit::How;
use crate::runner::process::ladder::Ladder;
use crate::runner::process::stdio::{Stdin, Tail};

#[derive(Debug)]
pub struct Resident {
    child: Child,
    stdin: Stdin,
    /// `None` once it is closed.
    lines: Option<FramedRead<ChildStdout, LinesCodec>>,
    pub tail: Tail,
    /// It has said so.
    pub ready: bool,
    /// It has had a task before.
    pub warm: bool,
    gone: Option<How>,
    pings: u64,
}

/// What a child did.
#[derive(Debug, PartialEq)]
pub enum Heard {
    Line(String),
    /// A line that cannot be one; in words that follow "The agent".
    Unreadable(String),
    /// Standard output is closed.
    Closed,
    /// Nothing of it is left.
    Gone,
}

impl Resident {
    pub fn new(mut child: Child) -> Self {
        let lines = LinesCodec::new_with_max_length(MAX_LINE_BYTES);
        Self {
            stdin: Stdin::new(child.stdin.take()),
            lines: child.stdout.take().map(|stdout| FramedRead::new(stdout, lines)),
            tail: Tail::new(child.stderr.take()),
            child,
            ready: false,
            warm: false,
            gone: None,
            pings: 0,
        }
    }

    /// Waits for the next thing that it does, writing and reading in the meantime. May be dropped while it waits.
    pub async fn hear(&mut self) -> Heard {
        loop {
            tokio::select! {
                line = next(&mut self.lines), if self.lines.is_some() => return self.read(line),
                () = self.tail.fill(), if self.tail.is_open() => {}
                () = self.stdin.push(), if self.stdin.has_waiting() => {}
                exit = self.child.exited(), if self.gone.is_none() => {
                    self.gone = Some(exit.how);
                    return Heard::Gone;
                }
                else => std::future::pending().await,
            }
        }
    }

    fn read(&mut self, line: Option<Result<String, LinesCodecError>>) -> Heard {
        match line {
            Some(Ok(line)) => Heard::Line(line),
            None => {
                self.lines = None;
                Heard::Closed
            }
            Some(Err(error)) => {
                self.lines = None;
                Heard::Unreadable(match error {
                    LinesCodecError::MaxLineLengthExceeded => {
                        format!("wrote a line of more than {MAX_LINE_BYTES} bytes")
                    }
                    LinesCodecError::Io(_) => "wrote a line that is not UTF-8".to_owned(),
                })
            }
        }
    }

    /// Says a line, as soon as the child reads it.
    pub fn say(&mut self, down: &Down<'_>) {
        self.stdin.queue(|out| down.write(out));
    }

    /// Says lines that were written before.
    pub fn say_all(&mut self, lines: &[u8]) {
        self.stdin.queue(|out| out.extend_from_slice(lines));
    }

    pub fn ping(&mut self) {
        self.pings += 1;
        self.say(&Down::Ping { id: self.pings });
    }

    pub fn terminate(&self) {
        self.child.terminate();
    }

    pub fn kill(&self) {
        self.child.kill();
    }

    /// How it ended, once it is gone.
    pub fn gone(&self) -> Option<&How> {
        self.gone.as_ref()
    }

    /// Standard output is closed.
    pub fn is_silent(&self) -> bool {
        self.lines.is_none()
    }

    /// Ends it, its end of file first.
    pub async fn end(mut self, ladder: Ladder) {
        self.stdin.close();
        self.child.end(ladder).await;
    }
}

async fn next(
    lines: &mut Option<FramedRead<ChildStdout, LinesCodec>>,
) -> Option<Result<String, LinesCodecError>> {
    lines.as_mut()?.next().await
}

//! A child's standard input and standard error: nothing here waits for the child, and nothing grows without bound.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::process::ChildStderr;

/// What is kept of standard error, for the status message of a failure: enough for a stack trace, little enough for a
/// message.
pub const TAIL_BYTES: usize = 4 * 1024;

/// Standard input, and what is still to be written to it.
#[derive(Debug)]
pub struct Stdin {
    /// `None` once it is closed, by either side.
    pipe: Option<pipe::Sender>,
    waiting: Vec<u8>,
    written: usize,
    /// Close it when everything is written.
    ends: bool,
}

impl Stdin {
    pub fn new(pipe: Option<pipe::Sender>) -> Self {
        Self { pipe, waiting: Vec::new(), written: 0, ends: false }
    }

    /// Adds to what is to be written.
    pub fn queue(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if self.written == self.waiting.len() {
            self.waiting.clear();
            self.written = 0;
        }
        write(&mut self.waiting);
    }

    /// Nothing comes after what is queued.
    pub fn end(&mut self) {
        self.ends = true;
        self.close_if_done();
    }

    pub fn close(&mut self) {
        self.pipe = None;
    }

    /// Whether [`Stdin::push`] has something to do.
    pub fn has_waiting(&self) -> bool {
        self.pipe.is_some() && self.written < self.waiting.len()
    }

    /// Writes what the child takes. May be dropped while it waits. A child that does not read is no fault.
    pub async fn push(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.write(&self.waiting[self.written..]).await {
            Ok(count) => {
                self.written += count;
                self.close_if_done();
            }
            Err(_) => self.close(),
        }
    }

    fn close_if_done(&mut self) {
        if self.ends && self.written == self.waiting.len() {
            self.waiting = Vec::new();
            self.written = 0;
            self.close();
        }
    }
}

/// The end of what a child writes to standard error.
#[derive(Debug)]
pub struct Tail {
    /// `None` once it is closed.
    pipe: Option<ChildStderr>,
    kept: Vec<u8>,
    /// Something was dropped from the front.
    cut: bool,
}

impl Tail {
    pub fn new(pipe: Option<ChildStderr>) -> Self {
        Self { pipe, kept: Vec::new(), cut: false }
    }

    pub fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Reads what there is. May be dropped while it waits.
    pub async fn fill(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.read_buf(&mut self.kept).await {
            Ok(0) | Err(_) => self.pipe = None,
            Ok(_) => self.trim(),
        }
    }

    pub fn forget(&mut self) {
        self.kept.clear();
        self.cut = false;
    }

    fn trim(&mut self) {
        if self.kept.len() > 2 * TAIL_BYTES {
            self.kept.drain(..self.kept.len() - TAIL_BYTES);
            self.cut = true;
        }
    }

    /// The last lines, whole ones where something had to be cut; control characters are for terminals, not for
    /// messages.
    pub fn text(&self) -> String {
        let start = self.kept.len().saturating_sub(TAIL_BYTES);
        let mut bytes = &self.kept[start..];
        if start > 0 || self.cut {
            let line = bytes.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            bytes = &bytes[line..];
        }
        let text = String::from_utf8_lossy(bytes);
        text.trim().chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
    }
}

#[cfg(test)]
mod tests;

//! What a child did, and what that means for its task.

use std::sync::Arc;

use baton_core::task::{Chunk, Interruption, Reason};
use tokio::time::Instant;

use super::{Phase, Turn};
use crate::runner::Fact;
use crate::runner::process::ending::Ending;
use crate::runner::process::jsonl::resident::Heard;
use crate::runner::process::jsonl::up::{Ask, Line, Piece, Up};

impl Turn<'_> {
    pub(super) fn hear(&mut self, heard: Heard) {
        let now = Instant::now();
        self.watchdog.has_read();
        match heard {
            Heard::Gone => self.watchdog.child_gone(now),
            Heard::Closed => self.closed = Some(now),
            // Nothing that is said then is listened to.
            _ if self.watchdog.ending().is_some_and(Ending::is_urgent) => {}
            Heard::Unreadable(words) => self.fault(Reason::InvalidAgentResponse, &words),
            Heard::Line(line) => match Line::parse(&line) {
                Ok(line) => self.take(line, now),
                Err(error) => {
                    let words = format!("wrote a line that means nothing ({error})");
                    self.fault(Reason::InvalidAgentResponse, &words);
                }
            },
        }
    }

    fn take(&mut self, line: Line, now: Instant) {
        self.watchdog.life(now);
        self.pinged = false;
        if line.task_id.is_some_and(|id| id != self.task_id) {
            return;
        }
        match line.up {
            Up::Ready { .. } if self.phase == Phase::Starting => {
                self.resident.ready = true;
                self.begin(now);
            }
            Up::Ready { .. } | Up::Pong => {}
            _ if self.phase == Phase::Starting => {
                self.fault(Reason::InvalidAgentResponse, "spoke before it was ready");
            }
            up => self.take_word(up, now),
        }
    }

    /// A line about the task.
    fn take_word(&mut self, up: Up, now: Instant) {
        self.spoke = true;
        let fact = match up {
            Up::Ready { .. } | Up::Pong | Up::Status(None) => return,
            Up::Status(Some(message)) => Fact::Progress(message),
            Up::Artifact(piece) => self.artifact(piece),
            Up::Usage(usage) => Fact::Usage(usage),
            Up::Ask { kind, message } => {
                let kind = match kind {
                    Ask::Input => Interruption::Input,
                    Ask::Auth => Interruption::Auth,
                };
                Fact::Ask { kind, message }
            }
            Up::Reply(message) => return self.last = Some(Fact::Reply(message)),
            Up::Complete(message) => return self.last = Some(Fact::Complete(message)),
            Up::Reject(message) => return self.last = Some(Fact::Reject(message)),
            Up::Fail { message, retryable, reason } => {
                let reason = reason.as_deref().and_then(Reason::parse).unwrap_or(Reason::Failed);
                return self.last = Some(Fact::Fail { reason, message, retryable });
            }
        };
        // On the ladder only an end counts.
        if self.watchdog.ending().is_none() {
            let asking = matches!(fact, Fact::Ask { .. });
            self.phase = if asking { Phase::Asking } else { Phase::Working };
            self.watchdog.listen(!asking, now);
            self.outbox.push(fact, now);
        }
    }

    fn artifact(&mut self, piece: Piece) -> Fact {
        let Piece { mut artifact, append, last_chunk } = piece;
        let append = self.numbering.name(&mut artifact, append);
        Fact::Artifact(Chunk { artifact: Arc::new(artifact), append, last_chunk })
    }
}

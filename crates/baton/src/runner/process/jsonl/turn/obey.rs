//! What the node wants of an attempt.

use baton_core::model::Message;
use tokio::time::Instant;

use super::{Phase, Turn};
use crate::runner::Signal;
use crate::runner::process::ending::Ending;
use crate::runner::process::jsonl::down::Down;

impl Turn<'_> {
    pub(super) fn obey(&mut self, signal: Signal) {
        let now = Instant::now();
        match signal {
            Signal::Message(message) => self.follow_up(&message, now),
            // It has no task yet, and nothing to say of one.
            Signal::Cancel if self.phase == Phase::Starting => {
                self.watchdog.end(Ending::Cancel, now);
                self.resident.terminate();
            }
            Signal::Cancel => self.watchdog.end(Ending::Cancel, now),
            Signal::Lost => {
                self.outbox.clear();
                self.watchdog.end(Ending::Lost, now);
            }
            Signal::Stop => self.watchdog.end(Ending::Stop, now),
            Signal::Evict if self.phase == Phase::Asking => self.watchdog.end(Ending::Evict, now),
            Signal::Evict => {}
            Signal::Drain => {
                self.draining = true;
                if self.phase == Phase::Asking {
                    self.watchdog.end(Ending::Evict, now);
                }
            }
        }
    }

    fn follow_up(&mut self, message: &Message, now: Instant) {
        if self.watchdog.ending() == Some(&Ending::Evict) {
            // The answer came while its child was being ended: the task goes back, to be taken up with it.
            self.watchdog.end(Ending::Stop, now);
            return;
        }
        let down = Down::Message { task_id: &self.task_id, message };
        if self.phase == Phase::Starting {
            down.write(&mut self.held);
        } else {
            self.resident.say(&down);
            self.phase = Phase::Working;
            self.watchdog.listen(true, now);
        }
    }
}

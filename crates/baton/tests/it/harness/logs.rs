//! What all nodes of this process log.

use std::io;
use std::sync::{Mutex, Once, PoisonError};

use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

static LOGGED: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static ONCE: Once = Once::new();

struct Line;

impl io::Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOGGED.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps everything that is logged from now on, our own rooms at their most talkative.
pub fn capture() {
    ONCE.call_once(|| {
        let all = "info,baton=trace,baton_core=trace,baton_wire=trace,baton_store=trace";
        let filter: Targets = all.parse().unwrap();
        let layer = fmt::layer().with_ansi(false).with_writer(|| Line);
        tracing_subscriber::registry().with(filter).with(layer).init();
    });
}

/// All of it so far.
pub fn logged() -> String {
    String::from_utf8_lossy(&LOGGED.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
}

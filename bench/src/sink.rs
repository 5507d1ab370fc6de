//! Owns receivers of webhooks on 127.0.0.1: one that takes everything, and one that never answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::Result;

const TAKEN: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

/// Counts what it takes. While it is shut, it lets its callers wait.
#[derive(Debug)]
pub struct Sink {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    taken: AtomicU64,
    open: Mutex<bool>,
    opened: Condvar,
}

impl Sink {
    pub fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let (address, shared) = (listener.local_addr()?, Arc::new(Shared::default()));
        let of_all = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(std::io::Result::ok) {
                let shared = Arc::clone(&of_all);
                std::thread::spawn(move || drop(serve(stream, &shared)));
            }
        });
        Ok(Self { address, shared })
    }

    pub fn set_open(&self, open: bool) {
        *self.shared.open.lock().unwrap_or_else(PoisonError::into_inner) = open;
        self.shared.opened.notify_all();
    }

    pub fn taken(&self) -> u64 {
        self.shared.taken.load(Ordering::Relaxed)
    }

    /// Waits until it has taken `count` in all.
    pub fn wait_for(&self, count: u64, within: Duration) -> Result<()> {
        let start = Instant::now();
        while self.taken() < count {
            if start.elapsed() > within {
                return Err(
                    format!("{} of {count} notifications came within {within:?}", self.taken()).into()
                );
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

/// One connection, request after request, until the other side closes it.
fn serve(stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    loop {
        let mut length = 0;
        loop {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if line == "\r\n" {
                break;
            }
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().map_err(std::io::Error::other)?;
            }
        }
        std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink())?;
        let open = shared.open.lock().unwrap_or_else(PoisonError::into_inner);
        drop(shared.opened.wait_while(open, |open| !*open).unwrap_or_else(PoisonError::into_inner));
        shared.taken.fetch_add(1, Ordering::Relaxed);
        writer.write_all(TAKEN)?;
    }
}

/// Takes connections and never says anything.
pub fn start_mute() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        let kept: Vec<_> = listener.incoming().map_while(std::io::Result::ok).collect();
        drop(kept);
    });
    Ok(address)
}

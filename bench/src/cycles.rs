//! Owns the closed loop of a few clients that each do something of several requests, over and over, until as much of it is
//! done as is wanted. It knows nothing of what they do.

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::blocking::{self, Client};
use crate::{Result, stats};

/// How it went.
#[derive(Debug, Default)]
pub struct Cycles {
    pub count: u64,
    pub elapsed: Duration,
    /// Milliseconds that the measured step of each took.
    pub steps: Vec<f64>,
}

impl Cycles {
    pub fn per_second(&self) -> f64 {
        self.count as f64 / self.elapsed.as_secs_f64().max(f64::EPSILON)
    }

    /// Milliseconds.
    pub fn step(&self) -> f64 {
        stats::median(&self.steps)
    }
}

/// Lets `clients` do `work` until it is done `count` times. It is given the number of each, from 0, and answers how long
/// its measured step took.
pub fn run(
    (address, clients): (SocketAddr, usize),
    count: u64,
    work: impl Fn(&mut Client<TcpStream>, u64) -> Result<Duration> + Sync,
) -> Result<Cycles> {
    let next = AtomicU64::new(0);
    let lines = (0..clients).map(|_| blocking::tcp(address)).collect::<Result<Vec<_>>>()?;
    let start = Instant::now();
    let one = |mut line: Client<TcpStream>| -> Result<Vec<f64>> {
        let mut steps = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return Ok(steps);
            }
            steps.push(stats::millis(work(&mut line, number)?));
        }
    };
    let steps = std::thread::scope(|scope| {
        let one = &one;
        let running: Vec<_> = lines.into_iter().map(|line| scope.spawn(move || one(line))).collect();
        let mut steps = Vec::new();
        for client in running {
            steps.extend(client.join().map_err(|_| "a client panicked")??);
        }
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(steps)
    })?;
    Ok(Cycles { count, elapsed: start.elapsed(), steps })
}

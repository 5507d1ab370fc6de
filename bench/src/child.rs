//! Owns child processes of the bench: start, the address that a server prints, memory, and the end.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::Result;
use crate::http::Door;

/// A server that has not printed its address by then has failed.
const START_LIMIT: Duration = Duration::from_secs(30);
/// The node drains within 25 s; what is still there after this is killed.
const END_LIMIT: Duration = Duration::from_secs(30);

/// A server process on 127.0.0.1. Ended when dropped.
#[derive(Debug)]
pub struct Server {
    process: Child,
    pub address: SocketAddr,
    pub started: Instant,
    log: PathBuf,
}

/// Resident memory in MiB.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    pub resident: f64,
    /// The part that is not backed by files.
    pub anonymous: f64,
    /// The most that was ever resident, or since the peak was forgotten.
    pub peak: f64,
}

impl Server {
    /// Starts a server and waits for the first `http://127.0.0.1:PORT` on its standard output.
    pub fn start(mut command: Command, log: &Path) -> Result<Self> {
        let log_file = File::create(log)?;
        // Standard input stays open as long as the bench lives: a yardstick ends with it.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log_file);
        let started = Instant::now();
        let mut process = command
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", command.get_program().display()))?;
        let output = process.stdout.take().ok_or("no standard output")?;
        let (found, address) = mpsc::sync_channel(1);
        std::thread::spawn(move || {
            // Reads to the end, so that a server that keeps printing is never blocked.
            for line in BufReader::new(output).lines().map_while(std::io::Result::ok) {
                if let Some(address) = parse_address(&line) {
                    let _ = found.try_send(address);
                }
            }
        });
        let mut server =
            Self { process, address: SocketAddr::from(([127, 0, 0, 1], 0)), started, log: log.to_owned() };
        match address.recv_timeout(START_LIMIT) {
            Ok(address) => server.address = address,
            Err(_) => return Err(format!("no address was printed; {}", server.last_words()).into()),
        }
        Ok(server)
    }

    pub fn memory(&self) -> Result<Memory> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let field = |name: &str| -> Result<f64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such field")?;
            let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
            Ok(kib / 1024.0)
        };
        Ok(Memory { resident: field("VmRSS:")?, anonymous: field("RssAnon:")?, peak: field("VmHWM:")? })
    }

    /// The peak counts from now on (proc_pid_clear_refs(5)).
    pub fn forget_peak(&self) -> Result<()> {
        Ok(std::fs::write(format!("/proc/{}/clear_refs", self.process.id()), "5")?)
    }

    /// A path at this server.
    pub fn door(&self, path: &str) -> Door {
        Door { host: self.address.to_string(), path: path.to_owned(), token: None }
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn log(&self) -> &Path {
        &self.log
    }

    fn last_words(&self) -> String {
        last_words(&self.log)
    }

    /// SIGTERM, then waits; an error when the server did not end with status 0 by itself.
    pub fn stop(mut self) -> Result<()> {
        match self.end()? {
            Some(0) => Ok(()),
            Some(status) => Err(format!("ended with status {status}; {}", self.last_words()).into()),
            None => Err(format!("did not end on SIGTERM; {}", self.last_words()).into()),
        }
    }

    fn end(&mut self) -> Result<Option<i32>> {
        if let Some(status) = self.process.try_wait()? {
            return Ok(Some(status.code().unwrap_or(-1)));
        }
        drop(self.process.stdin.take());
        kill_process(pid(&self.process)?, Signal::TERM)?;
        let until = Instant::now() + END_LIMIT;
        while Instant::now() < until {
            if let Some(status) = self.process.try_wait()? {
                return Ok(Some(status.code().unwrap_or(-1)));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.process.kill()?;
        self.process.wait()?;
        Ok(None)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.end().is_err() {
            let _ = self.process.kill();
        }
    }
}

/// The end of what a server logged, for an error message.
pub fn last_words(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let mut lines: Vec<&str> = text.lines().rev().take(5).collect();
    lines.reverse();
    format!("its log ends: {}", lines.join(" | "))
}

/// Processor time that a process has spent so far, in steps of 10 ms.
pub fn cpu_time(process: u32) -> Result<Duration> {
    /// Linux counts in hundredths of a second here, whatever its timer does.
    const TICK: Duration = Duration::from_millis(10);
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name, in parentheses, may hold anything; user and system time are fields 14 and 15.
    let fields = stat.rsplit_once(')').ok_or("no process state")?.1;
    let ticks = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(str::parse::<u32>)
        .sum::<std::result::Result<u32, _>>();
    Ok(TICK * ticks?)
}

fn pid(process: &Child) -> Result<Pid> {
    Pid::from_raw(i32::try_from(process.id())?).ok_or_else(|| "no process id".into())
}

/// `http://127.0.0.1:PORT` anywhere in a line.
fn parse_address(line: &str) -> Option<SocketAddr> {
    let rest = &line[line.find("http://127.0.0.1:")? + "http://".len()..];
    let end = rest.find(|letter: char| !(letter.is_ascii_digit() || letter == '.' || letter == ':'));
    rest[..end.unwrap_or(rest.len())].parse().ok()
}

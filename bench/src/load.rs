//! Owns the closed-loop load generator: connections that each send a request, wait for its answer, check it
//! and send the next. The same few system calls for every server; it knows nothing of A2A.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::child::{self, Server};
use crate::grpc::Channel;
use crate::{Result, http, stats};

/// After the end of a round an answer may take this long before it is a failure.
const GRACE: Duration = Duration::from_secs(30);
const READ_BUFFER: usize = 16 * 1024;

/// What is sent and what counts as its answer. Numbers are unique within a target.
pub trait Exchange: Send + Sync {
    fn write(&self, number: u64, out: &mut Vec<u8>);
    fn accepts(&self, number: u64, body: &[u8]) -> bool;

    /// The method that is called, and by how many callers over each connection; none where requests are HTTP/1.1.
    fn grpc(&self) -> Option<(&'static str, usize)> {
        None
    }
}

/// One server under load.
#[derive(Clone)]
pub struct Target {
    pub name: &'static str,
    pub address: SocketAddr,
    pub exchange: Arc<dyn Exchange>,
    process: u32,
    log: PathBuf,
    next: Arc<AtomicU64>,
}

impl Target {
    pub fn new(name: &'static str, server: &Server, exchange: impl Exchange + 'static) -> Self {
        // A reused data folder must not see the numbers of an earlier run again.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let next = Arc::new(AtomicU64::new(now.as_secs() << 26));
        Self {
            name,
            address: server.address,
            exchange: Arc::new(exchange),
            process: server.id(),
            log: server.log().to_owned(),
            next,
        }
    }
}

/// A round always ends by time; it may end earlier by count.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub connections: usize,
    pub threads: usize,
    pub time: Duration,
    pub count: Option<u64>,
}

#[derive(Debug, Default)]
pub struct Round {
    /// Right answers within the round.
    pub completed: u64,
    pub elapsed: Duration,
    /// Processor time that the server itself spent meanwhile.
    pub server_cpu: Duration,
    /// Milliseconds each right answer took.
    pub latencies: Vec<f64>,
    pub failures: u64,
    pub first_failure: Option<String>,
}

impl Round {
    pub fn per_second(&self) -> f64 {
        self.completed as f64 / self.elapsed.as_secs_f64().max(f64::EPSILON)
    }

    /// Microseconds of the server's processor time per answer; noise of other processes is not in it.
    pub fn cpu_micros(&self) -> f64 {
        self.server_cpu.as_secs_f64() * 1e6 / self.completed.max(1) as f64
    }

    /// An error when anything at all went wrong.
    fn require_clean(&self, target: &Target) -> Result<()> {
        let what = match (&self.first_failure, self.completed) {
            (None, 0) => "no answer in a whole round".to_owned(),
            (None, _) => return Ok(()),
            (Some(first), _) => format!("{} failures, the first: {first}", self.failures),
        };
        Err(format!("{}: {what}; {}", target.name, child::last_words(&target.log)).into())
    }
}

/// Shared by the connections of one round.
struct Course {
    target: Target,
    first: u64,
    limits: Limits,
    start: Instant,
}

/// Runs one round; anything but right answers is an error.
pub fn run(target: &Target, limits: Limits) -> Result<Round> {
    let round = run_connections(target, limits)?;
    round.require_clean(target)?;
    Ok(round)
}

/// Returns when every connection is done.
fn run_connections(target: &Target, limits: Limits) -> Result<Round> {
    let cpu_before = child::cpu_time(target.process)?;
    let course = Arc::new(Course {
        target: target.clone(),
        first: target.next.load(Ordering::Relaxed),
        limits,
        start: Instant::now(),
    });
    let threads: Vec<_> = (0..limits.threads)
        .map(|index| {
            let course = Arc::clone(&course);
            let share = limits.connections / limits.threads
                + usize::from(index < limits.connections % limits.threads);
            std::thread::spawn(move || drive(&course, share))
        })
        .collect();
    let mut whole = Round::default();
    for thread in threads {
        let part = thread.join().map_err(|_| "a load thread panicked")??;
        whole.completed += part.completed;
        whole.failures += part.failures;
        whole.latencies.extend(part.latencies);
        whole.first_failure = whole.first_failure.or(part.first_failure);
        whole.elapsed = whole.elapsed.max(part.elapsed);
    }
    whole.server_cpu = child::cpu_time(target.process)?.saturating_sub(cpu_before);
    // With a count, what was not answered when time ran out is a failure of the run.
    if let Some(count) = limits.count
        && whole.completed < count
    {
        whole.failures += count - whole.completed;
        whole.first_failure.get_or_insert_with(|| format!("{} of {count} answered", whole.completed));
    }
    Ok(whole)
}

fn drive(course: &Arc<Course>, connections: usize) -> Result<Round> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let until = (course.start + course.limits.time + GRACE).into();
        let lines = tokio::time::timeout_at(until, open(course, connections)).await??;
        let loops: Vec<_> = lines
            .into_iter()
            .map(|line| {
                let course = Arc::clone(course);
                tokio::spawn(async move {
                    let mut part = Round::default();
                    let outcome = tokio::time::timeout_at(until, keep_sending(&course, line, &mut part));
                    let failure = match outcome.await {
                        Ok(Ok(())) => return part,
                        Ok(Err(error)) => error.to_string(),
                        Err(_) => "no answer in time".to_owned(),
                    };
                    part.failures += 1;
                    part.first_failure.get_or_insert(failure);
                    part
                })
            })
            .collect();
        let mut whole = Round::default();
        for one in loops {
            let part = one.await?;
            whole.completed += part.completed;
            whole.failures += part.failures;
            whole.latencies.extend(part.latencies);
            whole.first_failure = whole.first_failure.or(part.first_failure);
            whole.elapsed = whole.elapsed.max(part.elapsed);
        }
        Ok(whole)
    })
}

/// What one caller calls over: a connection, or its part in one.
enum Line {
    Http(TcpStream),
    Grpc(Channel),
}

/// One line for each caller.
async fn open(course: &Course, callers: usize) -> Result<Vec<Line>> {
    let connect = async || {
        let stream = TcpStream::connect(course.target.address).await?;
        stream.set_nodelay(true)?;
        Ok::<_, std::io::Error>(stream)
    };
    let mut lines = Vec::with_capacity(callers);
    let Some((path, each)) = course.target.exchange.grpc() else {
        for _ in 0..callers {
            lines.push(Line::Http(connect().await?));
        }
        return Ok(lines);
    };
    while lines.len() < callers {
        let channel = Channel::open(connect().await?, path).await?;
        let more = each.min(callers - lines.len());
        lines.extend((0..more).map(|_| Line::Grpc(channel.clone())));
    }
    Ok(lines)
}

/// One caller's loop. An answer after the end of the round is awaited and checked, not counted.
async fn keep_sending(course: &Course, mut line: Line, part: &mut Round) -> Result<()> {
    let end = course.start + course.limits.time;
    let mut request = Vec::with_capacity(READ_BUFFER);
    let mut buffer = Vec::with_capacity(READ_BUFFER);
    let mut sent = Instant::now();
    while sent < end {
        let number = course.target.next.fetch_add(1, Ordering::Relaxed);
        if course.limits.count.is_some_and(|count| number - course.first >= count) {
            break;
        }
        request.clear();
        course.target.exchange.write(number, &mut request);
        match &mut line {
            Line::Http(stream) => {
                stream.write_all(&request).await?;
                read_answer(stream, &mut buffer, course, number).await?;
            }
            Line::Grpc(channel) => {
                let body = channel.call(&request).await?;
                if !course.target.exchange.accepts(number, &body) {
                    return Err(format!("gRPC: {}", String::from_utf8_lossy(&body)).into());
                }
            }
        }
        let answered = Instant::now();
        if answered <= end {
            part.completed += 1;
            part.latencies.push(stats::millis(answered - sent));
            part.elapsed = answered - course.start;
        }
        sent = answered;
    }
    Ok(())
}

async fn read_answer(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
    course: &Course,
    number: u64,
) -> Result<()> {
    buffer.clear();
    loop {
        if stream.read_buf(buffer).await? == 0 {
            return Err("the server closed the connection".into());
        }
        let Some(answer) = http::parse(buffer)? else { continue };
        let body = &buffer[answer.body_start..answer.body_end];
        if answer.status != 200 || answer.end != buffer.len() || !course.target.exchange.accepts(number, body)
        {
            return Err(format!("HTTP {}: {}", answer.status, String::from_utf8_lossy(body)).into());
        }
        return Ok(());
    }
}

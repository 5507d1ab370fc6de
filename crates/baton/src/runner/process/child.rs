//! The node's side of a supervised child: spawn it behind a warden, give orders, learn how it ended.
//!
//! Knows of processes only; what is said over the streams is the protocols' business.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf, pipe};
use tokio::process::{ChildStderr, ChildStdout, Command};
use tokio::time::{Instant, sleep_until};

use super::exit::{Exit, How, Usage};
use super::ladder::{Ladder, Rung};
use super::spec::{INHERITED_ENV, Spec};
use super::{handover, sweep, warden};
use crate::crash;

/// Longest evidence line that is read. A real one has some 200 bytes, most of it the reason of a failed start.
const MAX_EVIDENCE_BYTES: u64 = 64 * 1024;

/// Starts children behind wardens. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Spawner {
    warden: PathBuf,
}

/// Why no warden could be started. That the command could not be started is evidence instead: [`How::NotStarted`].
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    #[error("no descriptors for another child: {0}")]
    Descriptors(io::Error),
    #[error("the warden could not be started: {0}")]
    Warden(io::Error),
}

/// A running child. Dropping it closes the control socket, and the warden then kills the whole tree.
#[derive(Debug)]
pub struct Child {
    /// `None` once taken.
    pub stdin: Option<pipe::Sender>,
    pub stdout: Option<ChildStdout>,
    pub stderr: Option<ChildStderr>,
    orders: OwnedWriteHalf,
    evidence: tokio::io::Take<OwnedReadHalf>,
    line: Vec<u8>,
    warden: tokio::process::Child,
    exit: Option<Exit>,
}

impl Spawner {
    /// Wardens run this node's own executable, also after it has been replaced on disk.
    pub fn new() -> Self {
        Self::with_warden("/proc/self/exe")
    }

    /// Wardens run the executable at `warden`, for a process that is not `baton` itself.
    pub fn with_warden(warden: impl AsRef<Path>) -> Self {
        Self { warden: warden.as_ref().to_owned() }
    }

    /// Starts `spec` behind a warden of its own. Must be called on a tokio runtime.
    pub fn spawn(&self, spec: &Spec) -> Result<Child, SpawnError> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(SpawnError::Descriptors)?;
        ours.set_nonblocking(true).map_err(SpawnError::Descriptors)?;
        let stdin = stdin_pipe(&ours).map_err(SpawnError::Descriptors)?;
        let (evidence, orders) = UnixStream::from_std(ours).map_err(SpawnError::Descriptors)?.into_split();
        let mut command = self.command(spec);
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut warden = sweep::spawn_known(&mut command).map_err(SpawnError::Warden)?;
        crash::pass(crash::SPAWNED);
        Ok(Child {
            stdin: Some(stdin),
            stdout: warden.stdout.take(),
            stderr: warden.stderr.take(),
            orders,
            evidence: evidence.take(MAX_EVIDENCE_BYTES),
            line: Vec::new(),
            warden,
            exit: None,
        })
    }

    fn command(&self, spec: &Spec) -> Command {
        let mut command = Command::new(&self.warden);
        command.arg0("baton").arg(warden::SUBCOMMAND).args(spec.to_args()).env_clear();
        // Another user's home is not ours; the warden knows it.
        let inherited = INHERITED_ENV.iter().filter(|name| **name != "HOME" || spec.user.is_none());
        for name in inherited {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.envs(spec.env.iter().map(|(name, value)| (name, value)));
        command
    }
}

impl Default for Spawner {
    fn default() -> Self {
        Self::new()
    }
}

/// The child's standard input: the far end goes into the control socket, ours never blocks.
fn stdin_pipe(control: &std::os::unix::net::UnixStream) -> io::Result<pipe::Sender> {
    let (sender, receiver) = pipe::pipe()?;
    let receiver = receiver.into_blocking_fd()?;
    handover::send(control, receiver.as_fd())?;
    Ok(sender)
}

impl Child {
    /// The warden's process id, for logs and tests.
    pub fn warden_id(&self) -> Option<u32> {
        self.warden.id()
    }

    /// Waits until nothing of the child is left. May be asked again, and may be dropped while it waits.
    pub async fn exited(&mut self) -> Exit {
        if let Some(exit) = &self.exit {
            return exit.clone();
        }
        while self.line.last() != Some(&b'\n') {
            match self.evidence.read_buf(&mut self.line).await {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
        }
        // An error means that it has been reaped already, which is all that is asked.
        let _ = self.warden.wait().await;
        let exit = if let Ok(exit) = serde_json::from_slice(&self.line) {
            exit
        } else {
            tracing::warn!("a warden died, killing what it left behind");
            sweep::sweep().await;
            Exit { how: How::WardenDied, usage: Usage::default() }
        };
        self.exit.insert(exit).clone()
    }

    /// SIGTERM to the child's process group.
    pub fn terminate(&self) {
        self.order(warden::TERMINATE);
    }

    /// SIGKILL to the whole tree.
    pub fn kill(&self) {
        self.order(warden::KILL);
    }

    /// Walks down the rest of the ladder until the child is gone. Its streams are closed first: nobody listens, and
    /// end of file is all there is to say.
    pub async fn end(&mut self, mut ladder: Ladder) -> Exit {
        self.stdin = None;
        self.stdout = None;
        self.stderr = None;
        loop {
            while let Some(rung) = ladder.due(Instant::now()) {
                match rung {
                    Rung::Cancel => {}
                    Rung::Terminate => self.terminate(),
                    Rung::Kill => self.kill(),
                }
            }
            let wake_at = ladder.wake_at();
            tokio::select! {
                exit = self.exited() => return exit,
                () = sleep_until(wake_at.unwrap_or_else(Instant::now)), if wake_at.is_some() => {}
            }
        }
    }

    fn order(&self, order: u8) {
        // The socket never fills up with a few single bytes, and a warden that is gone needs no order.
        let _ = self.orders.try_write(&[order]);
    }
}

//! The warden: the small process in front of one child, parent and subreaper of that child's whole tree.
//!
//! It owns the tree's life and nothing else: it takes orders from its control socket, tells there how the child ended,
//! and kills everything when the socket closes, which is what happens when the node is gone. It must not know of
//! tasks, protocols or configuration, and it stays small: one thread, no runtime.
//!
//! Invariant: after the evidence has been sent, or the warden has seen the socket close and has exited, no process of
//! the tree is left.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::SigSet;
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{Uid, User};
use rustix::process::{Pid, Resource, Rlimit, WaitStatus, getpid, set_child_subreaper, setrlimit, setsid};

use super::exit::{Exit, How, Usage};
use super::handover;
use super::spec::{Limits, Spec};
use watch::Watch;

mod watch;

/// The word that makes the binary a warden.
pub const SUBCOMMAND: &str = "warden";

/// SIGTERM to the command's process group.
pub const TERMINATE: u8 = b'T';
/// SIGKILL to the whole tree.
pub const KILL: u8 = b'K';

/// Stands in front of one command until all of its tree is gone. `args` are those after [`SUBCOMMAND`].
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let post = take_post().and_then(|(control, stdin)| {
        Spec::from_args(args).map(|spec| (spec, control, stdin)).map_err(io::Error::other)
    });
    match post {
        Ok((spec, control, stdin)) => {
            stand(&spec, control, stdin);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!(
                "baton warden: {error}\n`baton serve` starts wardens by itself; this is no command for people."
            );
            ExitCode::from(2)
        }
    }
}

/// Takes the control socket off standard input, and the child's standard input out of the socket.
fn take_post() -> io::Result<(UnixStream, OwnedFd)> {
    // Above the standard streams, and closed on exec: the child must not be able to speak for its warden.
    let control = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let stdin = handover::receive(&control)?;
    Ok((control.into(), stdin))
}

fn stand(spec: &Spec, control: UnixStream, stdin: OwnedFd) {
    let started = settle_in().and_then(|signals| Ok((signals, start(spec, stdin)?)));
    // Deaf only now: the child would have inherited the mask. If it has ended already, reaping finds it.
    let _ = SigSet::all().thread_block();
    // From here on the streams are the child's alone: they close when it, and all of its tree, closes them.
    let_go_of_streams();
    match started {
        Ok((signals, main)) => {
            let (status, control) = Watch::new(main, control, signals).run();
            // A node that is gone needs no evidence.
            if let Some(control) = control {
                tell(control, status.into());
            }
        }
        Err(why) => tell(control, How::NotStarted(why.to_string())),
    }
}

fn tell(mut control: UnixStream, how: How) {
    if let Ok(mut line) = serde_json::to_vec(&Exit { how, usage: usage() }) {
        line.push(b'\n');
        let _ = control.write_all(&line);
    }
}

/// Makes this process fit to be a warden: in a session of its own, so that no signal to the node's group or from its
/// terminal reaches it or the child; adoptive parent of the tree. Gives the descriptor that tells of ended children.
fn settle_in() -> io::Result<SignalFd> {
    // What the node is deaf to, its agents are not: they would inherit it.
    SigSet::all().thread_unblock()?;
    // Fails only in a process that leads a group already, which is as good.
    let _ = setsid();
    let _ = rustix::thread::set_name(c"baton-warden");
    set_child_subreaper(Some(getpid()))?;
    let mut ended = SigSet::empty();
    ended.add(nix::sys::signal::Signal::SIGCHLD);
    Ok(SignalFd::with_flags(&ended, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?)
}

/// Starts the command in a process group of its own.
fn start(spec: &Spec, stdin: OwnedFd) -> io::Result<Pid> {
    let (program, args) = spec.command.split_first().expect("a spec that was read has a command");
    if let Some(dir) = &spec.dir {
        std::env::set_current_dir(dir)
            .map_err(|error| because(&format!("folder {}", dir.display()), &error))?;
    }
    let mut command = Command::new(program);
    command.args(args).stdin(stdin).process_group(0);
    if let Some(name) = &spec.user {
        let user = find_user(name)?;
        command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
        if std::env::var_os("HOME").is_none() {
            command.env("HOME", user.dir);
        }
    }
    limit(&spec.limits)?;
    let child = command.spawn().map_err(|error| because(program, &error))?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| io::Error::other("the kernel gave no process id"))
}

fn because(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

fn find_user(name: &str) -> io::Result<User> {
    let found = match name.parse() {
        Ok(uid) => User::from_uid(Uid::from_raw(uid)),
        Err(_) => User::from_name(name),
    };
    found?.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("no user {name}")))
}

/// Sets the limits on the warden itself, from which the child inherits them before its first instruction.
fn limit(limits: &Limits) -> io::Result<()> {
    let wanted = [
        (Resource::Nofile, limits.open_files),
        (Resource::Nproc, limits.processes),
        (Resource::As, limits.memory_bytes),
        (Resource::Fsize, limits.file_bytes),
        (Resource::Cpu, limits.cpu_seconds),
    ];
    for (resource, value) in wanted {
        if value.is_some() {
            setrlimit(resource, Rlimit { current: value, maximum: value })
                .map_err(|error| because(&format!("limit {resource:?}"), &error.into()))?;
        }
    }
    Ok(())
}

fn let_go_of_streams() {
    if let Ok(null) = OpenOptions::new().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}

/// What all the reaped processes used, the main child's orphans included.
fn usage() -> Usage {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return Usage::default() };
    Usage {
        user: duration(usage.user_time()),
        system: duration(usage.system_time()),
        max_rss_kib: u64::try_from(usage.max_rss()).unwrap_or_default(),
    }
}

fn duration(time: nix::sys::time::TimeVal) -> std::time::Duration {
    let micros = i128::from(time.tv_sec()) * 1_000_000 + i128::from(time.tv_usec());
    std::time::Duration::from_micros(u64::try_from(micros).unwrap_or_default())
}

impl From<WaitStatus> for How {
    fn from(status: WaitStatus) -> Self {
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::WardenDied,
        }
    }
}

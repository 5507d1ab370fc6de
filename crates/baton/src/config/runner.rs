//! `[agents.NAME.runner]`: how an agent's work is done.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use baton_core::limits::{LEASE, LEASE_MAX, LEASE_MIN};
use serde::Deserialize;
use toml::Spanned;

use super::error::Problem;
use super::settings::{self, Process, Protocol, Rlimits};
use super::suggest;
use super::value::{Size, Span, SpanOrNever};

/// All keys of all kinds; which of them belong to which kind is checked when it is resolved, so that a key that is
/// right elsewhere gets a better answer than "unknown".
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Runner {
    kind: Option<Spanned<String>>,
    command: Option<Spanned<Command>>,
    protocol: Option<Spanned<String>>,
    dir: Option<PathBuf>,
    env: BTreeMap<String, String>,
    pass_env: Vec<Spanned<String>>,
    user: Option<String>,
    concurrency: Option<Spanned<usize>>,
    lease: Option<Spanned<Span>>,
    deadline: Option<Spanned<SpanOrNever>>,
    stall: Option<Spanned<SpanOrNever>>,
    ready_within: Option<Spanned<Span>>,
    idle: Option<Spanned<Span>>,
    memory: Option<Size>,
    file_size: Option<Size>,
    files: Option<u64>,
    processes: Option<u64>,
    cpu: Option<Span>,
    pub(super) retry: Option<Retry>,
}

/// Whether an attempt that could not finish is followed by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Retry {
    Auto,
    Never,
}

/// A program and its arguments; one text is split like a shell line.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "expected the program and its arguments, such as [\"./review.sh\", \"--fast\"]"
)]
enum Command {
    Words(Vec<String>),
    Line(String),
}

/// What kind of work it is, as its protocols and modes depend on it.
const KINDS: [&str; 3] = ["echo", "process", "pull"];

/// Children of one agent at work at the same time, where the file says nothing.
const CONCURRENCY: usize = 4;

/// Most children of one agent: past that a machine's process table is the next thing to fill up.
const CONCURRENCY_MAX: usize = 1_000;

/// How long a `jsonl` child without a task stays warm.
const IDLE: Duration = Duration::from_mins(5);

/// How long a `jsonl` child may take until it is ready: an interpreter and its imports on a busy machine.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// Longest silence of a `jsonl` child at work.
const STALL: Duration = Duration::from_mins(5);

/// Looks up a variable in the node's environment.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A `text` process of `command`, with every other value at its default.
pub fn text_process(command: Vec<String>) -> settings::Runner {
    settings::Runner::Process(Process {
        command,
        dir: None,
        env: BTreeMap::new(),
        user: None,
        protocol: Protocol::Text,
        concurrency: CONCURRENCY,
        deadline: None,
        stall: None,
        ready_within: READY_WITHIN,
        idle: IDLE,
        rlimits: Rlimits::default(),
    })
}

impl Runner {
    pub(super) fn resolve(mut self, environment: Lookup) -> Result<settings::Runner, Problem> {
        let Some(kind) = self.kind.take() else {
            return Err(Problem::new(
                "the runner has no kind; add kind = \"process\", kind = \"pull\" or kind = \"echo\"",
            ));
        };
        match kind.get_ref().as_str() {
            "echo" => self.echo().map_err(|problem| problem.or_at(kind.span())),
            "pull" => self.pull().map_err(|problem| problem.or_at(kind.span())),
            "process" => self.process(environment).map_err(|problem| problem.or_at(kind.span())),
            "remote" => Err(Problem::at(
                kind.span(),
                "runners of kind \"remote\" are not in this version; use \"process\", \"pull\" or \"echo\"",
            )),
            other => {
                let what = format!("unknown kind of runner `{other}`; {}", suggest::instead(other, &KINDS));
                Err(Problem::at(kind.span(), what))
            }
        }
    }

    fn echo(self) -> Result<settings::Runner, Problem> {
        self.no_process()?;
        self.no_lease()?;
        Ok(settings::Runner::Echo)
    }

    fn pull(self) -> Result<settings::Runner, Problem> {
        self.no_process()?;
        let concurrency = self.concurrency.as_ref().map(concurrency).transpose()?;
        let lease = match &self.lease {
            Some(lease) if !(LEASE_MIN..=LEASE_MAX).contains(&lease.get_ref().0) => {
                return Err(Problem::at(lease.span(), "`lease` is a duration from \"60s\" to \"24h\""));
            }
            Some(lease) => lease.get_ref().0,
            None => LEASE,
        };
        let concurrency = concurrency.map(|most| u32::try_from(most).unwrap_or(u32::MAX));
        Ok(settings::Runner::Pull(settings::Pull { concurrency, lease }))
    }

    /// Refuses what says how a child is run, where there is none.
    fn no_process(&self) -> Result<(), Problem> {
        let odd = [
            self.command.as_ref().map(|given| ("command", given.span())),
            self.protocol.as_ref().map(|given| ("protocol", given.span())),
            self.deadline.as_ref().map(|given| ("deadline", given.span())),
            self.stall.as_ref().map(|given| ("stall", given.span())),
            self.ready_within.as_ref().map(|given| ("ready_within", given.span())),
            self.idle.as_ref().map(|given| ("idle", given.span())),
        ];
        let Some((key, at)) = odd.into_iter().flatten().next() else { return Ok(()) };
        let what = format!("`{key}` belongs to runners of kind \"process\"; remove it, or change the kind");
        Err(Problem::at(at, what))
    }

    /// Refuses what says how workers treat tasks, where there are none.
    fn no_lease(&self) -> Result<(), Problem> {
        let Some(lease) = &self.lease else { return Ok(()) };
        let what = "`lease` belongs to runners of kind \"pull\"; remove it, or change the kind";
        Err(Problem::at(lease.span(), what))
    }

    fn process(self, environment: Lookup) -> Result<settings::Runner, Problem> {
        self.no_lease()?;
        let env = self.environment(environment)?;
        let protocol = self.protocol.as_ref().map_or(Ok(Protocol::Text), protocol)?;
        let concurrency = self.concurrency.as_ref().map_or(Ok(CONCURRENCY), concurrency)?;
        let stall = match (self.stall, protocol) {
            (Some(stall), Protocol::Jsonl) => positive("stall", &stall, stall.get_ref().0)?,
            (Some(stall), Protocol::Text) => {
                let what = "`stall` is for protocol = \"jsonl\"; a `text` child is bounded by `deadline`";
                return Err(Problem::at(stall.span(), what));
            }
            (None, Protocol::Jsonl) => Some(STALL),
            (None, Protocol::Text) => None,
        };
        let deadline = match self.deadline {
            Some(deadline) => positive("deadline", &deadline, deadline.get_ref().0)?,
            None => None,
        };
        let ready_within = match self.ready_within {
            Some(within) => positive("ready_within", &within, Some(within.get_ref().0))?,
            None => None,
        };
        Ok(settings::Runner::Process(Process {
            command: command(self.command)?,
            dir: self.dir,
            env,
            user: self.user,
            protocol,
            concurrency,
            deadline,
            stall,
            ready_within: ready_within.unwrap_or(READY_WITHIN),
            idle: self.idle.map_or(IDLE, |idle| idle.into_inner().0),
            rlimits: Rlimits {
                memory: self.memory.map(|size| size.0),
                file_size: self.file_size.map(|size| size.0),
                files: self.files,
                processes: self.processes,
                cpu_seconds: self.cpu.map(|span| span.0.as_secs().max(1)),
            },
        }))
    }

    /// What the file sets, and what is handed on from the node's own environment.
    fn environment(&self, lookup: Lookup) -> Result<BTreeMap<String, String>, Problem> {
        let mut env = BTreeMap::new();
        for name in &self.pass_env {
            let value = lookup(name.get_ref()).ok_or_else(|| {
                let what = format!(
                    "`{}` is not set in the node's environment; set it, or remove it from pass_env",
                    name.get_ref()
                );
                Problem::at(name.span(), what)
            })?;
            env.insert(name.get_ref().clone(), value);
        }
        for (name, value) in &self.env {
            if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
                let what =
                    format!("`{}` in `env` is no variable; write NAME = \"value\"", name.escape_debug());
                return Err(Problem::new(what));
            }
            env.insert(name.clone(), value.clone());
        }
        Ok(env)
    }
}

fn protocol(given: &Spanned<String>) -> Result<Protocol, Problem> {
    match given.get_ref().as_str() {
        "text" => Ok(Protocol::Text),
        "jsonl" => Ok(Protocol::Jsonl),
        "acp" => Err(Problem::at(
            given.span(),
            "protocol = \"acp\" is not in this version; use \"text\" or \"jsonl\"",
        )),
        other => {
            let what = format!("unknown protocol `{other}`; {}", suggest::instead(other, &["text", "jsonl"]));
            Err(Problem::at(given.span(), what))
        }
    }
}

fn concurrency(given: &Spanned<usize>) -> Result<usize, Problem> {
    let number = *given.get_ref();
    if (1..=CONCURRENCY_MAX).contains(&number) {
        return Ok(number);
    }
    Err(Problem::at(given.span(), format!("`concurrency` is a number from 1 to {CONCURRENCY_MAX}")))
}

fn positive<T>(name: &str, given: &Spanned<T>, span: Option<Duration>) -> Result<Option<Duration>, Problem> {
    if span == Some(Duration::ZERO) {
        return Err(Problem::at(given.span(), format!("`{name}` is a duration above zero, such as \"10m\"")));
    }
    Ok(span)
}

fn command(given: Option<Spanned<Command>>) -> Result<Vec<String>, Problem> {
    let Some(given) = given else {
        return Err(Problem::new("the runner has no command; add for example command = [\"./review.sh\"]"));
    };
    let at = given.span();
    let words = match given.into_inner() {
        Command::Words(words) => words,
        Command::Line(line) => {
            split(&line).map_err(|what| Problem::at(at.clone(), format!("`command`: {what}")))?
        }
    };
    if words.first().is_none_or(String::is_empty) {
        let what = "`command` names no program; write for example command = [\"./review.sh\"]";
        return Err(Problem::at(at, what));
    }
    if words.iter().any(|word| word.contains('\0')) {
        return Err(Problem::at(at, "`command` holds a NUL byte, which no program can be given; remove it"));
    }
    Ok(words)
}

/// Splits a command like a shell does, without running one.
pub fn split(line: &str) -> Result<Vec<String>, String> {
    shell_words::split(line).map_err(|_| format!("a quote in `{line}` is not closed; close it"))
}

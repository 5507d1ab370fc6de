//! A conversation: say something, show what comes, answer what is asked, and say how to come back where it stays open.

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use baton_core::model::{Message, StreamResponse, TaskState};
use baton_wire::fault::Kind;
use baton_wire::response::SendMessageResponse;
use tokio::time::Instant;

use crate::federation::Error;

use super::follow::{Follow, Until};
use super::message::of_text;
use super::output;
use super::printer::Printer;
use super::remote::{Remote, request};
use super::save::SaveArgs;
use super::{Exit, Failure};

/// How a conversation is to be had.
#[derive(Clone, Debug, Default)]
pub struct Manner {
    pub json: bool,
    /// Say it and go: the answer is the task as it begins.
    pub detached: bool,
    /// After this the task is left to itself.
    pub timeout: Option<Duration>,
    pub save: SaveArgs,
}

/// A conversation under way.
#[derive(Debug)]
pub struct Talk<'a> {
    remote: &'a Remote,
    manner: Manner,
    asks: bool,
    deadline: Option<Instant>,
    printer: Printer,
    follow: Follow<'a>,
}

/// How following came to rest.
enum Rest {
    Settled,
    Interrupted,
    TimedOut,
}

/// What comes of a question at the terminal.
enum Next {
    Say(Message),
    Rest(Rest),
}

impl<'a> Talk<'a> {
    pub fn new(remote: &'a Remote, until: Until, manner: Manner) -> io::Result<Self> {
        let asks = until == Until::Settled && !manner.json && io::stdin().is_terminal();
        Ok(Self {
            remote,
            asks,
            deadline: manner.timeout.map(|timeout| Instant::now() + timeout),
            printer: Printer::new(manner.json, asks, manner.save.saver()?),
            manner,
            follow: Follow::new(remote, until),
        })
    }

    /// Says something to the agent, in a new task or in the one that the message names.
    pub async fn say(mut self, message: Message) -> Result<Exit, Failure> {
        self.follow.task_id.clone_from(&message.task_id);
        let mut message = message;
        loop {
            let rest = self.bounded(message).await?;
            let asked = self.asks && !self.manner.detached && self.follow.state.is_interrupted();
            let next = match rest {
                Rest::Settled if asked => self.ask().await?,
                rest => Next::Rest(rest),
            };
            match next {
                Next::Say(answer) => message = answer,
                Next::Rest(rest) => return self.close(&rest),
            }
        }
    }

    /// Follows a task that is there.
    pub async fn watch(mut self, id: &str) -> Result<Exit, Failure> {
        self.follow.task_id = Some(id.to_owned());
        let rest = self.run().await?;
        self.close(&rest)
    }

    /// Says it, and follows what comes of it; both within the time there is.
    async fn bounded(&mut self, message: Message) -> Result<Rest, Failure> {
        let deadline = self.deadline;
        let remote = self.remote;
        let said = tokio::select! {
            said = self.open(remote, message) => said,
            _ = tokio::signal::ctrl_c() => return Ok(Rest::Interrupted),
            () = at(deadline) => return Ok(Rest::TimedOut),
        };
        if let Some(response) = said.map_err(|why| self.failed(why))? {
            self.follow.take(&response);
            match &response {
                // What is wanted of a task that is left alone is its name.
                StreamResponse::Task(task) if self.manner.detached && !self.manner.json => {
                    output::line(&task.id)?;
                }
                response => self.printer.show(response)?,
            }
        }
        if self.manner.detached { Ok(Rest::Settled) } else { self.run().await }
    }

    /// Says it: what was answered, or nothing where a stream was opened that will tell.
    async fn open(&mut self, remote: &Remote, message: Message) -> Result<Option<StreamResponse>, Error> {
        match remote {
            Remote::Agent { client, .. } => {
                if client.streams() && !self.manner.detached {
                    match client.stream(request(message.clone(), false)).await {
                        Ok(events) => {
                            self.follow.open(events);
                            return Ok(None);
                        }
                        // The card says one thing, the agent another.
                        Err(why) if is_unsupported(&why) => {}
                        Err(why) => return Err(why),
                    }
                }
                Ok(Some(match client.send(request(message, self.manner.detached)).await? {
                    SendMessageResponse::Task(task) => StreamResponse::Task(task),
                    SendMessageResponse::Message(message) => StreamResponse::Message(message),
                }))
            }
            Remote::Node(node) => {
                let id = message.task_id.clone().unwrap_or_default();
                Remote::say(node, &id, &message).await.map(|task| Some(StreamResponse::Task(task)))
            }
        }
    }

    async fn run(&mut self) -> Result<Rest, Failure> {
        loop {
            let next = tokio::select! {
                next = self.follow.next() => next,
                _ = tokio::signal::ctrl_c() => return Ok(Rest::Interrupted),
                () = at(self.deadline) => return Ok(Rest::TimedOut),
            };
            match next {
                Ok(Some(response)) => self.printer.show(&response)?,
                Ok(None) => return Ok(Rest::Settled),
                Err(why) => return Err(self.failed(why)),
            }
        }
    }

    /// Asks at the terminal. Where nothing is answered, the question stays open.
    async fn ask(&mut self) -> Result<Next, Failure> {
        self.printer.finish()?;
        loop {
            output::prompt("> ");
            let line = tokio::task::spawn_blocking(|| {
                let mut line = String::new();
                io::stdin().read_line(&mut line).map(|read| (read > 0).then_some(line))
            });
            let line = tokio::select! {
                line = line => line.map_err(|why| Failure::failed(why.to_string()))??,
                _ = tokio::signal::ctrl_c() => return Ok(Next::Rest(Rest::Interrupted)),
                () = at(self.deadline) => return Ok(Next::Rest(Rest::TimedOut)),
            };
            let Some(line) = line else {
                output::note("");
                return Ok(Next::Rest(Rest::Settled));
            };
            let text = line.trim_end_matches(['\n', '\r']);
            if !text.is_empty() {
                let mut message = of_text(text);
                message.task_id.clone_from(&self.follow.task_id);
                message.context_id.clone_from(&self.follow.context_id);
                return Ok(Next::Say(message));
            }
            if self.follow.state == TaskState::AuthRequired {
                // Signed in elsewhere: the agent goes on by itself.
                self.follow.passing = Some(TaskState::AuthRequired);
                let rest = self.run().await?;
                if !matches!(rest, Rest::Settled) || !self.follow.state.is_interrupted() {
                    return Ok(Next::Rest(rest));
                }
            }
        }
    }

    /// Says what is left open, and how it went.
    fn close(mut self, rest: &Rest) -> Result<Exit, Failure> {
        self.printer.close()?;
        let state = self.follow.state;
        let open = !self.follow.replied && !state.is_terminal();
        if let Some(id) = self.follow.task_id.as_deref().filter(|_| open) {
            self.hint(id);
        } else if open {
            output::note(
                "it is not known whether the message arrived; see `baton task list` for what came of it",
            );
        }
        match rest {
            Rest::Interrupted => Ok(Exit::Interrupted),
            Rest::TimedOut => Err(Failure::failed("the time is up; the task goes on without us")),
            Rest::Settled => Ok(match state {
                TaskState::Failed | TaskState::Rejected | TaskState::Canceled => Exit::TaskEnded,
                _ => Exit::Done,
            }),
        }
    }

    fn hint(&self, id: &str) {
        if self.follow.state.is_interrupted() {
            output::note(&format!("answer with: {} TEXT", self.remote.resume("answer", id)));
        } else {
            output::note(&format!("resume with: {}", self.remote.resume("watch", id)));
        }
    }

    fn failed(&mut self, why: Error) -> Failure {
        drop(self.printer.finish());
        let open = !self.follow.replied && !self.follow.state.is_terminal();
        if let (Some(id), true, None) = (self.follow.task_id.as_deref(), open, why.remote()) {
            self.hint(id);
        }
        self.remote.explain(why)
    }
}

fn is_unsupported(why: &Error) -> bool {
    let kinds = [Kind::UnsupportedOperation, Kind::MethodNotFound, Kind::UnknownPath];
    why.remote().is_some_and(|remote| remote.kind.is_some_and(|kind| kinds.contains(&kind)))
}

async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

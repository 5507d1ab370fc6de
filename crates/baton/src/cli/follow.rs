//! Following one task to where it settles: a stream that breaks is resumed, and where there is no stream the task is
//! asked for again and again.

use std::time::Duration;

use baton_core::model::{StreamResponse, TaskObject, TaskState, TaskStatus};
use baton_wire::fault::Kind;

use crate::federation::{Error, Events};

use super::remote::Remote;

/// Where following ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// At the end, or when the task waits for its owner.
    Settled,
    /// At the end only.
    Ended,
}

/// Tries to resume a stream without anything coming of it.
const TRIES: u32 = 8;

/// Wait before the first try; doubles with each further one.
const PAUSE: Duration = Duration::from_millis(250);

/// Longest wait between two tries, and between two questions after a task that does not stream.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// One task being followed.
#[derive(Debug)]
pub struct Follow<'a> {
    remote: &'a Remote,
    until: Until,
    events: Option<Events>,
    /// The first event of a subscription says only what is known already.
    fresh: bool,
    polls: bool,
    tries: u32,
    /// What broke last.
    broke: Option<Error>,
    last_event_id: Option<String>,
    polled: Option<TaskObject>,
    pub task_id: Option<String>,
    pub context_id: Option<String>,
    pub state: TaskState,
    /// The agent answered with a message: there is no task.
    pub replied: bool,
    /// An interruption that is being dealt with elsewhere, and is waited out.
    pub passing: Option<TaskState>,
}

impl<'a> Follow<'a> {
    pub fn new(remote: &'a Remote, until: Until) -> Self {
        Self {
            remote,
            until,
            events: None,
            fresh: false,
            polls: !remote.streams(),
            tries: 0,
            broke: None,
            last_event_id: None,
            polled: None,
            task_id: None,
            context_id: None,
            state: TaskState::Unspecified,
            replied: false,
            passing: None,
        }
    }

    /// Goes on with a stream that is open already.
    pub fn open(&mut self, events: Events) {
        self.events = Some(events);
        self.last_event_id = None;
        self.state = TaskState::Unspecified;
        self.passing = None;
    }

    /// Takes note of an answer that came without a stream.
    pub fn take(&mut self, response: &StreamResponse) {
        match response {
            StreamResponse::Task(task) => {
                self.task_id = Some(task.id.clone());
                if task.context_id.is_some() {
                    self.context_id.clone_from(&task.context_id);
                }
                self.turn(&task.status);
            }
            StreamResponse::StatusUpdate(update) => {
                self.name(&update.task_id, &update.context_id);
                self.turn(&update.status);
            }
            StreamResponse::ArtifactUpdate(update) => self.name(&update.task_id, &update.context_id),
            StreamResponse::Message(message) => {
                self.context_id.clone_from(&message.context_id);
                self.replied = true;
            }
        }
    }

    fn name(&mut self, task_id: &str, context_id: &str) {
        if !task_id.is_empty() {
            self.task_id = Some(task_id.to_owned());
        }
        if !context_id.is_empty() {
            self.context_id = Some(context_id.to_owned());
        }
    }

    fn turn(&mut self, status: &TaskStatus) {
        self.state = status.state;
        if self.passing.is_some_and(|passing| passing != status.state) {
            self.passing = None;
        }
    }

    pub fn is_over(&self) -> bool {
        let waits = self.state.is_interrupted() && self.passing != Some(self.state);
        self.replied || self.state.is_terminal() || (waits && self.until == Until::Settled)
    }

    /// The next thing that happens; `None` where the task has settled.
    pub async fn next(&mut self) -> Result<Option<StreamResponse>, Error> {
        loop {
            if let Some(response) = self.read().await? {
                return Ok(Some(response));
            }
            if self.is_over() {
                return Ok(None);
            }
            let Some(id) = self.task_id.clone() else { return Err(self.gone()) };
            if self.tries > 0 || self.polls {
                tokio::time::sleep(pause(self.tries)).await;
            }
            self.tries += 1;
            if self.polls {
                if let Some(task) = self.poll(&id).await? {
                    return Ok(Some(task));
                }
            } else {
                self.resume(&id).await?;
            }
        }
    }

    /// The next event of the open stream, where one is open.
    async fn read(&mut self) -> Result<Option<StreamResponse>, Error> {
        let Some(events) = &mut self.events else { return Ok(None) };
        match events.next().await {
            Ok(Some(item)) => {
                if !std::mem::take(&mut self.fresh) {
                    self.tries = 0;
                }
                self.last_event_id = item.id.or(self.last_event_id.take());
                self.take(&item.response);
                if self.is_over() {
                    self.events = None;
                }
                Ok(Some(item.response))
            }
            Ok(None) => {
                self.events = None;
                Ok(None)
            }
            Err(why) if why.is_transient() => {
                self.events = None;
                self.broke = Some(why);
                Ok(None)
            }
            Err(why) => Err(why),
        }
    }

    async fn resume(&mut self, id: &str) -> Result<(), Error> {
        if self.tries > TRIES {
            // Streams that end at once are no way to follow; a broken network is no way at all.
            match self.broke.take() {
                Some(why) => return Err(why),
                None => self.polls = true,
            }
            self.tries = 0;
            return Ok(());
        }
        match self.remote.subscribe(id, self.last_event_id.as_deref()).await {
            Ok(events) => {
                self.events = Some(events);
                self.fresh = true;
                self.broke = None;
                Ok(())
            }
            Err(why) if why.is_transient() => {
                self.broke = Some(why);
                Ok(())
            }
            // The task has ended meanwhile, or subscribing is not offered: both show when it is asked for.
            Err(why) if why.remote().is_some_and(|remote| asks_instead(remote.kind)) => {
                self.polls = true;
                self.tries = 0;
                Ok(())
            }
            Err(why) => Err(why),
        }
    }

    /// The task, where it changed since it was asked for last.
    async fn poll(&mut self, id: &str) -> Result<Option<StreamResponse>, Error> {
        match self.remote.task(id).await {
            Ok(task) => {
                self.tries = self.tries.min(4);
                if self.polled.as_ref() == Some(&task) {
                    return Ok(None);
                }
                self.polled = Some(task.clone());
                let response = StreamResponse::Task(task);
                self.take(&response);
                Ok(Some(response))
            }
            Err(why) if why.is_transient() && self.tries <= TRIES => Ok(None),
            Err(why) => Err(why),
        }
    }

    /// The stream is over and never named a task.
    fn gone(&mut self) -> Error {
        self.broke.take().unwrap_or_else(|| Error::Unreadable {
            url: "the agent".to_owned(),
            why: "the stream ended before it said anything".to_owned(),
        })
    }
}

fn asks_instead(kind: Option<Kind>) -> bool {
    let kinds = [Kind::UnsupportedOperation, Kind::MethodNotFound, Kind::UnknownPath, Kind::MethodNotAllowed];
    kind.is_none_or(|kind| kinds.contains(&kind))
}

fn pause(tries: u32) -> Duration {
    PAUSE.saturating_mul(1 << tries.min(5)).min(PAUSE_MAX)
}

//! Following a task's events: from the hub where they are fresh, from the store where they are not.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use baton_core::ident::TaskId;
use baton_core::model::{ArtifactUpdate, Message};
use baton_core::model::{StatusUpdate, StreamResponse, TaskObject, TaskState, TaskStatus};
use baton_core::task::{Body, Event, Input, Snapshot, Task};
use baton_store::{By, Known, Store, Verb};

use super::hub::Watch;
use super::{Error, Scope, Service, parse_id};

/// Events that are read from the store at a time.
const BATCH: usize = 256;

/// A reader of one task's log. Slow readers lose nothing: they fall back to the store.
pub struct Events {
    store: Arc<dyn Store>,
    watch: Watch,
    id: TaskId,
    after: u64,
    /// Events that are known to be in the store, whatever the hub has seen.
    known: u64,
    waiting: VecDeque<Arc<Event>>,
    over: bool,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("task", &self.id).field("after", &self.after).finish_non_exhaustive()
    }
}

impl Events {
    /// Everything after sequence number `after`, of a task that was read with `known` events after `watch` began.
    pub fn new(store: Arc<dyn Store>, watch: Watch, id: TaskId, after: u64, known: u64) -> Self {
        Self { store, watch, id, after, known, waiting: VecDeque::new(), over: false }
    }

    /// The next event, as soon as there is one; `None` after the terminal one. Safe to drop before it is ready.
    pub async fn next(&mut self) -> Result<Option<Arc<Event>>, Error> {
        while !self.over {
            if let Some(event) = self.waiting.pop_front() {
                self.after = event.seq;
                self.over = event.body.is_terminal();
                return Ok(Some(event));
            }
            let newest = self.watch.newest().map_or(0, |known| known.task().seq).max(self.known);
            match self.watch.after(self.after) {
                Some(fresh) if !fresh.is_empty() => self.waiting.extend(fresh),
                None if newest > self.after => {
                    self.waiting.extend(self.store.events(self.id, self.after, BATCH).await?);
                    if self.waiting.is_empty() {
                        self.over = true;
                    }
                }
                Some(_) | None => self.watch.changed().await,
            }
        }
        Ok(None)
    }
}

impl Events {
    /// Events that are at hand already: those that follow what was read last.
    pub fn add(&mut self, events: &[Arc<Event>]) {
        self.waiting.extend(events.iter().cloned());
    }

    /// Ends the reading here.
    pub const fn finish(&mut self) {
        self.over = true;
    }

    /// Waits for the first event that says something of the work; answers it where it is a direct Message, and leaves it
    /// to be read where it is not.
    pub async fn reply(&mut self) -> Result<Option<(u64, Arc<Message>)>, Error> {
        let mut read = VecDeque::new();
        let mut reply = None;
        while let Some(event) = self.next().await? {
            read.push_back(Arc::clone(&event));
            match &event.body {
                Body::Answered { message } => reply = Some((event.seq, Arc::clone(message))),
                Body::Claimed { .. } | Body::Requeued { .. } | Body::Used { .. } => continue,
                _ => {}
            }
            break;
        }
        read.append(&mut self.waiting);
        (self.waiting, self.over) = (read, false);
        Ok(reply)
    }
}

/// What a stream begins with, and what it goes on with.
#[derive(Debug)]
pub struct Follow {
    pub first: Option<(u64, StreamResponse)>,
    pub events: Events,
    pub context_id: String,
    /// The stream ends where the task waits for input (SendStreamingMessage); SubscribeToTask goes on to the end.
    pub until_input: bool,
    /// Sequence number of the caller's own message: an interruption before it does not end the stream.
    pub from: u64,
}

impl Service {
    /// SubscribeToTask. With `last`, the caller has seen the events up to that number.
    pub async fn subscribe(&self, scope: &Scope, id: &str, last: Option<u64>) -> Result<Follow, Error> {
        scope.allow(Verb::Read)?;
        if !scope.agent.settings.streaming {
            return Err(Error::Unsupported("this agent does not stream"));
        }
        self.subscribe_by(scope.by(), id, last).await
    }

    /// As [`Service::subscribe`], for the operator too.
    pub async fn subscribe_by(&self, by: By, id: &str, last: Option<u64>) -> Result<Follow, Error> {
        let id = parse_id(id)?;
        let watch = self.hub.watch(id);
        let mut snapshot = self.store.find(&by, id).await?.ok_or(Error::TaskNotFound)?;
        if !snapshot.task.shown && !snapshot.task.state.is_terminal() {
            self.apply(by.clone(), id, vec![Input::Shown]).await?;
            snapshot = self.store.find(&by, id).await?.ok_or(Error::TaskNotFound)?;
        }
        let seq = snapshot.task.seq;
        let resumed = last.filter(|last| *last < seq);
        if snapshot.task.state.is_terminal() && resumed.is_none() {
            return Err(Error::Unsupported("the task is over: GetTask shows how it ended"));
        }
        let context_id = snapshot.task.context_id.to_string();
        let (first, after) = match resumed {
            Some(last) => (self.as_of(&snapshot, last).await?, last),
            None => (snapshot.object(None, true), seq),
        };
        let events = Events::new(Arc::clone(&self.store), watch, id, after, seq);
        let first = Some((after, StreamResponse::Task(first)));
        Ok(Follow { first, events, context_id, until_input: false, from: after })
    }

    /// The task with its status as of `seq`, without artifacts and history, so that no append is applied twice.
    async fn as_of(&self, snapshot: &Snapshot, seq: u64) -> Result<TaskObject, Error> {
        let mut status = TaskStatus {
            state: TaskState::Submitted,
            message: None,
            timestamp: Some(snapshot.task.created_at),
        };
        let mut after = 0;
        while after < seq {
            let batch = self.store.events(snapshot.task.id, after, BATCH).await?;
            let Some(last) = batch.last() else { break };
            after = last.seq;
            for event in batch.iter().filter(|event| event.seq <= seq) {
                if let Some(new) = status_of(event) {
                    status = new;
                }
            }
        }
        Ok(TaskObject { status, artifacts: None, history: Vec::new(), ..snapshot.object(Some(0), false) })
    }

    /// Waits until `done`, the deadline or a drain, and answers the task as it stands then.
    pub(super) async fn settled(
        &self,
        mut watch: Watch,
        known: Known,
        wait: Duration,
        done: impl Fn(&Task) -> bool,
    ) -> Known {
        let deadline = tokio::time::sleep(wait);
        tokio::pin!(deadline);
        let mut known = known;
        loop {
            if let Some(newest) = watch.newest().filter(|newest| newest.task().seq >= known.task().seq) {
                known = newest;
            }
            if done(known.task()) {
                return known;
            }
            tokio::select! {
                () = watch.changed() => {}
                () = &mut deadline => return known,
                () = self.draining.cancelled() => return known,
            }
        }
    }

    /// A task with its content.
    pub(super) async fn whole(&self, known: Known) -> Result<Arc<Snapshot>, Error> {
        match known {
            Known::Whole(snapshot) => Ok(snapshot),
            Known::Head(task) => self.store.find(&By::Node, task.id).await?.ok_or(Error::TaskNotFound),
        }
    }
}

fn status_of(event: &Event) -> Option<TaskStatus> {
    if !event.body.is_visible() {
        return None;
    }
    let state = event.body.status()?;
    Some(TaskStatus { state, message: event.body.status_message().cloned(), timestamp: Some(event.at) })
}

/// What a stream carries of an event, if anything.
pub fn item(id: TaskId, context_id: &str, event: &Event) -> Option<StreamResponse> {
    if !event.body.is_visible() {
        return None;
    }
    match &event.body {
        Body::Answered { message } => Some(StreamResponse::Message(Arc::<Message>::clone(message))),
        Body::Wrote { chunk } => Some(StreamResponse::ArtifactUpdate(ArtifactUpdate {
            task_id: id.to_string(),
            context_id: context_id.to_owned(),
            artifact: chunk.artifact.clone(),
            append: chunk.append,
            last_chunk: chunk.last_chunk,
            metadata: None,
        })),
        Body::Submitted { .. }
        | Body::Claimed { .. }
        | Body::Progressed { .. }
        | Body::Used { .. }
        | Body::Interrupted { .. }
        | Body::Messaged { .. }
        | Body::Resumed { .. }
        | Body::HolderGone
        | Body::Requeued { .. }
        | Body::CancelRequested
        | Body::Completed { .. }
        | Body::Failed { .. }
        | Body::Canceled { .. }
        | Body::Rejected { .. } => status_of(event).map(|status| {
            StreamResponse::StatusUpdate(StatusUpdate {
                task_id: id.to_string(),
                context_id: context_id.to_owned(),
                status,
                metadata: None,
            })
        }),
    }
}

impl Follow {
    /// The next item with its sequence number; `None` at the stream's end. Safe to drop before it is ready.
    pub async fn next(&mut self) -> Result<Option<(u64, StreamResponse)>, Error> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        loop {
            let Some(event) = self.events.next().await? else { return Ok(None) };
            let waits = matches!(event.body.status(), Some(TaskState::InputRequired));
            if self.until_input && waits && event.seq > self.from {
                self.events.over = true;
            }
            if let Some(item) = item(self.events.id, &self.context_id, &event) {
                return Ok(Some((event.seq, item)));
            }
        }
    }
}

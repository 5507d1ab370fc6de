//! Following a task's events: from the hub where they are fresh, from the store where they are not.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use baton_core::ident::TaskId;
use baton_core::model::{ArtifactUpdate, Message};
use baton_core::model::{StatusUpdate, StreamResponse, TaskObject, TaskState, TaskStatus};
use baton_core::task::{Body, Event, Input, Snapshot, Task};
use baton_store::{By, Known, Store, Verb};

use super::hub::{After, Newest, Watch};
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
            self.more().await?;
        }
        Ok(None)
    }

    /// Adds what comes after all that is at hand, as soon as there is any. Safe to drop before it is ready.
    async fn more(&mut self) -> Result<(), Error> {
        let last = self.waiting.back().map_or(self.after, |event| event.seq);
        loop {
            match self.watch.after(last, self.known) {
                After::Fresh(fresh) => {
                    self.waiting.extend(fresh);
                    return Ok(());
                }
                After::Stored => {
                    let read = self.store.events(self.id, last, BATCH).await?;
                    self.over = read.is_empty();
                    self.waiting.extend(read);
                    return Ok(());
                }
                After::Nothing => self.watch.changed().await,
            }
        }
    }

    /// Events that are at hand already: those that follow what was read last.
    pub fn add(&mut self, events: &[Arc<Event>]) {
        self.waiting.extend(events.iter().cloned());
    }

    /// Ends the reading here.
    pub const fn finish(&mut self) {
        self.over = true;
    }

    /// Waits for the first event that says something of the work; answers it where it is a direct Message. Nothing is
    /// taken: [`Events::next`] begins where it would have. Safe to drop before it is ready.
    pub async fn reply(&mut self) -> Result<Option<(u64, Arc<Message>)>, Error> {
        let mut looked_at = 0;
        while !self.over {
            while let Some(event) = self.waiting.get(looked_at) {
                match &event.body {
                    Body::Answered { message } => return Ok(Some((event.seq, Arc::clone(message)))),
                    Body::Claimed { .. }
                    | Body::Requeued { .. }
                    | Body::Used { .. }
                    | Body::Messaged { .. } => {
                        looked_at += 1;
                    }
                    _ => return Ok(None),
                }
            }
            self.more().await?;
        }
        Ok(None)
    }
}

/// What a stream begins with, and what it goes on with.
#[derive(Debug)]
pub struct Follow {
    pub first: Option<(u64, StreamResponse)>,
    /// The agent may still answer with a direct Message: `first` is held back until it does or does not.
    pub undecided: bool,
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
        let snapshot = self.store.find(&by, id).await?.ok_or(Error::TaskNotFound)?;
        let snapshot = self.shown(&by, snapshot).await?;
        let seq = snapshot.task.seq;
        let resumed = last.filter(|last| *last < seq);
        if snapshot.task.state.is_terminal() {
            let left = match resumed {
                Some(last) => self.store.events(id, last, 1).await?,
                None => Vec::new(),
            };
            if left.is_empty() {
                return Err(Error::Unsupported("the task is over: GetTask shows how it ended"));
            }
        }
        let context_id = snapshot.task.context_id.to_string();
        let (first, after) = match resumed {
            Some(last) => (self.as_of(&snapshot, last).await?, last),
            None => (snapshot.object(None, true), seq),
        };
        let events = Events::new(Arc::clone(&self.store), watch, id, after, seq);
        let first = Some((after, StreamResponse::Task(first)));
        Ok(Follow { first, undecided: false, events, context_id, until_input: false, from: after })
    }

    /// The task as a client is about to see it: from then on it becomes a direct Message no more.
    pub(super) async fn shown(&self, by: &By, snapshot: Arc<Snapshot>) -> Result<Arc<Snapshot>, Error> {
        if !may_be_message(&snapshot.task) {
            return Ok(snapshot);
        }
        let applied = self.apply(by.clone(), snapshot.task.id, vec![Input::Shown]).await?;
        self.whole(applied.known).await
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
            let newest = match watch.newest() {
                Newest::Known(newest) => Some(newest),
                Newest::Stored { seq } if seq > known.task().seq => {
                    // Where the store cannot be asked now, the next change or the deadline asks again.
                    let head = self.store.find_head(&By::Node, known.task().id).await;
                    head.ok().flatten().map(Known::Head)
                }
                Newest::Stored { .. } | Newest::Nothing => None,
            };
            if let Some(newest) = newest.filter(|newest| newest.task().seq >= known.task().seq) {
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

/// Whether the agent may still answer with a direct Message in place of this task.
pub(super) fn may_be_message(task: &Task) -> bool {
    task.policy.replies && !task.shown && !task.state.is_terminal()
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
            artifact: Arc::clone(&chunk.artifact),
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
    /// The task that was held back, where the stream must end before the agent has said anything.
    pub async fn held_back(&mut self, service: &Service) -> Option<(u64, StreamResponse)> {
        self.undecided = false;
        let (id, first) = (self.events.id, self.first.take()?);
        service.apply(By::Node, id, vec![Input::Shown]).await.ok().map(|_| first)
    }

    /// The next item with its sequence number; `None` at the stream's end. Safe to drop before it is ready.
    pub async fn next(&mut self) -> Result<Option<(u64, StreamResponse)>, Error> {
        if self.undecided {
            let reply = self.events.reply().await?;
            self.undecided = false;
            if let Some((seq, message)) = reply {
                self.first = Some((seq, StreamResponse::Message(message)));
                self.events.finish();
            }
        }
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

//! A message comes in: a new task, or a turn of one.

use std::sync::Arc;
use std::time::Duration;

use baton_core::ident::{ContextId, TaskId};
use baton_core::json::Object;
use baton_core::model::{Message, Role, StreamResponse, TaskState};
use baton_core::task::{Holder, HolderKind, Input, New, Request, Snapshot, State, Task};
use baton_store::{Applied, By, Create, Idempotency, Known, NewPush, Op, Verb};
use sha2::{Digest as _, Sha256};
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::follow::{Events, Follow, may_be_message};
use super::hub::{Hub, Watch};
use super::push::Inline;
use super::retry::by_client;
use super::timing::Timing;
use super::{Error, Scope, Service, op, parse_id};
use crate::clock::new_id;
use crate::runner::echo;
use crate::worker::dispatcher::Slot;

/// The attempt that a new task's claim begins.
const FIRST: u32 = 1;

/// Bytes of an idempotency key.
const KEY: usize = 255;

/// Refuses an idempotency key that came in `field` and is none.
pub fn check_key(field: &str, key: &str) -> Result<(), Error> {
    // What is no ASCII cannot be told from one door to another: a header has it in no certain encoding.
    if (1..=KEY).contains(&key.len()) && key.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Ok(());
    }
    Err(Error::invalid(field, format!("has 1 to {KEY} printable characters")))
}

/// A message and how it is to be treated.
#[derive(Clone, Debug)]
pub struct Send {
    pub message: Message,
    pub accepted_output_modes: Vec<String>,
    pub metadata: Option<Object>,
    /// Those of the agent that the caller activated.
    pub extensions: Vec<String>,
    pub return_immediately: bool,
    /// The same key and message give the same task for 24 hours.
    pub idempotency_key: Option<String>,
    /// Where what comes of it is to be pushed.
    pub push: Option<Inline>,
    /// The longest that the caller waits for the task to settle, where that is less than the node's limit.
    pub wait: Option<Duration>,
}

/// A message to a task that is there.
struct Turn {
    message: Message,
    key: Option<String>,
    push: Option<Inline>,
}

/// What a send came to.
#[derive(Clone, Debug)]
pub enum Sent {
    Task(Arc<Snapshot>),
    /// The agent answered with a direct Message.
    Message(Arc<Message>),
}

/// What was committed, and the watch that began before it; none where the commit was all that there is to see.
struct Handed {
    watch: Option<Watch>,
    applied: Applied,
}

impl Handed {
    /// A watch in any case. What was committed is known, and what comes later is seen by it.
    fn watch(&mut self, hub: &Arc<Hub>) -> Watch {
        self.watch.take().unwrap_or_else(|| hub.watch(self.applied.known.task().id))
    }
}

impl Service {
    /// SendMessage: waits until the task settles, or returns at once where that is asked for.
    pub async fn send(&self, scope: &Scope, send: Box<Send>) -> Result<Sent, Error> {
        let (at_once, wait) = (send.return_immediately, send.wait.unwrap_or(Duration::MAX));
        let mut handed = self.hand_in(scope, send, at_once).await?;
        if at_once {
            return self.sent(handed.applied.known).await;
        }
        // Its own message leaves no task settled, so that a settled state is always a later one.
        let settled = |task: &Task| task.state.is_settled();
        let mut known = handed.applied.known.clone();
        if !settled(known.task()) {
            let watch = handed.watch(&self.hub);
            let wait = self.limits().send_wait.min(wait);
            known = Box::pin(self.settled(watch, known, wait, settled)).await;
        }
        self.sent(known).await
    }

    /// The direct Message, or the task; that is shown herewith.
    async fn sent(&self, known: Known) -> Result<Sent, Error> {
        let mut snapshot = self.whole(known).await?;
        if may_be_message(&snapshot.task) {
            snapshot = Box::pin(self.show(snapshot)).await?;
        }
        Ok(match reply_of(&snapshot) {
            Some(reply) => Sent::Message(reply),
            None => Sent::Task(snapshot),
        })
    }

    /// Shows a task whose agent might have answered with a Message. That may have been quicker.
    async fn show(&self, snapshot: Arc<Snapshot>) -> Result<Arc<Snapshot>, Error> {
        match self.shown(&By::Node, Arc::clone(&snapshot)).await {
            Err(Error::TaskNotFound) => self.load_by(&By::Node, &snapshot.task.id.to_string()).await,
            shown => shown,
        }
    }

    /// SendStreamingMessage: the task as it was handed in, then its events to the end or to a question.
    pub async fn stream(&self, scope: &Scope, send: Box<Send>) -> Result<Follow, Error> {
        if !scope.agent.settings.streaming {
            return Err(Error::Unsupported("this agent does not stream"));
        }
        let shown = !scope.agent.policy.replies;
        let mut handed = self.hand_in(scope, send, shown).await?;
        let watch = handed.watch(&self.hub);
        let applied = handed.applied;
        let created = applied.events.first().is_some_and(|event| event.seq == 1);
        let snapshot = self.whole(applied.known.clone()).await?;
        let (id, seq) = (snapshot.task.id, snapshot.task.seq);
        let (task, after) =
            if created { (snapshot.at_submission(), 1) } else { (snapshot.object(None, true), seq) };
        let mut events = Events::new(Arc::clone(&self.store), watch, id, after, seq);
        if created {
            events.add(&applied.events[1..]);
        }
        // A repeated send may meet its task at the end already, or at a question.
        let waits = snapshot.task.state.shown() == TaskState::InputRequired;
        if !created && (snapshot.task.state.is_terminal() || waits) {
            events.finish();
        }
        let first = match reply_of(&snapshot) {
            Some(reply) => (seq, StreamResponse::Message(reply)),
            None => (after, StreamResponse::Task(task)),
        };
        // An agent that may reply shows nothing before its first event.
        let undecided = may_be_message(&snapshot.task);
        let context_id = snapshot.task.context_id.to_string();
        Ok(Follow { first: Some(first), undecided, events, context_id, until_input: true, from: after })
    }

    /// Commits the message. Everything that could be refused is refused before anything is written.
    async fn hand_in(&self, scope: &Scope, send: Box<Send>, shown: bool) -> Result<Handed, Error> {
        scope.allow(Verb::Send)?;
        if send.push.is_some() {
            scope.allow_push()?;
        }
        if self.draining.is_cancelled() {
            return Err(Error::Draining);
        }
        self.controls.admits(&scope.owner().grant)?;
        send.message.check().map_err(|violation| Error::Invalid(violation.within("message")))?;
        if send.message.role != Role::User {
            return Err(Error::invalid("message.role", "a message to an agent has the role ROLE_USER"));
        }
        scope.agent.modes.check_message(&send.message)?;
        scope.agent.modes.check_accepted(&send.accepted_output_modes)?;
        match send.message.task_id.as_deref().map(parse_id).transpose()? {
            Some(task) => Box::pin(self.follow_up(scope, send, task)).await,
            None => self.create(scope, send, shown).await,
        }
    }

    async fn create(&self, scope: &Scope, send: Box<Send>, shown: bool) -> Result<Handed, Error> {
        let id = TaskId::new(new_id());
        let (agent, owner) = (scope.agent.name().clone(), scope.owner().clone());
        let digest = send.idempotency_key.as_ref().map(|_| digest(&send.message)).transpose()?;
        let context_id = match &send.message.context_id {
            Some(context) => ContextId::parse(context)
                .map_err(|why| Error::invalid("message.contextId", why.to_string()))?,
            None => {
                ContextId::parse(&new_id().to_string()).map_err(|why| Error::Internal(why.to_string()))?
            }
        };
        let message = Message {
            task_id: Some(id.to_string()),
            context_id: Some(context_id.to_string()),
            ..by_client(send.message)
        };
        let push = self.inline_push(id, send.push).await?;
        let timing = Timing::of(send.metadata.as_ref(), self.now())?;
        let request = Request {
            accepted_output_modes: send.accepted_output_modes,
            metadata: send.metadata,
            extensions: send.extensions,
        };
        let message = Arc::new(message);
        let new = New {
            id,
            agent,
            owner,
            context_id,
            policy: scope.agent.policy.clone(),
            request,
            message: Arc::clone(&message),
            deadline: timing.deadline,
            not_before: timing.not_before,
            priority: timing.priority,
            // Who is told of it later knows it as a task.
            shown: shown || push.is_some(),
        };
        let idempotency = send.idempotency_key.zip(digest).map(|(key, digest)| Idempotency { key, digest });
        // What is put off is nobody's to begin now.
        let put_off = timing.not_before.is_some();
        let inline = scope.agent.is_inline() && !self.controls.pauses(scope.agent.name()) && !put_off;
        let slot = if put_off { None } else { self.dispatcher.reserve(scope.agent.name()) };
        let inputs = self.first_inputs(inline, &message, slot.as_ref());
        let op = Op {
            id: new_id(),
            task: id,
            by: scope.by(),
            create: Some(Create { new, idempotency }),
            inputs,
            push,
            now: self.now(),
            repeat: false,
        };
        let watch = (!inline).then(|| self.hub.watch(id));
        let applied = self.commit(op, slot).await?;
        if applied.known.task().id == id {
            return Ok(Handed { watch, applied });
        }
        Box::pin(self.earlier(applied)).await
    }

    /// The task that an earlier message of the same key made. Watched first and read again then: what was committed since
    /// the store answered is known to nobody here.
    async fn earlier(&self, applied: Applied) -> Result<Handed, Error> {
        let id = applied.known.task().id;
        let watch = Some(self.hub.watch(id));
        let newest = self.store.find(&By::Node, id).await?.ok_or(Error::TaskNotFound)?;
        Ok(Handed { watch, applied: Applied { known: Known::Whole(newest), ..applied } })
    }

    /// What happens to a new task in the commit that creates it: an inline agent's whole work, or the claim of a runner
    /// that is free now.
    fn first_inputs(&self, inline: bool, message: &Message, slot: Option<&Slot>) -> Vec<Input> {
        if !inline && slot.is_none() {
            return Vec::new();
        }
        let holder = Holder { kind: HolderKind::Node, name: self.dispatcher.boot().into() };
        let mut inputs = vec![Input::Claimed { holder, lease: self.dispatcher.lease() }];
        if inline {
            inputs.extend(echo::answer(FIRST, message));
        }
        inputs
    }

    /// Applies the operation and starts what it claimed, whoever still listens: a caller that goes away in the middle
    /// leaves no task behind that nobody works on.
    async fn commit(&self, op: Op, slot: Option<Slot>) -> Result<Applied, Error> {
        let Some(slot) = slot else { return Ok(self.store.apply(op).await?) };
        self.spawn_commit(op, slot).await.map_err(|why| Error::Internal(why.to_string()))?
    }

    fn spawn_commit(&self, op: Op, slot: Slot) -> JoinHandle<Result<Applied, Error>> {
        let (store, dispatcher) = (Arc::clone(&self.store), Arc::clone(&self.dispatcher));
        self.dispatcher.spawn(async move {
            let applied = store.apply(op).await?;
            if !applied.repeated {
                dispatcher.start(&applied.known, slot);
            }
            Ok(applied)
        })
    }

    async fn follow_up(&self, scope: &Scope, send: Box<Send>, id: TaskId) -> Result<Handed, Error> {
        let watch = self.hub.watch(id);
        let turn = Turn { message: by_client(send.message), key: send.idempotency_key, push: send.push };
        let applied = self.add_message(&scope.by(), id, turn).await?;
        Ok(Handed { watch: Some(watch), applied })
    }

    /// A follow-up in the owner's name, from the operator.
    pub async fn message_by(&self, by: &By, id: &str, message: Message) -> Result<Arc<Snapshot>, Error> {
        message.check().map_err(|violation| Error::Invalid(violation.within("message")))?;
        let applied = self.add_message(by, parse_id(id)?, Turn { message, key: None, push: None }).await?;
        self.whole(applied.known).await
    }

    /// What is to be stored of a configuration that came with a message.
    async fn inline_push(&self, id: TaskId, push: Option<Inline>) -> Result<Option<NewPush>, Error> {
        let Some(push) = push else { return Ok(None) };
        match Box::pin(self.new_push(id, push)).await {
            Err(Error::Invalid(violation)) => {
                Err(Error::Invalid(violation.within("configuration.taskPushNotificationConfig")))
            }
            new => new.map(Some),
        }
    }

    async fn add_message(&self, by: &By, id: TaskId, turn: Turn) -> Result<Applied, Error> {
        let Turn { message, key, push } = turn;
        let task = self.store.find_head(by, id).await?.ok_or(Error::TaskNotFound)?;
        let context_id = &task.context_id;
        if message.context_id.as_deref().is_some_and(|said| said != context_id.as_str()) {
            return Err(Error::invalid("message.contextId", "is not the context of this task; leave it out"));
        }
        let message = Message {
            task_id: Some(id.to_string()),
            context_id: Some(context_id.to_string()),
            role: Role::User,
            ..message
        };
        let push = self.inline_push(id, push).await?;
        let inputs = vec![Input::Messaged { message: Arc::new(message.clone()) }];
        let Some(key) = key else {
            let op = Op { push, ..op(new_id(), by.clone(), id, inputs, self.now()) };
            return Ok(self.store.apply(op).await?);
        };
        let op = Op { push, repeat: true, ..op(turn_id(id, &key), by.clone(), id, inputs, self.now()) };
        let applied = self.store.apply(op).await?;
        if applied.repeated {
            let snapshot = self.whole(applied.known.clone()).await?;
            if !snapshot.messages.iter().any(|(_, known)| **known == message) {
                return Err(baton_store::Error::KeyReused.into());
            }
        }
        Ok(applied)
    }
}

/// The operation of a turn that has a key: always the same for the same key, so that it is done once.
fn turn_id(task: TaskId, key: &str) -> Uuid {
    let digest = Sha256::new().chain_update(task.as_bytes()).chain_update(key).finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

/// The direct Message, where the record is no task.
fn reply_of(snapshot: &Snapshot) -> Option<Arc<Message>> {
    let last = || snapshot.messages.last().map(|(_, message)| Arc::clone(message));
    (snapshot.task.state == State::Answered).then(last).flatten()
}

/// SHA-256 of the parsed message, whatever its spelling was.
fn digest(message: &Message) -> Result<[u8; 32], Error> {
    let text = serde_json::to_vec(message).map_err(|why| Error::Internal(why.to_string()))?;
    Ok(Sha256::digest(text).into())
}

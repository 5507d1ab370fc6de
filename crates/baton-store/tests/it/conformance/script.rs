//! Short words for what tests say: fixed times, fixed ids, small messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use baton_core::ident::{AgentName, ContextId, Owner, TaskId};
use baton_core::json::Json;
use baton_core::model::{Artifact, Message, Part, Role};
use baton_core::task::{Chunk, Holder, HolderKind, Input, Interruption, New, Policy, Request};
use baton_core::time::Timestamp;
use baton_store::{By, Content, Create, Idempotency, ListQuery, Op};
use uuid::Uuid;

/// Milliseconds after the start of the tests' time.
pub const fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000 + millis)
}

/// The `n`-th task; a larger number is a larger id.
pub const fn task(n: u128) -> TaskId {
    TaskId::new(Uuid::from_u128(0x0199_f0a2_7c1e_7d3a_8f00_0000_0000_0000 + n))
}

/// An operation's id that no other has.
pub fn op_id() -> Uuid {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    Uuid::from_u64_pair(7, NEXT.fetch_add(1, Ordering::Relaxed))
}

pub fn agent(name: &str) -> AgentName {
    AgentName::parse(name).unwrap()
}

/// The owner that every backend knows without a grant in a table.
pub fn owner() -> Owner {
    Owner::new("local", "")
}

pub fn by_owner() -> By {
    By::Owner(agent("echo"), owner())
}

pub fn node(boot: &str) -> Holder {
    Holder { kind: HolderKind::Node, name: boot.into() }
}

pub fn worker(name: &str) -> Holder {
    Holder { kind: HolderKind::Worker, name: name.into() }
}

pub fn user(id: &str, text: &str) -> Arc<Message> {
    Arc::new(Message::text(Role::User, id, text))
}

pub fn said(text: &str) -> Arc<Message> {
    Arc::new(Message::text(Role::Agent, "said", text))
}

pub fn data(json: &str) -> Part {
    Part::data(Json::parse(json).unwrap())
}

pub fn chunk(id: &str, text: &str, append: bool) -> Arc<Chunk> {
    let artifact = Artifact { artifact_id: id.into(), parts: vec![Part::text(text)], ..Artifact::default() };
    Arc::new(Chunk { artifact: Arc::new(artifact), append, last_chunk: false })
}

/// A task for the agent `echo`, of [`owner`], in the context `talk`.
pub fn new(n: u128) -> New {
    New {
        id: task(n),
        agent: agent("echo"),
        owner: owner(),
        context_id: ContextId::parse("talk").unwrap(),
        policy: Policy::default(),
        request: Request::default(),
        message: user("first", "hello"),
        deadline: None,
        not_before: None,
        priority: 0,
        shown: false,
    }
}

/// Its owner hands the task in.
pub fn create(new: New, now: Timestamp) -> Op {
    Op {
        id: op_id(),
        task: new.id,
        by: By::Owner(new.agent.clone(), new.owner.clone()),
        create: Some(Create { new, idempotency: None }),
        inputs: Vec::new(),
        push: None,
        now,
        repeat: false,
    }
}

/// As [`create`], with what happens to it in the same commit.
pub fn create_with(new: New, inputs: Vec<Input>, now: Timestamp) -> Op {
    Op { inputs, ..create(new, now) }
}

/// As [`create`], under a key for a message with this digest.
pub fn create_keyed(new: New, key: &str, digest: u8, now: Timestamp) -> Op {
    let idempotency = Some(Idempotency { key: key.into(), digest: [digest; 32] });
    let mut op = create(new, now);
    op.create.as_mut().unwrap().idempotency = idempotency;
    op
}

/// The node changes a task.
pub fn change(id: TaskId, inputs: Vec<Input>, now: Timestamp) -> Op {
    Op { id: op_id(), task: id, by: By::Node, create: None, inputs, push: None, now, repeat: false }
}

pub fn claimed(holder: Holder) -> Input {
    Input::Claimed { holder, lease: None }
}

/// A claim with a lease of so many milliseconds.
pub fn leased(holder: Holder, lease: u64) -> Input {
    Input::Claimed { holder, lease: Some(Duration::from_millis(lease)) }
}

pub fn messaged(id: &str, text: &str) -> Input {
    Input::Messaged { message: user(id, text) }
}

pub fn wrote(attempt: u32, chunk: Arc<Chunk>) -> Input {
    Input::Wrote { attempt, chunk }
}

pub fn asked(attempt: u32) -> Input {
    Input::Asked { attempt, kind: Interruption::Input, message: Some(said("which one?")) }
}

pub fn completed(attempt: u32) -> Input {
    Input::Completed { attempt, message: Some(said("done")) }
}

/// All tasks of [`owner`] with `echo`.
pub fn everything() -> ListQuery {
    ListQuery {
        agent: agent("echo"),
        owner: owner(),
        context: None,
        state: None,
        since: None,
        after: None,
        size: 100,
        content: Content { messages: 1_000, artifacts: true },
    }
}

//! What the operator does with a task in its owner's stead: speak to it, try it again, attend to its failure.

use std::sync::Arc;

use baton_core::json::Object;
use baton_core::model::Message;
use baton_core::task::Snapshot;
use baton_store::{Actor, Attend, By, LOCAL};

use super::send::{Send, Sent};
use super::{Error, Scope, Service, parse_id};
use crate::access::{Caller, Proof};
use crate::clock::new_id;

/// What the metadata of a message says that the operator wrote it. Exactly this text: nobody else's message carries it.
const BY_OPERATOR: &str = r#"{"baton/by":"operator"}"#;

/// Whether the operator wrote a message, not the task's owner.
pub fn is_by_operator(message: &Message) -> bool {
    message.metadata.as_ref().is_some_and(|metadata| metadata.as_str() == BY_OPERATOR)
}

/// The message of a client, which does not speak for the operator.
pub fn by_client(mut message: Message) -> Message {
    if is_by_operator(&message) {
        message.metadata = None;
    }
    message
}

impl Service {
    /// A message to a task from the operator: the answer to its question, or more to consider.
    pub async fn say(&self, id: &str, message: Message, by: &Actor) -> Result<Arc<Snapshot>, Error> {
        let metadata = match message.metadata {
            Some(metadata) => Some(metadata),
            None => Object::parse(BY_OPERATOR).ok(),
        };
        let said = self.message_by(&By::Node, id, Message { metadata, ..message }).await?;
        self.tell_audit(by, ("task.message", id)).await;
        Ok(said)
    }

    /// A new task with the first message of one that is over: for the same agent and the same owner, whose grant must allow
    /// it as if the owner sent it. The new one names the old one.
    pub async fn retry(&self, id: &str, by: &Actor) -> Result<Arc<Snapshot>, Error> {
        let old = self.load_by(&By::Node, id).await?;
        if !old.task.state.is_terminal() {
            return Err(Error::Unsupported("the task is not over yet: cancel it first"));
        }
        let Some((_, first)) = old.messages.first() else {
            return Err(Error::Unsupported("nothing is kept of what the task was handed in with"));
        };
        let message = Message {
            message_id: new_id().to_string(),
            task_id: None,
            context_id: Some(old.task.context_id.to_string()),
            reference_task_ids: vec![id.to_owned()],
            ..Message::clone(first)
        };
        let scope = self.scope_of(&old).await?;
        let send = Send {
            message,
            accepted_output_modes: old.task.request.accepted_output_modes.clone(),
            metadata: old.task.request.metadata.clone(),
            extensions: old.task.request.extensions.clone(),
            return_immediately: true,
            idempotency_key: None,
            push: None,
            wait: None,
        };
        let new = match self.send(&scope, Box::new(send)).await? {
            Sent::Task(task) => task,
            Sent::Message(_) => {
                return Err(Error::Unsupported("the agent answered with a message, not a task"));
            }
        };
        self.tell_audit(by, ("task.retry", id)).await;
        // Tried again is attended to; one that did not fail is on no list.
        self.store.attend(Attend::One(old.task.id), (by, self.now())).await?;
        Ok(new)
    }

    /// A failed task has been looked at.
    pub async fn attend(&self, id: &str, by: &Actor) -> Result<(), Error> {
        let id = parse_id(id)?;
        self.store.attend(Attend::One(id), (by, self.now())).await?;
        Ok(())
    }

    /// All failures up to a task have been looked at; answers how many they were.
    pub async fn attend_up_to(&self, id: &str, by: &Actor) -> Result<usize, Error> {
        Ok(self.store.attend(Attend::UpTo(parse_id(id)?), (by, self.now())).await?)
    }

    /// The owner of a task at its agent's door, as its grant stands now.
    async fn scope_of(&self, old: &Snapshot) -> Result<Scope, Error> {
        let owner = &old.task.owner;
        let caller = if *owner.grant == *LOCAL {
            Caller::local()
        } else {
            let grant = self.load_grant(&owner.grant).await?.grant;
            if grant.admits(self.now()).is_err() {
                return Err(Error::Unsupported(
                    "the grant that the task came in by takes no calls now: it is paused, revoked or expired",
                ));
            }
            Caller::holder(grant, Arc::clone(&owner.subject), Proof::Lasting)
        };
        self.scope(&old.task.agent, caller)
    }
}

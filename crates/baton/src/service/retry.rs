//! What the operator does with a task in its owner's stead: speak to it, try it again, attend to its failure.

use std::collections::BTreeMap;
use std::sync::Arc;

use baton_core::ident::TaskId;
use baton_core::json::Object;
use baton_core::model::Message;
use baton_core::task::Snapshot;
use baton_store::{Actor, Attend, By, LOCAL};
use serde_json::value::RawValue;

use super::send::{Send, Sent};
use super::{Error, Scope, Service, parse_id, timing};
use crate::access::{Caller, Origin, Proof};
use crate::clock::new_id;

/// The member of a message's metadata that says who wrote it, where that was not the task's owner: nobody else's message
/// carries it.
const BY: &str = "baton/by";

/// The value of [`BY`] where that was the operator, as JSON.
const OPERATOR: &str = r#""operator""#;

/// The members of a message's metadata by name, each value as it was written. Of one that comes twice the last counts.
fn members(message: &Message) -> BTreeMap<String, Box<RawValue>> {
    let text = message.metadata.as_ref().map_or("{}", Object::as_str);
    serde_json::from_str(text).unwrap_or_default()
}

/// Whether the operator wrote a message, not the task's owner.
pub fn is_by_operator(message: &Message) -> bool {
    members(message).get(BY).is_some_and(|by| by.get() == OPERATOR)
}

/// A request's metadata without the times of the task that it was about: they are over.
fn without_times(metadata: &Object) -> Option<Object> {
    let mut members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(metadata.as_str()).ok()?;
    let had = [timing::NOT_BEFORE, timing::DEADLINE].map(|member| members.remove(member).is_some());
    if had == [false, false] {
        return Some(metadata.clone());
    }
    if members.is_empty() { None } else { Object::from_serialize(&members).ok() }
}

/// The message of a client, which does not speak for the operator.
pub fn by_client(mut message: Message) -> Message {
    if message.metadata.is_none() {
        return message;
    }
    let mut members = members(&message);
    if members.remove(BY).is_some() {
        let rest = (!members.is_empty()).then_some(members);
        message.metadata = rest.and_then(|rest| Object::from_serialize(&rest).ok());
    }
    message
}

/// The message of the operator, which says so.
fn by_operator(mut message: Message) -> Message {
    let mut members = members(&message);
    members.extend(RawValue::from_string(OPERATOR.to_owned()).ok().map(|by| (BY.to_owned(), by)));
    message.metadata = Object::from_serialize(&members).ok();
    message
}

impl Service {
    /// A message to a task from the operator: the answer to its question, or more to consider.
    pub async fn say(&self, id: &str, message: Message, by: &Actor) -> Result<Arc<Snapshot>, Error> {
        let (service, id, by) = (self.clone(), id.to_owned(), by.clone());
        self.see_through(async move {
            let said = service.message_by(&By::Node, &id, by_operator(message)).await?;
            service.tell_audit(&by, ("task.message", &id)).await;
            Ok(said)
        })
        .await?
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
            metadata: old.task.request.metadata.as_ref().and_then(without_times),
            extensions: old.task.request.extensions.clone(),
            return_immediately: true,
            idempotency_key: None,
            push: None,
            wait: None,
        };
        let (service, by, old) = (self.clone(), by.clone(), old.task.id);
        self.see_through(async move { service.send_again(&scope, send, (old, &by)).await }).await?
    }

    async fn send_again(
        &self,
        scope: &Scope,
        send: Send,
        (old, by): (TaskId, &Actor),
    ) -> Result<Arc<Snapshot>, Error> {
        let new = match self.send(scope, Box::new(send)).await? {
            Sent::Task(task) => task,
            Sent::Message(_) => {
                return Err(Error::Unsupported("the agent answered with a message, not a task"));
            }
        };
        self.tell_audit(by, ("task.retry", &old.to_string())).await;
        // Tried again is attended to; one that did not fail is on no list.
        self.store.attend(Attend::One(old), (by, self.now())).await?;
        Ok(new)
    }

    /// A failed task has been looked at.
    pub async fn attend(&self, id: &str, by: &Actor) -> Result<(), Error> {
        let id = parse_id(id)?;
        self.store.attend(Attend::One(id), (by, self.now())).await?;
        Ok(())
    }

    /// All of these failures have been looked at; answers how many they were.
    pub async fn attend_all(&self, ids: impl Iterator<Item = &str>, by: &Actor) -> Result<usize, Error> {
        let ids = ids.map(parse_id).collect::<Result<_, _>>()?;
        Ok(self.store.attend(Attend::These(ids), (by, self.now())).await?)
    }

    /// The owner of a task at its agent's door, as its grant stands now.
    async fn scope_of(&self, old: &Snapshot) -> Result<Scope, Error> {
        let owner = &old.task.owner;
        let caller = if *owner.grant == *LOCAL {
            Caller::local(Origin::Socket)
        } else {
            let grant = self.load_grant(&owner.grant).await?.grant;
            if grant.admits(self.now()).is_err() {
                return Err(Error::Unsupported(
                    "the grant that the task came in by takes no calls now: it is paused, revoked or expired",
                ));
            }
            Caller::holder(grant, Arc::clone(&owner.subject), Proof::Lasting, Origin::Socket)
        };
        // Asked before the agent's door, which would tell the audit log that the holder was refused.
        if !caller.reaches(&old.task.agent) {
            return Err(Error::Unsupported(
                "the grant that the task came in by does not reach its agent any more",
            ));
        }
        self.scope(&old.task.agent, caller)
    }
}

#[cfg(test)]
mod tests {
    use baton_core::model::Role;

    use super::*;

    fn with(metadata: Option<&str>) -> Message {
        let metadata = metadata.map(|text| Object::parse(text).unwrap());
        Message { metadata, ..Message::text(Role::User, "m", "x") }
    }

    fn text(message: &Message) -> Option<&str> {
        message.metadata.as_ref().map(Object::as_str)
    }

    #[test]
    fn only_the_operator_speaks_as_the_operator() {
        for (sent, kept) in [
            (r#"{"baton/by":"operator"}"#, None),
            (r#"{ "baton/by" : "operator" }"#, None),
            (r#"{"baton\/by":"operator"}"#, None),
            (r#"{"baton/by":"operator","n":1.0}"#, Some(r#"{"n":1.0}"#)),
            (r#"{"baton/by":"somebody","n":42}"#, Some(r#"{"n":42}"#)),
            (r#"{"n": 9007199254740993}"#, Some(r#"{"n":9007199254740993}"#)),
        ] {
            let message = by_client(with(Some(sent)));
            assert!(!is_by_operator(&message), "{sent}");
            assert_eq!(text(&message), kept, "{sent}");
        }
        assert_eq!(text(&by_client(with(None))), None);
    }

    #[test]
    fn times_that_are_over_are_not_asked_for_again() {
        for (said, kept) in [
            (r#"{"n":1.0,"baton/priority":3}"#, Some(r#"{"n":1.0,"baton/priority":3}"#)),
            (r#"{"n":1.0,"baton/notBefore":"x"}"#, Some(r#"{"n":1.0}"#)),
            (r#"{"baton/deadline":"x"}"#, None),
        ] {
            let left = without_times(&Object::parse(said).unwrap());
            assert_eq!(left.as_ref().map(Object::as_str), kept, "{said}");
        }
    }

    #[test]
    fn the_operators_own_metadata_stays() {
        let message = by_operator(with(Some(r#"{"n":9007199254740993}"#)));
        assert!(is_by_operator(&message));
        assert!(text(&message).unwrap().contains(r#""n":9007199254740993"#));
        assert!(is_by_operator(&by_operator(with(None))));
    }
}

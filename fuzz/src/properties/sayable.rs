//! What of a value of the model 0.3 can say: the value that is to come back when it is spelled and read.

use std::sync::Arc;

use baton_core::model::{
    Artifact, ArtifactUpdate, Content, Message, Part, Role, StatusUpdate, StreamResponse, TaskObject,
    TaskStatus,
};
use baton_wire::v03::{Spelling, pack, unpack};

/// The item as it comes back; `None` where it is nothing that 0.3 could say at all.
pub fn item(spelling: Spelling, item: &StreamResponse) -> Option<StreamResponse> {
    Some(match item {
        StreamResponse::Task(shown) => StreamResponse::Task(task(spelling, shown)?),
        StreamResponse::Message(said) => StreamResponse::Message(Arc::new(message(spelling, said)?)),
        StreamResponse::StatusUpdate(update) => StreamResponse::StatusUpdate(StatusUpdate {
            status: status(spelling, &update.status)?,
            ..update.clone()
        }),
        StreamResponse::ArtifactUpdate(update) => StreamResponse::ArtifactUpdate(ArtifactUpdate {
            artifact: Arc::new(artifact(&update.artifact)?),
            ..update.clone()
        }),
    })
}

/// A task as it comes back.
pub fn task(spelling: Spelling, task: &TaskObject) -> Option<TaskObject> {
    let artifacts = match &task.artifacts {
        Some(artifacts) => {
            Some(artifacts.iter().map(|of| artifact(of).map(Arc::new)).collect::<Option<_>>()?)
        }
        None => None,
    };
    let history = task.history.iter().map(|said| message(spelling, said).map(Arc::new));
    Some(TaskObject {
        status: status(spelling, &task.status)?,
        artifacts,
        history: history.collect::<Option<_>>()?,
        ..task.clone()
    })
}

fn status(spelling: Spelling, status: &TaskStatus) -> Option<TaskStatus> {
    let said = match &status.message {
        // A message with nothing in it is none.
        Some(said) if said.message_id.is_empty() && said.parts.is_empty() => return None,
        Some(said) => Some(Arc::new(message(spelling, said)?)),
        None => None,
    };
    Some(TaskStatus { message: said, ..status.clone() })
}

/// A message as it comes back.
pub fn message(spelling: Spelling, message: &Message) -> Option<Message> {
    let mut shown = Message { parts: parts(&message.parts)?, ..message.clone() };
    match spelling {
        // Who speaks is said always; the protocol buffers know no tasks that are referred to.
        Spelling::JsonRpc if shown.role == Role::Unspecified => shown.role = Role::Agent,
        Spelling::JsonRpc => {}
        Spelling::Rest | Spelling::RestSnakeCase => shown.reference_task_ids.clear(),
    }
    Some(shown)
}

fn artifact(artifact: &Artifact) -> Option<Artifact> {
    Some(Artifact { parts: parts(&artifact.parts)?, ..artifact.clone() })
}

fn parts(all: &[Part]) -> Option<Vec<Part>> {
    all.iter().map(part).collect()
}

/// Only a file has a name and a media type; data that is no object travels in one.
fn part(part: &Part) -> Option<Part> {
    match &part.content {
        Content::Missing => None,
        Content::Url(url) if url.is_empty() => None,
        Content::Url(_) | Content::Raw(_) => Some(part.clone()),
        Content::Text(_) => Some(Part { filename: None, media_type: None, ..part.clone() }),
        Content::Data(json) => {
            let (packed, marked) = pack(json, part.metadata.as_ref());
            assert!(packed.as_str().starts_with('{'), "packed data is an object: {packed:?}");
            let (data, metadata) = unpack(packed.into_owned(), marked.map(std::borrow::Cow::into_owned));
            assert_eq!(data, *json, "data survives its packing, under {:?}", part.metadata);
            Some(Part { metadata, ..Part::data(data) })
        }
    }
}

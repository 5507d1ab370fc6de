//! What 0.3 can say comes back as it was, in both spellings.

use std::fmt::Debug;
use std::sync::Arc;

use baton_core::model::{
    Artifact, ArtifactUpdate, AuthenticationInfo, Base64, Content, Message, Part, Role, StatusUpdate,
    StreamResponse, TaskObject, TaskPushNotificationConfig, TaskState, TaskStatus,
};
use baton_core::time::Timestamp;
use baton_wire::response::{SendMessageResponse, encode};
use baton_wire::v03::{Event, Spell, Spelled, Spelling, read};
use proptest::prelude::*;

use crate::properties::{json, nonempty, object};

const SPELLINGS: [Spelling; 3] = [Spelling::JsonRpc, Spelling::Rest, Spelling::RestSnakeCase];

fn list() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[a-z:]{1,9}", 0..3)
}

/// Only a file has a name and a media type in 0.3, and no file has an empty URL.
fn part() -> impl Strategy<Value = Part> {
    let raw =
        prop::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| Content::Raw(Base64::encode(&bytes)));
    let url = "[a-z]{1,9}".prop_map(Content::Url);
    let plain = prop_oneof![any::<String>().prop_map(Content::Text), json().prop_map(Content::Data)];
    let file = (prop_oneof![raw, url], nonempty(), nonempty());
    let plain = plain.prop_map(|content| (content, None, None));
    let part = |((content, filename, media_type), metadata)| Part { content, metadata, filename, media_type };
    (prop_oneof![plain, file], proptest::option::of(object())).prop_map(part)
}

fn message() -> impl Strategy<Value = Message> {
    let ids = (nonempty(), nonempty(), any::<bool>());
    let rest = (prop::collection::vec(part(), 1..4), proptest::option::of(object()), list(), list());
    (ids, rest).prop_map(
        |((context_id, task_id, user), (parts, metadata, extensions, reference_task_ids))| Message {
            message_id: "m".to_owned(),
            context_id,
            task_id,
            role: if user { Role::User } else { Role::Agent },
            parts,
            metadata,
            extensions,
            reference_task_ids,
        },
    )
}

fn artifact() -> impl Strategy<Value = Artifact> {
    let names = (nonempty(), nonempty(), list());
    (names, prop::collection::vec(part(), 1..3), proptest::option::of(object())).prop_map(
        |((name, description, extensions), parts, metadata)| Artifact {
            artifact_id: "a".to_owned(),
            name,
            description,
            parts,
            metadata,
            extensions,
        },
    )
}

fn status() -> impl Strategy<Value = TaskStatus> {
    let state = (0..9).prop_map(|number| TaskState::from_number(number).unwrap());
    let at = proptest::option::of((0..4_000_000_000_000_i64).prop_map(Timestamp::from_millis));
    (state, proptest::option::of(message().prop_map(Arc::new)), at)
        .prop_map(|(state, message, timestamp)| TaskStatus { state, message, timestamp })
}

fn task() -> impl Strategy<Value = TaskObject> {
    let artifacts = proptest::option::of(prop::collection::vec(artifact().prop_map(Arc::new), 0..3));
    let history = prop::collection::vec(message().prop_map(Arc::new), 0..3);
    (status(), artifacts, history, proptest::option::of(object())).prop_map(
        |(status, artifacts, history, metadata)| TaskObject {
            id: "t".to_owned(),
            context_id: Some("c".to_owned()),
            status,
            artifacts,
            history,
            metadata,
        },
    )
}

fn event() -> impl Strategy<Value = StreamResponse> {
    let (task_id, context_id) = ("t".to_owned(), "c".to_owned());
    let update =
        StatusUpdate { task_id: task_id.clone(), context_id: context_id.clone(), ..Default::default() };
    let piece = ArtifactUpdate { task_id, context_id, ..Default::default() };
    let metadata = || proptest::option::of(object());
    prop_oneof![
        task().prop_map(StreamResponse::Task),
        message().prop_map(|message| StreamResponse::Message(Arc::new(message))),
        (status(), metadata()).prop_map(move |(status, metadata)| StreamResponse::StatusUpdate(
            StatusUpdate { status, metadata, ..update.clone() }
        )),
        (artifact(), any::<bool>(), any::<bool>(), metadata()).prop_map(
            move |(artifact, append, last_chunk, metadata)| {
                let update = ArtifactUpdate {
                    artifact: artifact.into(),
                    append,
                    last_chunk,
                    metadata,
                    ..piece.clone()
                };
                StreamResponse::ArtifactUpdate(update)
            }
        ),
    ]
}

fn config() -> impl Strategy<Value = TaskPushNotificationConfig> {
    let authentication = ("[A-Z][a-z]{2,8}", nonempty())
        .prop_map(|(scheme, credentials)| AuthenticationInfo { scheme, credentials });
    let id = any::<String>().prop_filter("not empty", |id| !id.is_empty());
    (id, nonempty(), proptest::option::of(authentication)).prop_map(|(id, token, authentication)| {
        TaskPushNotificationConfig {
            tenant: None,
            id: Some(id),
            task_id: Some("t".to_owned()),
            url: Some("https://example.com/hook".to_owned()),
            token,
            authentication,
        }
    })
}

fn text(spelling: Spelling, value: &impl Spell) -> String {
    String::from_utf8(encode(&Spelled(spelling, value)).to_vec()).unwrap()
}

/// REST cannot say which tasks a message refers to.
fn without_references(message: &Message) -> Message {
    Message { reference_task_ids: Vec::new(), ..message.clone() }
}

fn as_of(spelling: Spelling, task: &TaskObject) -> TaskObject {
    if spelling == Spelling::JsonRpc {
        return task.clone();
    }
    let shown = |message: &Arc<Message>| Arc::new(without_references(message));
    let status = TaskStatus { message: task.status.message.as_ref().map(shown), ..task.status.clone() };
    TaskObject { history: task.history.iter().map(shown).collect(), status, ..task.clone() }
}

fn event_as_of(spelling: Spelling, event: &StreamResponse) -> StreamResponse {
    match event {
        _ if spelling == Spelling::JsonRpc => event.clone(),
        StreamResponse::Task(task) => StreamResponse::Task(as_of(spelling, task)),
        StreamResponse::Message(message) => StreamResponse::Message(Arc::new(without_references(message))),
        StreamResponse::StatusUpdate(update) => {
            let task = TaskObject { status: update.status.clone(), ..Default::default() };
            let status = as_of(spelling, &task).status;
            StreamResponse::StatusUpdate(StatusUpdate { status, ..update.clone() })
        }
        StreamResponse::ArtifactUpdate(_) => event.clone(),
    }
}

fn same<T: Debug + PartialEq>(one: &T, other: &T) -> Result<(), TestCaseError> {
    prop_assert_eq!(one, other);
    Ok(())
}

proptest! {
    #[test]
    fn messages(message in message()) {
        same(&read::read_message(Spelling::JsonRpc, &text(Spelling::JsonRpc, &message)).unwrap(), &message)?;
        let by_rest = read::read_message(Spelling::Rest, &text(Spelling::Rest, &message)).unwrap();
        same(&by_rest, &without_references(&message))?;
        // REST takes the parts of JSON-RPC too, since these say what they are.
        same(&read::read_message(Spelling::Rest, &text(Spelling::JsonRpc, &message)).unwrap(), &message)?;
    }

    #[test]
    fn tasks(task in task()) {
        for spelling in SPELLINGS {
            let wanted = as_of(spelling, &task);
            same(&read::read_task(spelling, &text(spelling, &task)).unwrap(), &wanted)?;
            let answer = SendMessageResponse::Task(task.clone());
            let read = read::read_answer(spelling, &text(spelling, &answer)).unwrap();
            same(&read, &SendMessageResponse::Task(wanted))?;
        }
    }

    #[test]
    fn events(item in event(), until_input in any::<bool>()) {
        for spelling in SPELLINGS {
            let line = encode(&Event { spelling, item: &item, until_input });
            let line = std::str::from_utf8(&line).unwrap();
            prop_assert!(!line.contains('\n'), "one line: {line}");
            same(&read::read_event(spelling, line).unwrap(), &event_as_of(spelling, &item))?;
        }
    }

    #[test]
    fn configurations(config in config()) {
        for spelling in SPELLINGS {
            same(&read::read_push_config(spelling, &text(spelling, &config)).unwrap(), &config)?;
        }
    }

    #[test]
    fn nothing_panics(text in any::<String>(), message in message(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        for spelling in SPELLINGS {
            let mut body = encode(&Spelled(spelling, &message)).to_vec();
            let at = at.index(body.len());
            body[at] = byte;
            for text in [text.as_str(), &String::from_utf8_lossy(&body)] {
                _ = read::read_message(spelling, text);
                _ = read::read_task(spelling, text);
                _ = read::read_event(spelling, text);
                _ = read::read_answer(spelling, text);
                _ = read::read_push_config(spelling, text);
            }
        }
    }
}

//! An official client of 0.3 refuses members of REST answers that the definition does not have: we write none.

use std::sync::{Arc, LazyLock};

use baton_core::model::{ArtifactUpdate, StatusUpdate, StreamResponse, TaskState};
use baton_wire::grpc::generated::DESCRIPTORS;
use baton_wire::response::{Empty, ListTaskPushNotificationConfigsResponse, SendMessageResponse, encode};
use baton_wire::v03::{Event, Spell, Spelled, Spelling};
use prost_reflect::{DescriptorPool, DynamicMessage};

use super::golden::{config, message, task};

static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| DescriptorPool::decode(DESCRIPTORS).unwrap());

/// Reads the JSON as that client does.
#[track_caller]
fn is_known(name: &str, json: &[u8]) {
    let kind = POOL.get_message_by_name(name).unwrap();
    let json: serde_json::Value = serde_json::from_slice(json).unwrap();
    DynamicMessage::deserialize(kind, &json).unwrap_or_else(|why| panic!("{why}: {json}"));
}

/// A value in both cases that a client of REST may write in.
fn is_answer(name: &str, value: &impl Spell) {
    for spelling in [Spelling::Rest, Spelling::RestSnakeCase] {
        is_known(name, &encode(&Spelled(spelling, value)));
    }
}

#[test]
fn rest_answers_have_no_member_of_ours() {
    for state in TaskState::ALL {
        is_answer("a2a.v1.Task", &task(*state));
        is_answer("a2a.v1.SendMessageResponse", &SendMessageResponse::Task(task(*state)));
    }
    is_answer("a2a.v1.SendMessageResponse", &SendMessageResponse::Message(Arc::new(message())));
    is_answer("a2a.v1.TaskPushNotificationConfig", &config());
    let page =
        ListTaskPushNotificationConfigsResponse { configs: vec![config()], next_page_token: "n".to_owned() };
    is_answer("a2a.v1.ListTaskPushNotificationConfigResponse", &page);
    is_answer("google.protobuf.Empty", &Empty {});
}

#[test]
fn rest_events_have_no_member_of_ours() {
    let whole = task(TaskState::Working);
    let artifact = Arc::clone(&whole.artifacts.as_ref().unwrap()[0]);
    let status = whole.status.clone();
    for item in [
        StreamResponse::Task(whole),
        StreamResponse::Message(Arc::new(message())),
        StreamResponse::StatusUpdate(StatusUpdate { status, ..StatusUpdate::default() }),
        StreamResponse::ArtifactUpdate(ArtifactUpdate {
            artifact,
            append: true,
            ..ArtifactUpdate::default()
        }),
    ] {
        for spelling in [Spelling::Rest, Spelling::RestSnakeCase] {
            let event = Event { spelling, item: &item, until_input: true };
            is_known("a2a.v1.StreamResponse", &encode(&event));
        }
    }
}

//! Every answer as it goes over the wire, in both spellings.

use std::fmt::Write as _;
use std::sync::Arc;

use baton_core::json::{Json, Object};
use baton_core::model::{
    Artifact, ArtifactUpdate, AuthenticationInfo, Base64, Content, Message, Part, Role, StatusUpdate,
    StreamResponse, TaskObject, TaskPushNotificationConfig, TaskState, TaskStatus,
};
use baton_core::time::Timestamp;
use baton_wire::fault::{Fault, Kind};
use baton_wire::jsonrpc::Id;
use baton_wire::response::{
    Empty, ListTaskPushNotificationConfigsResponse, ListTasksResponse, SendMessageResponse, encode,
};
use baton_wire::sse::Wrap;
use baton_wire::v03::write::notification;
use baton_wire::v03::{Spell, Spelled, Spelling};

pub fn message() -> Message {
    let file = |content| Part {
        content,
        metadata: Some(Object::parse(r#"{"page":1.0}"#).unwrap()),
        filename: Some("a.png".to_owned()),
        media_type: Some("image/png".to_owned()),
    };
    Message {
        message_id: "m-1".to_owned(),
        context_id: Some("c".to_owned()),
        task_id: Some("t".to_owned()),
        role: Role::Agent,
        parts: vec![
            Part::text("Grüße\u{2028}"),
            file(Content::Raw(Base64::encode(b"\xfb\xff"))),
            file(Content::Url("https://example.com/a.png".to_owned())),
            Part::data(Json::parse(r#"{"n":9007199254740993}"#).unwrap()),
            Part::data(Json::parse("[3.0]").unwrap()),
        ],
        metadata: Some(Object::parse("{}").unwrap()),
        extensions: vec!["urn:x".to_owned()],
        reference_task_ids: vec!["t-0".to_owned()],
    }
}

fn status(state: TaskState) -> TaskStatus {
    let message = Arc::new(Message::text(Role::Agent, "s", "so far"));
    TaskStatus { state, message: Some(message), timestamp: Some(Timestamp::from_millis(1_761_648_000_007)) }
}

pub fn task(state: TaskState) -> TaskObject {
    let artifact = Artifact {
        artifact_id: "a".to_owned(),
        name: Some("n".to_owned()),
        description: Some("d".to_owned()),
        parts: vec![Part::text("x")],
        metadata: None,
        extensions: vec![],
    };
    TaskObject {
        id: "t".to_owned(),
        context_id: Some("c".to_owned()),
        status: status(state),
        artifacts: Some(vec![Arc::new(artifact)]),
        history: vec![Arc::new(message())],
        metadata: Some(Object::parse(r#"{"baton/reason":"canceled"}"#).unwrap()),
    }
}

pub fn config() -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        tenant: None,
        id: Some("c-1".to_owned()),
        task_id: Some("t".to_owned()),
        url: Some("https://example.com/hook".to_owned()),
        token: Some("secret".to_owned()),
        authentication: Some(AuthenticationInfo { scheme: "Bearer".to_owned(), credentials: None }),
    }
}

fn show(out: &mut String, value: &impl Spell) {
    for spelling in [Spelling::JsonRpc, Spelling::Rest, Spelling::RestSnakeCase] {
        let text = encode(&Spelled(spelling, value));
        writeln!(out, "{spelling:?} {}", std::str::from_utf8(&text).unwrap()).unwrap();
    }
    out.push('\n');
}

#[test]
fn answers() {
    let mut out = String::new();
    show(&mut out, &SendMessageResponse::Task(task(TaskState::Canceled)));
    show(&mut out, &SendMessageResponse::Message(Arc::new(message())));
    show(&mut out, &TaskObject { context_id: Some("c".to_owned()), ..Default::default() });
    show(&mut out, &ListTasksResponse { page_size: 50, ..Default::default() });
    show(
        &mut out,
        &ListTasksResponse { tasks: vec![TaskObject::default()], total_size: 1, ..Default::default() },
    );
    show(&mut out, &config());
    let list = |configs| ListTaskPushNotificationConfigsResponse { configs, next_page_token: String::new() };
    show(&mut out, &list(vec![config()]));
    show(&mut out, &list(vec![]));
    show(&mut out, &Empty {});
    insta::assert_snapshot!(out);
}

#[test]
fn every_state() {
    let states = (0..9).map(|number| TaskState::from_number(number).unwrap());
    let mut out = String::new();
    for state in states {
        show(&mut out, &TaskStatus { state, message: None, timestamp: None });
    }
    insta::assert_snapshot!(out);
}

#[test]
fn streams() {
    let update = |state| {
        let status = TaskStatus { state, message: None, timestamp: None };
        StreamResponse::StatusUpdate(StatusUpdate {
            task_id: "t".to_owned(),
            context_id: "c".to_owned(),
            status,
            metadata: None,
        })
    };
    let piece = ArtifactUpdate {
        task_id: "t".to_owned(),
        context_id: "c".to_owned(),
        artifact: Arc::new(Artifact {
            artifact_id: "a".to_owned(),
            parts: vec![Part::text("x\ny")],
            ..Default::default()
        }),
        append: true,
        last_chunk: true,
        metadata: None,
    };
    let items = [
        StreamResponse::Task(TaskObject { artifacts: None, history: vec![], ..task(TaskState::Submitted) }),
        StreamResponse::Message(Arc::new(Message::text(Role::Agent, "m", "hello"))),
        update(TaskState::Working),
        StreamResponse::ArtifactUpdate(piece),
        update(TaskState::InputRequired),
        update(TaskState::AuthRequired),
        update(TaskState::Completed),
    ];
    let mut out = Vec::new();
    for wrap in [Wrap::JsonRpcV03(Id::number(1)), Wrap::BareV03(Spelling::Rest)] {
        for (seq, item) in (1..).zip(&items) {
            out.extend_from_slice(&wrap.item(seq, item, true));
        }
        // A subscription goes on where the task waits for input.
        out.extend_from_slice(&wrap.item(9, &items[4], false));
        out.extend_from_slice(&wrap.error(&Fault::task_not_found("made up")));
    }
    insta::assert_snapshot!(String::from_utf8(out).unwrap());
}

#[test]
fn refusals_over_rest() {
    let mut out = String::new();
    for kind in Kind::ALL {
        let body = Fault::new(kind).to_rest_v03();
        writeln!(out, "{} {}", kind.row().http.as_u16(), std::str::from_utf8(&body).unwrap()).unwrap();
    }
    insta::assert_snapshot!(out);
}

#[test]
fn a_notification_is_the_task() {
    let body = notification(&task(TaskState::Completed));
    let json: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&json["kind"], &json["id"]), (&"task".into(), &"t".into()));
    assert_eq!(json["status"]["state"], "completed");
    assert_eq!(body, encode(&Spelled(Spelling::JsonRpc, &task(TaskState::Completed))));
}

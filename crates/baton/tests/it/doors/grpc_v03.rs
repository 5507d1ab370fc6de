//! A2A 0.3 over gRPC, package `a2a.v1`.

use baton_wire::fault::Kind;
use baton_wire::grpc::frame;
use baton_wire::grpc::v0_3::pb;
use bytes::Bytes;
use prost::Message;
use serde_json::{Value, json};

use crate::harness::{Answer, Door, TestNode, User, grpc, until};

/// A call, and its answer as ProtoJSON.
async fn ask(user: &User, method: &str, request: &impl Message) -> Answer {
    user.ask(user.grpc(&path(method), frame::write(request))).await
}

fn path(method: &str) -> String {
    format!("/a2a.v1.A2AService/{method}")
}

fn caller(node: &TestNode, agent: &str) -> User {
    node.anyone(agent).over(Door::Grpc).with("a2a-agent", agent)
}

fn text(text: &str) -> pb::Part {
    pb::Part { part: Some(pb::part::Part::Text(text.to_owned())), metadata: None }
}

fn said(content: Vec<pb::Part>, blocking: bool) -> pb::SendMessageRequest {
    let configuration = pb::SendMessageConfiguration { blocking, ..Default::default() };
    let message =
        pb::Message { message_id: "m".into(), role: pb::Role::User.into(), content, ..Default::default() };
    pb::SendMessageRequest {
        request: Some(message),
        configuration: Some(configuration),
        ..Default::default()
    }
}

fn named(id: &Value) -> String {
    format!("tasks/{}", id.as_str().unwrap())
}

#[tokio::test]
async fn a_task_is_sent_seen_and_cancelled() {
    let node = TestNode::start().await;
    let user = caller(&node, "script");
    let sent = ask(&user, "SendMessage", &said(vec![text("go")], false)).await.ok();
    let task = &sent["task"];
    assert_ne!(task["status"]["state"], "TASK_STATE_COMPLETED", "what is not set does not block");
    let attempt = node.attempt("script").await;
    let get = pb::GetTaskRequest { name: named(&task["id"]), history_length: 0 };
    let seen = ask(&user, "GetTask", &get).await.ok();
    assert_eq!(seen["history"][0]["content"][0]["text"], "go", "no length is every message");
    let cancel = pb::CancelTaskRequest { name: named(&task["id"]) };
    let (answer, ()) = tokio::join!(ask(&user, "CancelTask", &cancel), attempt.stops());
    assert_eq!(answer.ok()["status"]["state"], "TASK_STATE_CANCELLED");
    ask(&user, "CancelTask", &cancel).await.refused(Kind::TaskNotCancelable);

    let blocking = said(vec![text("go")], true);
    let (answer, ()) = tokio::join!(ask(&user, "SendMessage", &blocking), async {
        node.attempt("script").await.complete().await;
    });
    assert_eq!(answer.ok()["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    node.finish().await;
}

#[tokio::test]
async fn streams_say_which_update_is_the_final_one() {
    let node = TestNode::start().await;
    let user = caller(&node, "script");
    let request = user.grpc(&path("SendStreamingMessage"), frame::write(&said(vec![text("go")], false)));
    let mut stream = user.open_request(request).await;
    let mut attempt = node.attempt("script").await;
    let first = stream.next().await.unwrap().value;
    assert!(first.get("task").is_some(), "{first}");
    attempt.ask("which?").await;
    let frames = stream.rest().await;
    let last = &frames.last().unwrap().value["statusUpdate"];
    assert_eq!(
        (&last["final"], &last["status"]["state"]),
        (&true.into(), &"TASK_STATE_INPUT_REQUIRED".into())
    );
    assert_eq!(last["status"]["message"]["content"][0]["text"], "which?");

    let name = named(&first["task"]["id"]);
    let request = pb::TaskSubscriptionRequest { name: name.clone() };
    let mut stream = user.open_request(user.grpc(&path("TaskSubscription"), frame::write(&request))).await;
    assert!(stream.next().await.unwrap().value.get("task").is_some());
    let mut turn = said(vec![text("this")], false);
    turn.request.as_mut().unwrap().task_id = name["tasks/".len()..].to_owned();
    ask(&user, "SendMessage", &turn).await.ok();
    assert_eq!(attempt.hears_message().await, "this");
    attempt.complete().await;
    let frames = stream.rest().await;
    let finals: Vec<_> = frames.iter().map(|frame| frame.value["statusUpdate"]["final"] == true).collect();
    assert_eq!(finals.iter().filter(|last| **last).count(), 1);
    assert_eq!(finals.last(), Some(&true));
    ask(&user, "TaskSubscription", &request).await.refused(Kind::UnsupportedOperation);
    node.finish().await;
}

/// Python writes base64 text into the bytes of a file, JavaScript the bytes: each gets back what it wrote.
#[tokio::test]
async fn parts_come_back_as_they_were() {
    let node = TestNode::start().await;
    let user = caller(&node, "echo");
    let file = |file, mime_type: &str| {
        let file = pb::FilePart { file: Some(file), mime_type: mime_type.to_owned(), name: "a.txt".into() };
        let fields = [("k".to_owned(), prost_types::value::Kind::BoolValue(true).into())];
        let metadata = Some(prost_types::Struct { fields: fields.into() });
        pb::Part { part: Some(pb::part::Part::File(file)), metadata }
    };
    let fields = [("n".to_owned(), prost_types::value::Kind::NumberValue(42.0).into())];
    let data = pb::DataPart { data: Some(prost_types::Struct { fields: fields.into() }) };
    let parts = vec![
        file(pb::file_part::File::FileWithBytes(Bytes::from_static(b"aGVsbG8=")), "text/plain"),
        file(pb::file_part::File::FileWithBytes(Bytes::from_static(b"\0\xff\xfe")), ""),
        file(pb::file_part::File::FileWithUri("https://a.example/x".into()), "image/png"),
        pb::Part { part: Some(pb::part::Part::Data(data)), metadata: None },
    ];
    let request = user.grpc(&path("SendMessage"), frame::write(&said(parts.clone(), true)));
    let (_, mut body) = user.bytes(request).await;
    let answer = pb::SendMessageResponse::decode(grpc::take(&mut body).unwrap()).unwrap();
    let Some(pb::send_message_response::Payload::Task(task)) = answer.payload else { panic!("{answer:?}") };
    assert_eq!(task.artifacts[0].parts, parts);
    assert_eq!(task.history[0].content, parts);
    node.finish().await;
}

#[tokio::test]
async fn names_are_checked() {
    let node = TestNode::start().await;
    let user = caller(&node, "echo");
    for name in ["", "x", "tasks/", "tasks/a/b", "task/x"] {
        let get = pb::GetTaskRequest { name: name.to_owned(), history_length: 0 };
        assert_eq!(ask(&user, "GetTask", &get).await.invalid(), "name", "{name}");
    }
    let get = pb::GetTaskRequest { name: "tasks/x".to_owned(), history_length: -1 };
    assert_eq!(ask(&user, "GetTask", &get).await.invalid(), "historyLength");
    let get = pb::GetTaskRequest { name: "tasks/x".to_owned(), history_length: 0 };
    ask(&user, "GetTask", &get).await.refused(Kind::TaskNotFound);
    for name in ["tasks/x", "tasks//pushNotificationConfigs/c", "tasks/x/pushNotificationConfigs/c/d", "x/y"]
    {
        let get = pb::GetTaskPushNotificationConfigRequest { name: name.to_owned() };
        assert_eq!(ask(&user, "GetTaskPushNotificationConfig", &get).await.invalid(), "name", "{name}");
    }
    for (part, field) in [(pb::Part::default(), "message.parts[0]")] {
        assert_eq!(ask(&user, "SendMessage", &said(vec![part], true)).await.invalid(), field);
    }
    ask(&user, "ListTasks", &()).await.refused(Kind::MethodNotFound);
    node.finish().await;
}

/// One configuration, made, shown without its secrets, listed and deleted, twice.
#[tokio::test]
async fn a_configuration_is_made_found_listed_and_deleted() {
    let node = TestNode::start().await;
    let user = caller(&node, "echo");
    let sent = ask(&user, "SendMessage", &said(vec![text("x")], true)).await.ok();
    let parent = named(&sent["task"]["id"]);
    let name = format!("{parent}/pushNotificationConfigs/c");
    let url = "https://93.184.216.34/hook".to_owned();
    let authentication =
        pb::AuthenticationInfo { schemes: vec!["Bearer".into()], credentials: "cr3dential".into() };
    let config = pb::PushNotificationConfig {
        id: String::new(),
        url: url.clone(),
        token: "t0ken".into(),
        authentication: Some(authentication),
    };
    let config =
        pb::TaskPushNotificationConfig { name: name.clone(), push_notification_config: Some(config) };
    let create = pb::CreateTaskPushNotificationConfigRequest {
        parent: parent.clone(),
        config_id: "c".into(),
        config: Some(config),
    };
    let made = ask(&user, "CreateTaskPushNotificationConfig", &create).await.ok();
    let shown = json!({"name": name, "pushNotificationConfig":
        {"id": "c", "url": url, "authentication": {"schemes": ["Bearer"]}}});
    assert_eq!(made, shown);
    let get = pb::GetTaskPushNotificationConfigRequest { name: name.clone() };
    assert_eq!(ask(&user, "GetTaskPushNotificationConfig", &get).await.ok(), shown);
    let list = pb::ListTaskPushNotificationConfigRequest { parent, ..Default::default() };
    let listed = ask(&user, "ListTaskPushNotificationConfig", &list).await.ok();
    assert_eq!(listed["configs"], json!([shown]));
    let delete = pb::DeleteTaskPushNotificationConfigRequest { name };
    for _ in 0..2 {
        assert_eq!(ask(&user, "DeleteTaskPushNotificationConfig", &delete).await.ok(), json!({}));
    }
    ask(&user, "GetTaskPushNotificationConfig", &get).await.refused(Kind::TaskNotFound);
    node.finish().await;
}

#[tokio::test]
async fn the_agent_is_named_by_metadata() {
    let node = TestNode::start().await;
    let user = node.anyone("echo").over(Door::Grpc);
    let sent = ask(&user, "SendMessage", &said(vec![text("x")], true)).await.ok();
    assert_eq!(sent["task"]["artifacts"][0]["parts"][0]["text"], "x", "the default agent");
    let other = user.with("a2a-agent", "script");
    let get = pb::GetTaskRequest { name: named(&sent["task"]["id"]), history_length: 0 };
    ask(&other, "GetTask", &get).await.refused(Kind::TaskNotFound);
    ask(&user.with("a2a-agent", "nobody"), "GetTask", &get).await.refused(Kind::UnknownPath);
    for good in ["0.3", "0.3.0", ""] {
        ask(&user.with("a2a-version", good), "GetTask", &get).await.ok();
    }
    for bad in ["1.0", "99.0", "0.2"] {
        ask(&user.with("a2a-version", bad), "GetTask", &get).await.refused(Kind::VersionNotSupported);
    }
    node.finish().await;
}

#[tokio::test]
async fn the_card_is_in_the_shape_of_0_3() {
    let node = TestNode::closed().await;
    let nobody = node.anyone("echo").over(Door::Grpc);
    ask(&nobody, "GetAgentCard", &pb::GetAgentCardRequest {}).await.refused(Kind::Unauthenticated);
    let user = node.holder("echo").await.over(Door::Grpc);
    let card = ask(&user, "GetAgentCard", &pb::GetAgentCardRequest {}).await.ok();
    assert_eq!((&card["protocolVersion"], &card["name"]), (&"0.3.0".into(), &"echo".into()));
    assert_eq!(card["preferredTransport"], "JSONRPC");
    assert_eq!(card["securitySchemes"]["bearer"]["httpAuthSecurityScheme"]["scheme"], "bearer");
    node.finish().await;
}

/// Someone else's task is like one that never was, and a client that goes away ends nothing.
#[tokio::test]
async fn tasks_belong_to_their_owners_and_outlive_their_streams() {
    let node = TestNode::closed().await;
    let owner = node.holder("script").await.over(Door::Grpc).with("a2a-agent", "script");
    let other = node.holder("script").await.over(Door::Grpc).with("a2a-agent", "script");
    let request = owner.grpc(&path("SendStreamingMessage"), frame::write(&said(vec![text("go")], false)));
    let mut stream = owner.open_request(request).await;
    let name = named(&stream.next().await.unwrap().value["task"]["id"]);
    drop(stream);
    let get = pb::GetTaskRequest { name: name.clone(), history_length: 0 };
    ask(&other, "GetTask", &get).await.refused(Kind::TaskNotFound);
    let cancel = pb::CancelTaskRequest { name };
    ask(&other, "CancelTask", &cancel).await.refused(Kind::TaskNotFound);
    node.attempt("script").await.complete().await;
    until("the task ends", async || {
        ask(&owner, "GetTask", &get).await.ok()["status"]["state"] == "TASK_STATE_COMPLETED"
    })
    .await;
    node.finish().await;
}

//! Every operation at every door, by everybody: who is let in, and what the others hear.

use baton::config::settings::Audience;
use baton_store::Verb;
use baton_wire::fault::Kind;
use baton_wire::operation::Operation;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};

use super::extended::skill;
use super::ownership::without;
use crate::harness::{Answer, Door, TestNode, User, grpc, message};

/// A binding in a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Way {
    door: Door,
    old: bool,
}

fn ways() -> impl Iterator<Item = Way> {
    crate::harness::DOORS.into_iter().flat_map(|door| [false, true].map(|old| Way { door, old }))
}

/// The operations in an order in which an owner can do them all with one task.
const OPERATIONS: [Operation; 11] = [
    Operation::GetTask,
    Operation::ListTasks,
    Operation::SendMessage,
    Operation::SendStreamingMessage,
    Operation::SubscribeToTask,
    Operation::CreateTaskPushNotificationConfig,
    Operation::GetTaskPushNotificationConfig,
    Operation::ListTaskPushNotificationConfigs,
    Operation::DeleteTaskPushNotificationConfig,
    Operation::GetExtendedAgentCard,
    Operation::CancelTask,
];

const HOOK: &str = "http://127.0.0.1:9/hook";

/// An operation on a task; none where the version has no such operation.
fn request(user: &User, way: Way, operation: Operation, task: &str) -> Option<Request<Full<Bytes>>> {
    let user = user.over(way.door);
    if !way.old {
        return Some(user.request(operation, &params(operation, task)));
    }
    match way.door {
        Door::Rpc => rpc_v03(&user, operation, task),
        Door::Rest => rest_v03(&user, operation, task),
        Door::Grpc => grpc_v03(&user, operation, task),
    }
}

fn params(operation: Operation, task: &str) -> Value {
    let mut turn = message("more");
    turn["taskId"] = task.into();
    match operation {
        Operation::SendMessage => json!({"message": turn, "configuration": {"returnImmediately": true}}),
        Operation::SendStreamingMessage => json!({"message": turn}),
        Operation::GetTask | Operation::CancelTask | Operation::SubscribeToTask => json!({"id": task}),
        Operation::ListTasks | Operation::GetExtendedAgentCard => json!({}),
        Operation::CreateTaskPushNotificationConfig => json!({"taskId": task, "id": "hook", "url": HOOK}),
        Operation::GetTaskPushNotificationConfig | Operation::DeleteTaskPushNotificationConfig => {
            json!({"taskId": task, "id": "hook"})
        }
        Operation::ListTaskPushNotificationConfigs => json!({"taskId": task}),
    }
}

fn old_message(task: &str) -> Value {
    json!({"kind": "message", "messageId": baton::clock::new_id().to_string(), "role": "user", "taskId": task,
        "parts": [{"kind": "text", "text": "more"}]})
}

fn rpc_v03(user: &User, operation: Operation, task: &str) -> Option<Request<Full<Bytes>>> {
    let about = json!({"id": task});
    let config = json!({"id": task, "pushNotificationConfigId": "hook"});
    let (method, params) = match operation {
        Operation::SendMessage => {
            ("message/send", json!({"message": old_message(task), "configuration": {"blocking": false}}))
        }
        Operation::SendStreamingMessage => ("message/stream", json!({"message": old_message(task)})),
        Operation::GetTask => ("tasks/get", about),
        Operation::ListTasks => return None,
        Operation::CancelTask => ("tasks/cancel", about),
        Operation::SubscribeToTask => ("tasks/resubscribe", about),
        Operation::CreateTaskPushNotificationConfig => (
            "tasks/pushNotificationConfig/set",
            json!({"taskId": task, "pushNotificationConfig": {"id": "hook", "url": HOOK}}),
        ),
        Operation::GetTaskPushNotificationConfig => ("tasks/pushNotificationConfig/get", config),
        Operation::ListTaskPushNotificationConfigs => ("tasks/pushNotificationConfig/list", about),
        Operation::DeleteTaskPushNotificationConfig => ("tasks/pushNotificationConfig/delete", config),
        Operation::GetExtendedAgentCard => ("agent/getAuthenticatedExtendedCard", json!({})),
    };
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    Some(user.raw("POST", "", body.to_string()))
}

fn rest_v03(user: &User, operation: Operation, task: &str) -> Option<Request<Full<Bytes>>> {
    let at = |below: &str| format!("/v1/tasks/{task}{below}");
    let configs = "/pushNotificationConfigs";
    let (method, path, body) = match operation {
        Operation::SendMessage => {
            let body = json!({"message": old_message(task), "configuration": {"blocking": false}});
            ("POST", "/v1/message:send".to_owned(), body.to_string())
        }
        Operation::SendStreamingMessage => {
            ("POST", "/v1/message:stream".to_owned(), json!({"message": old_message(task)}).to_string())
        }
        Operation::GetTask => ("GET", at(""), String::new()),
        Operation::ListTasks => return None,
        Operation::CancelTask => ("POST", at(":cancel"), String::new()),
        Operation::SubscribeToTask => ("GET", at(":subscribe"), String::new()),
        Operation::CreateTaskPushNotificationConfig => {
            let body = json!({"pushNotificationConfig": {"id": "hook", "url": HOOK}});
            ("POST", at(configs), body.to_string())
        }
        Operation::GetTaskPushNotificationConfig => ("GET", at(&format!("{configs}/hook")), String::new()),
        Operation::ListTaskPushNotificationConfigs => ("GET", at(configs), String::new()),
        Operation::DeleteTaskPushNotificationConfig => {
            ("DELETE", at(&format!("{configs}/hook")), String::new())
        }
        Operation::GetExtendedAgentCard => ("GET", "/v1/card".to_owned(), String::new()),
    };
    Some(user.raw(method, &path, body))
}

fn grpc_v03(user: &User, operation: Operation, task: &str) -> Option<Request<Full<Bytes>>> {
    let said = json!({"messageId": "m", "role": "ROLE_USER", "taskId": task, "content": [{"text": "more"}]});
    let (name, parent) = (format!("tasks/{task}"), format!("tasks/{task}"));
    let config = json!({"name": format!("tasks/{task}/pushNotificationConfigs/hook")});
    let (method, params) = match operation {
        Operation::SendMessage => ("SendMessage", json!({"request": said})),
        Operation::SendStreamingMessage => ("SendStreamingMessage", json!({"request": said})),
        Operation::GetTask => ("GetTask", json!({"name": name})),
        Operation::ListTasks => return None,
        Operation::CancelTask => ("CancelTask", json!({"name": name})),
        Operation::SubscribeToTask => ("TaskSubscription", json!({"name": name})),
        Operation::CreateTaskPushNotificationConfig => (
            "CreateTaskPushNotificationConfig",
            json!({"parent": parent, "configId": "hook",
                "config": {"name": config["name"], "pushNotificationConfig": {"id": "hook", "url": HOOK}}}),
        ),
        Operation::GetTaskPushNotificationConfig => ("GetTaskPushNotificationConfig", config),
        Operation::ListTaskPushNotificationConfigs => {
            ("ListTaskPushNotificationConfig", json!({"parent": parent}))
        }
        Operation::DeleteTaskPushNotificationConfig => ("DeleteTaskPushNotificationConfig", config),
        Operation::GetExtendedAgentCard => ("GetAgentCard", json!({})),
    };
    let method = grpc::method_of("a2a.v1.A2AService", method);
    let user = user.with("a2a-agent", &user.agent);
    Some(user.grpc(&grpc::path(&method), grpc::request(&method, params)))
}

/// What everybody hears of one operation on a task that is somebody else's.
fn expected(operation: Operation) -> Option<Kind> {
    match operation {
        // These name no task: they are about the caller's own.
        Operation::ListTasks | Operation::GetExtendedAgentCard => None,
        Operation::SendMessage
        | Operation::SendStreamingMessage
        | Operation::GetTask
        | Operation::CancelTask
        | Operation::SubscribeToTask
        | Operation::CreateTaskPushNotificationConfig
        | Operation::GetTaskPushNotificationConfig
        | Operation::ListTaskPushNotificationConfigs
        | Operation::DeleteTaskPushNotificationConfig => Some(Kind::TaskNotFound),
    }
}

/// Nothing went wrong; a stream is let go of.
async fn goes_well(user: &User, request: Request<Full<Bytes>>, what: &str) -> Option<Answer> {
    match user.try_open(request).await {
        Ok(_) => None,
        Err(answer) => {
            let error = if answer.body.is_empty() { Value::Null } else { answer.json()["error"].take() };
            assert!((200..300).contains(&answer.status) && error.is_null(), "{what}: {answer:?}");
            Some(answer)
        }
    }
}

async fn refused(user: &User, request: Request<Full<Bytes>>, what: &str) -> Answer {
    match user.try_open(request).await {
        Ok(_) => panic!("{what}: a stream was opened"),
        Err(answer) => answer,
    }
}

/// Everybody who is not let in, with what each of them hears, whatever it asks for.
async fn shut_out(node: &TestNode) -> Vec<(&'static str, User, Kind)> {
    let body = json!({"label": "a test", "agents": ["script"], "verbs": Verb::ALL, "expires": "1h"});
    let made = node.operator("POST", "/api/v1/grants", Some(&body)).await.json();
    let expired = User::new(node.url(), "script", made["token"].as_str());
    node.clock.advance(std::time::Duration::from_hours(1));
    let (paused, of_paused) = node.grant(&["script"], &Verb::ALL).await;
    node.operator("POST", &format!("/api/v1/grants/{paused}/pause"), None).await.json();
    let (revoked, of_revoked) = node.grant(&["script"], &Verb::ALL).await;
    node.revoke(&revoked).await;
    let (_, idle) = node.grant(&["script"], &[Verb::Work]).await;
    let (_, elsewhere) = node.grant(&["text", "echo"], &Verb::ALL).await;
    vec![
        ("paused", of_paused, Kind::GrantPaused),
        ("revoked", of_revoked, Kind::Unauthenticated),
        ("expired", expired, Kind::Unauthenticated),
        ("of another verb", idle, Kind::PermissionDenied),
        ("of another agent", elsewhere.to("script"), Kind::UnknownPath),
        ("nobody", node.anyone("script"), Kind::Unauthenticated),
    ]
}

#[tokio::test]
async fn every_operation_at_every_door_by_everybody() {
    let node = TestNode::with(|settings| {
        settings.node.dev = false;
        settings.net.allow = vec!["127.0.0.0/8"].into_iter().map(network).collect();
        for agent in settings.agents.values_mut() {
            agent.extended_card = true;
            agent.skills = vec![skill("more", Audience::Extended)];
        }
    })
    .await;
    let shut_out = shut_out(&node).await;
    let (owner, other) = (node.holder("script").await, node.holder("script").await);
    let made_up = baton::clock::new_id().to_string();
    for way in ways() {
        let (owner, other) = (owner.over(way.door), other.over(way.door));
        let task = owner.hand_in("secret").await;
        let mut attempt = node.attempt("script").await;
        let before = owner.get(&task).await;
        for operation in OPERATIONS {
            let what = format!("{operation:?} {way:?}");
            for (who, user, kind) in &shut_out {
                let user = &user.over(way.door);
                let Some(theirs) = request(user, way, operation, &task) else { continue };
                let answer = refused(user, theirs, &format!("{what} by one that is {who}")).await;
                answer.refused(*kind);
                let invented = request(user, way, operation, &made_up).expect("the same operation");
                let invented = refused(user, invented, &what).await;
                assert_eq!(without(&answer, &task), without(&invented, &made_up), "{what} by {who}");
            }
            let Some(theirs) = request(&other, way, operation, &task) else { continue };
            let invented = request(&other, way, operation, &made_up).expect("the same operation");
            if let Some(kind) = expected(operation) {
                let answer = refused(&other, theirs, &what).await;
                answer.refused(kind);
                let invented = refused(&other, invented, &what).await;
                assert_eq!(without(&answer, &task), without(&invented, &made_up), "{what} by another");
            } else if let Some(answer) = goes_well(&other, theirs, &what).await {
                assert!(!answer.text().contains(&task), "{what}: {answer:?}");
            }
        }
        assert_eq!(owner.get(&task).await, before, "nothing that they did changed it: {way:?}");
        for operation in OPERATIONS.into_iter().filter(|operation| *operation != Operation::CancelTask) {
            let Some(mine) = request(&owner, way, operation, &task) else { continue };
            goes_well(&owner, mine, &format!("{operation:?} {way:?} by its owner")).await;
        }
        for _ in 0..2 {
            assert_eq!(attempt.hears_message().await, "more", "one by each way to send");
        }
        let cancel = request(&owner, way, Operation::CancelTask, &task).expect("every version has it");
        tokio::join!(goes_well(&owner, cancel, "the owner's CancelTask"), attempt.stops());
        assert_eq!(owner.state(&task).await, "CANCELED");
    }
    node.finish().await;
}

fn network(text: &str) -> baton::config::settings::Destination {
    let (address, prefix) = text.split_once('/').unwrap();
    baton::config::settings::Destination::Network(baton::config::settings::Network {
        address: address.parse().unwrap(),
        prefix: prefix.parse().unwrap(),
    })
}

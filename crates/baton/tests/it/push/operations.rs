//! Create, get, list and delete, over every binding; and inline with a message.

use baton_store::Verb;
use baton_wire::fault::Kind;
use baton_wire::operation::Operation;
use serde_json::{Value, json};

use super::{Hook, allow_loopback, hand_in, node};
use crate::harness::{Answer, TestNode, User, message};

const CREATE: Operation = Operation::CreateTaskPushNotificationConfig;
const GET: Operation = Operation::GetTaskPushNotificationConfig;
const LIST: Operation = Operation::ListTaskPushNotificationConfigs;
const DELETE: Operation = Operation::DeleteTaskPushNotificationConfig;

/// Nobody is asked for this address: nothing happens to its tasks any more.
const URL: &str = "https://93.184.216.34/hook";

async fn create(user: &User, task: &str, mut config: Value) -> Answer {
    config["taskId"] = task.into();
    user.call(CREATE, config).await
}

async fn ids(user: &User, task: &str) -> Vec<String> {
    let listed = user.call(LIST, json!({"taskId": task})).await.ok();
    let id = |config: &Value| config["id"].as_str().unwrap().to_owned();
    listed["configs"].as_array().unwrap().iter().map(id).collect()
}

#[tokio::test]
async fn a_configuration_is_made_found_listed_and_deleted() {
    let node = node().await;
    for user in node.doors("echo") {
        let task = user.send("x").await["id"].as_str().unwrap().to_owned();
        let config = json!({
            "id": "mine", "url": URL, "token": "t0ken",
            "authentication": {"scheme": "Bearer", "credentials": "cr3dential"},
        });
        let made = create(&user, &task, config).await.ok();
        let expected = json!({
            "id": "mine", "taskId": task, "url": URL, "authentication": {"scheme": "Bearer"},
        });
        assert_eq!(made, expected, "what is secret is not answered");
        assert_eq!(user.call(GET, json!({"taskId": task, "id": "mine"})).await.ok(), expected);
        // Without an id it gets one.
        let other = create(&user, &task, json!({"url": URL})).await.ok();
        let other = other["id"].as_str().unwrap().to_owned();
        assert!(!other.is_empty());
        let mut both = vec!["mine".to_owned(), other.clone()];
        both.sort();
        assert_eq!(ids(&user, &task).await, both);
        let listed = user.call(LIST, json!({"taskId": task})).await.ok();
        assert_eq!(listed["nextPageToken"], "");
        assert!(listed["configs"].as_array().unwrap().contains(&expected));
        // Twice, and one that never was.
        for id in ["mine", "mine", "made-up"] {
            let deleted = user.call(DELETE, json!({"taskId": task, "id": id})).await.ok();
            assert_eq!(deleted, json!({}));
        }
        assert_eq!(ids(&user, &task).await, [other]);
        user.call(GET, json!({"taskId": task, "id": "mine"})).await.refused(Kind::TaskNotFound);
    }
    node.finish().await;
}

#[tokio::test]
async fn pages_and_replacements() {
    let node = node().await;
    let user = node.anyone("echo");
    let task = user.send("x").await["id"].as_str().unwrap().to_owned();
    for n in 0..16 {
        create(&user, &task, json!({"id": format!("c{n:02}"), "url": URL})).await.ok();
    }
    let full = create(&user, &task, json!({"id": "one-more", "url": URL})).await;
    assert_eq!(full.invalid(), "taskId");
    // One of the same id is replaced.
    let other = "https://93.184.216.34/other";
    create(&user, &task, json!({"id": "c03", "url": other})).await.ok();
    assert_eq!(user.call(GET, json!({"taskId": task, "id": "c03"})).await.ok()["url"], other);
    let (mut seen, mut token) = (Vec::new(), String::new());
    loop {
        let page = user.call(LIST, json!({"taskId": task, "pageSize": 5, "pageToken": token})).await.ok();
        let configs = page["configs"].as_array().unwrap();
        assert!(configs.len() <= 5);
        seen.extend(configs.iter().map(|config| config["id"].as_str().unwrap().to_owned()));
        page["nextPageToken"].as_str().unwrap().clone_into(&mut token);
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(seen, (0..16).map(|n| format!("c{n:02}")).collect::<Vec<_>>());
    let wrong = user.call(LIST, json!({"taskId": task, "pageToken": "!"})).await;
    assert_eq!(wrong.invalid(), "pageToken");
    let node = node.restart().await;
    assert_eq!(ids(&node.anyone("echo"), &task).await.len(), 16);
    node.finish().await;
}

#[tokio::test]
async fn somebody_elses_task_answers_as_one_that_never_was() {
    let node = TestNode::with(|settings| {
        allow_loopback(settings);
        settings.node.dev = false;
    })
    .await;
    let (owner, stranger) = (node.holder("echo").await, node.holder("echo").await);
    let task = owner.send("x").await["id"].as_str().unwrap().to_owned();
    create(&owner, &task, json!({"id": "mine", "url": URL})).await.ok();
    let made_up = baton::clock::new_id().to_string();
    for user in stranger.doors() {
        for (operation, params) in [
            (CREATE, json!({"id": "mine", "url": URL})),
            (CREATE, json!({"id": "mine", "url": "http://127.0.0.1/"})),
            (GET, json!({"id": "mine"})),
            (LIST, json!({})),
            (DELETE, json!({"id": "mine"})),
        ] {
            let mut texts = Vec::new();
            for id in [&task, &made_up] {
                let mut params = params.clone();
                params["taskId"] = id.as_str().into();
                let answer = user.call(operation, params).await;
                answer.refused(Kind::TaskNotFound);
                texts.push(answer.text().replace(id, "ID"));
            }
            assert_eq!(texts[0], texts[1], "{operation:?}");
        }
    }
    assert_eq!(ids(&owner, &task).await, ["mine"]);
    node.finish().await;
}

#[tokio::test]
async fn what_cannot_be_used_is_refused_and_leaves_nothing() {
    let node = TestNode::start().await;
    let mut tasks = 0;
    for user in node.doors("echo") {
        let task = user.send("x").await["id"].as_str().unwrap().to_owned();
        let bearer = |credentials: &str| json!({"scheme": "Bearer", "credentials": credentials});
        for (config, field) in [
            (json!({}), "url"),
            (json!({"url": ""}), "url"),
            (json!({"url": "not a url"}), "url"),
            (json!({"url": "ftp://example.com/"}), "url"),
            (json!({"url": "http://me:secret@93.184.216.34/"}), "url"),
            (json!({"url": format!("{URL}/{}", "x".repeat(2048))}), "url"),
            (json!({"url": "http://127.0.0.1:1/"}), "url"),
            (json!({"url": "http://localhost./"}), "url"),
            (json!({"url": "http://0x7f.1/"}), "url"),
            (json!({"url": "http://[::ffff:10.0.0.1]/"}), "url"),
            (json!({"url": "http://169.254.169.254/latest/meta-data"}), "url"),
            (json!({"url": URL, "id": "a\nb"}), "id"),
            (json!({"url": URL, "id": "x".repeat(1025)}), "id"),
            (json!({"url": URL, "token": "a\r\nX-Injected: 1"}), "token"),
            (json!({"url": URL, "token": "x".repeat(4097)}), "token"),
            (json!({"url": URL, "authentication": {"scheme": ""}}), "authentication.scheme"),
            (json!({"url": URL, "authentication": {"scheme": "Bearer x"}}), "authentication.scheme"),
            (json!({"url": URL, "authentication": bearer("a\nb")}), "authentication.credentials"),
        ] {
            let refused = create(&user, &task, config.clone()).await;
            assert_eq!(refused.invalid(), field, "{config}");
            assert!(!refused.text().contains("Injected") && !refused.text().contains("secret"));
            let inline = json!({
                "message": message("inline"), "configuration": {"taskPushNotificationConfig": config},
            });
            let path = format!("configuration.taskPushNotificationConfig.{field}");
            for operation in [Operation::SendMessage, Operation::SendStreamingMessage] {
                assert_eq!(user.call(operation, inline.clone()).await.invalid(), path, "{config}");
            }
        }
        assert_eq!(ids(&user, &task).await, [""; 0]);
        tasks += 1;
        let all = user.list(json!({})).await;
        assert_eq!(all["totalSize"], tasks, "nothing was created");
    }
    node.finish().await;
}

#[tokio::test]
async fn an_agent_that_pushes_nothing_and_a_grant_that_does_not_say_so() {
    let node = TestNode::with(|settings| {
        for agent in settings.agents.values_mut() {
            agent.push = agent.name.as_str() != "mute";
        }
    })
    .await;
    let card = |agent: &str| {
        let user = node.anyone(agent);
        async move { user.ask(user.raw("GET", "/.well-known/agent-card.json", "")).await.json() }
    };
    assert_eq!(card("mute").await["capabilities"]["pushNotifications"], false);
    assert_eq!(card("echo").await["capabilities"]["pushNotifications"], true);
    let (_, reader) = node.grant(&["echo"], &[Verb::Send, Verb::Read]).await;
    let task = reader.send("x").await["id"].as_str().unwrap().to_owned();
    for (user, kind) in
        [(node.anyone("mute"), Kind::PushNotificationNotSupported), (reader, Kind::PermissionDenied)]
    {
        for user in user.doors() {
            let params = json!({"taskId": task, "id": "x", "url": URL});
            for operation in [CREATE, GET, LIST, DELETE] {
                user.call(operation, params.clone()).await.refused(kind);
            }
            let inline = json!({
                "message": message("x"),
                "configuration": {"taskPushNotificationConfig": {"url": URL}},
            });
            user.call(Operation::SendMessage, inline).await.refused(kind);
        }
    }
    node.finish().await;
}

#[tokio::test]
async fn a_message_to_a_task_can_bring_a_configuration() {
    let node = node().await;
    let (user, hook) = (node.anyone("script"), Hook::start().await);
    let task = user.hand_in("go").await;
    let attempt = node.attempt("script").await;
    attempt.ask("which?").await;
    let mut turn = message("this one");
    turn["taskId"] = task.as_str().into();
    let params = json!({
        "message": turn,
        "configuration": {
            "returnImmediately": true,
            "taskPushNotificationConfig": {"id": "late", "url": hook.url()},
        },
    });
    user.call(Operation::SendMessage, params).await.ok();
    assert_eq!(ids(&user, &task).await, ["late"]);
    attempt.complete().await;
    hook.gets(2).await;
    assert_eq!(hook.lines(), ["4 WORKING", "5 COMPLETED"], "what was before is not told");
    node.finish().await;
}

/// A configuration makes a task of what could have been a direct message.
#[tokio::test]
async fn who_is_told_of_it_is_told_of_a_task() {
    let node = node().await;
    let (user, hook) = (node.anyone("talker"), Hook::start().await);
    let task = hand_in(&user, "hi", &json!({"url": hook.url()})).await;
    node.attempt("talker").await.reply("hello").await;
    hook.gets(2).await;
    assert_eq!(hook.lines(), ["2 WORKING", "3 COMPLETED \"hello\""]);
    assert_eq!(user.state(&task).await, "COMPLETED");
    node.finish().await;
}

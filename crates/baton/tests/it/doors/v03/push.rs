//! Push notification configurations in 0.3, in every shape in which its clients send them.

use baton_store::Verb;
use baton_wire::fault::Kind;
use serde_json::{Value, json};

use super::{Old, id, old};
use crate::harness::{Answer, TestNode};

/// Nobody is asked for this address: nothing happens to its tasks any more.
const URL: &str = "https://93.184.216.34/hook";

/// One of the four methods of JSON-RPC.
async fn call(client: &Old, method: &str, params: Value) -> Answer {
    client.user.ask(client.rpc(&format!("tasks/pushNotificationConfig/{method}"), &params)).await
}

async fn rest(client: &Old, method: &str, below: &str, body: &Value) -> Answer {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    client.user.ask(client.user.raw(method, &format!("/v1/tasks/{below}"), body)).await
}

/// One configuration without an id is set, got without one, listed and deleted, twice; what is secret is not answered.
#[tokio::test]
async fn over_json_rpc() {
    let node = TestNode::start().await;
    let [client, _] = old(&node, "echo");
    let task = id(&client.send("x").await);
    let config = json!({"url": URL, "token": "t0ken",
        "authentication": {"schemes": ["Bearer", "Basic"], "credentials": "cr3dential"}});
    let set = call(&client, "set", json!({"taskId": task, "pushNotificationConfig": config})).await;
    let shown = json!({"taskId": task, "pushNotificationConfig":
        {"id": "default", "url": URL, "authentication": {"schemes": ["Bearer"]}}});
    assert_eq!(set.ok(), shown);
    assert_eq!(call(&client, "get", json!({"id": task})).await.ok(), shown);
    let by_id = json!({"id": task, "pushNotificationConfigId": "default"});
    assert_eq!(call(&client, "get", by_id.clone()).await.ok(), shown);
    assert_eq!(call(&client, "list", json!({"id": task})).await.ok(), json!([shown]));
    for _ in 0..2 {
        let deleted = call(&client, "delete", by_id.clone()).await;
        assert!(deleted.text().contains(r#""result":null"#), "{deleted:?}");
    }
    assert_eq!(call(&client, "list", json!({"id": task})).await.ok(), json!([]));
    call(&client, "get", by_id).await.refused(Kind::TaskNotFound);
    let inside = json!({"taskId": task, "pushNotificationConfig": {"url": "http://169.254.169.254/"}});
    call(&client, "set", inside).await.refused(Kind::InvalidParams);
    node.finish().await;
}

/// The bodies of the Python and of the JavaScript library, and of the conformance kit.
#[tokio::test]
async fn over_rest_in_every_shape() {
    let node = TestNode::start().await;
    let [_, client] = old(&node, "echo");
    let task = id(&client.send("x").await);
    let (parent, name) = (format!("tasks/{task}"), format!("tasks/{task}/pushNotificationConfigs/c"));
    let config = json!({"id": "c", "url": URL, "token": "t0ken"});
    let shown = json!({"name": name, "pushNotificationConfig": {"id": "c", "url": URL}});
    let configs = format!("{task}/pushNotificationConfigs");
    for body in [
        json!({"parent": parent, "configId": "c", "config": {"name": name, "pushNotificationConfig": config}}),
        json!({"name": name, "pushNotificationConfig": config}),
        json!({"parent": parent, "config_id": "c", "config": {"name": name, "push_notification_config": config}}),
    ] {
        assert_eq!(rest(&client, "POST", &configs, &body).await.ok(), shown, "{body}");
        assert_eq!(rest(&client, "GET", &format!("{configs}/c"), &Value::Null).await.ok(), shown);
        let listed = rest(&client, "GET", &configs, &Value::Null).await.ok();
        assert_eq!(listed, json!({"configs": [shown], "nextPageToken": ""}));
        for _ in 0..2 {
            let deleted = rest(&client, "DELETE", &format!("{configs}/c"), &Value::Null).await;
            assert_eq!(deleted.ok(), json!({}));
        }
        rest(&client, "GET", &format!("{configs}/c"), &Value::Null).await.refused(Kind::TaskNotFound);
    }
    node.finish().await;
}

/// Report 15: nobody else can tell the task, or what is set for it, from what never was.
#[tokio::test]
async fn another_grants_configuration_is_not_there() {
    let node = TestNode::closed().await;
    let (_, mine) = node.grant(&["echo"], &Verb::ALL).await;
    let (_, other) = node.grant(&["echo"], &Verb::ALL).await;
    let [mine, _] = mine.json_doors().map(|user| Old { user });
    let [rpc, over_rest] = other.json_doors().map(|user| Old { user });
    let task = id(&mine.send("x").await);
    let set = json!({"taskId": task, "pushNotificationConfig": {"id": "c", "url": URL}});
    let shown = call(&mine, "set", set.clone()).await.ok();
    let one = json!({"id": task, "pushNotificationConfigId": "c"});
    for (method, params) in [("set", &set), ("get", &one), ("list", &json!({"id": task})), ("delete", &one)] {
        call(&rpc, method, params.clone()).await.refused(Kind::TaskNotFound);
    }
    let configs = format!("{task}/pushNotificationConfigs");
    let body = json!({"pushNotificationConfig": {"id": "c", "url": URL}});
    for (method, below, body) in [
        ("POST", configs.clone(), &body),
        ("GET", format!("{configs}/c"), &Value::Null),
        ("GET", configs.clone(), &Value::Null),
        ("DELETE", format!("{configs}/c"), &Value::Null),
    ] {
        rest(&over_rest, method, &below, body).await.refused(Kind::TaskNotFound);
    }
    assert_eq!(call(&mine, "get", one).await.ok(), shown);
    node.finish().await;
}

//! Whose a task is: nobody else can tell it from one that does not exist.

use baton_store::Verb;
use baton_wire::fault::Kind;
use baton_wire::operation::Operation;
use serde_json::{Value, json};

use crate::harness::{Answer, Door, TestNode, User, message};

/// Every operation that names a task, with everything a thief may know of it.
fn attempts(task: &str, context: &str) -> Vec<(Operation, Value)> {
    let mut turn = message("mine now");
    turn["taskId"] = task.into();
    let mut placed = turn.clone();
    placed["contextId"] = context.into();
    vec![
        (Operation::GetTask, json!({"id": task})),
        (Operation::GetTask, json!({"id": task, "historyLength": 0})),
        (Operation::CancelTask, json!({"id": task})),
        (Operation::SubscribeToTask, json!({"id": task})),
        (Operation::SendMessage, json!({"message": turn})),
        (Operation::SendMessage, json!({"message": turn, "configuration": {"returnImmediately": true}})),
        (Operation::SendMessage, json!({"message": placed})),
        (Operation::SendStreamingMessage, json!({"message": turn})),
        (Operation::SendStreamingMessage, json!({"message": placed})),
    ]
}

/// An answer with the id taken out of it, so that two can be compared byte by byte.
pub fn without(answer: &Answer, id: &str) -> (u16, Vec<(String, String)>, String) {
    let mut headers: Vec<_> = answer
        .headers
        .iter()
        // The details of gRPC are in the text, where the id can be told from the rest.
        .filter(|(name, _)| !["date", "grpc-status-details-bin"].contains(&name.as_str()))
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
        .collect();
    headers.sort();
    (answer.status, headers, answer.text().replace(id, "ID"))
}

async fn ask(user: &User, operation: Operation, params: &Value) -> Answer {
    match user.open(operation, params.clone()).await {
        Ok(_) => panic!("{operation:?} opened a stream"),
        Err(answer) => answer,
    }
}

/// Report 15.
#[tokio::test]
async fn anothers_task_is_like_one_that_was_made_up() {
    let node = TestNode::closed().await;
    let (owner, thief) = (node.holder("script").await, node.holder("script").await);
    let finished = owner.to("echo").send("secret").await;
    for user in thief.doors() {
        let live = owner.hand_in("secret").await;
        let attempt = node.attempt("script").await;
        attempt.write("out", "secret").await;
        let context = owner.get(&live).await["contextId"].as_str().unwrap().to_owned();
        let before = owner.get(&live).await;
        let made_up = baton::clock::new_id().to_string();

        let user = user.with("last-event-id", "1");
        for ((operation, params), (_, invented)) in
            attempts(&live, &context).into_iter().zip(attempts(&made_up, &context))
        {
            let answers = [ask(&user, operation, &params).await, ask(&user, operation, &invented).await];
            answers[0].refused(Kind::TaskNotFound);
            assert_eq!(without(&answers[0], &live), without(&answers[1], &made_up), "{operation:?}");
        }
        // Not even at the right agent's door with another agent's task, or with a task that is over.
        let done = finished["id"].as_str().unwrap();
        user.to("echo").subscribe_in_vain(done).await.refused(Kind::TaskNotFound);
        user.to("echo").cancel(done).await.refused(Kind::TaskNotFound);
        user.to("echo").follow_up(done, "x").await.refused(Kind::TaskNotFound);
        owner.cancel(done).await.refused(Kind::TaskNotFound);

        for params in [json!({}), json!({"contextId": context}), json!({"status": "TASK_STATE_WORKING"})] {
            assert_eq!(user.list(params).await["totalSize"], 0);
        }
        assert_eq!(owner.get(&live).await, before, "nothing changed");
        attempt.complete().await;
    }
    node.finish().await;
}

/// A context of the same name is another context.
#[tokio::test]
async fn contexts_of_two_owners_do_not_meet() {
    let node = TestNode::closed().await;
    let (owner, other) = (node.holder("echo").await, node.holder("echo").await);
    for (user, other) in owner.doors().into_iter().zip(other.doors()) {
        for who in [&user, &other] {
            let mut said = message("x");
            said["contextId"] = "shared".into();
            assert_eq!(who.try_send(said).await.ok()["task"]["contextId"], "shared");
        }
        let seen = user.door as u64 + 1;
        assert_eq!(user.list(json!({"contextId": "shared"})).await["totalSize"], seen);
        assert_eq!(other.list(json!({"contextId": "shared"})).await["totalSize"], seen);
    }
    node.finish().await;
}

#[tokio::test]
async fn who_has_no_credentials_is_told_how_to_bring_them() {
    let node = TestNode::closed().await;
    let holder = node.holder("echo").await;
    for door in crate::harness::DOORS {
        let wrong = holder.token().replace("bt_", "bt_x");
        let strangers = [
            node.anyone("echo"),
            node.anyone("echo").with("authorization", "Bearer x"),
            node.anyone("echo").with("authorization", &format!("Bearer {wrong}")),
            node.anyone("echo").with("authorization", &format!("Basic {}", holder.token())),
            holder.with("authorization", &format!("Bearer {}", holder.token())),
            node.anyone("no-such-agent"),
        ];
        for user in strangers.map(|user| user.over(door)) {
            for operation in Operation::ALL {
                let params = json!({"id": "x", "taskId": "x", "message": message("x")});
                let answer = user.call(operation, params).await;
                answer.refused(Kind::Unauthenticated);
                let challenge = answer.header("www-authenticate").unwrap();
                let error = if user.is_bearer() { "error=\"invalid_token\", " } else { "" };
                let below = if door == Door::Grpc { String::new() } else { format!("/a2a/{}", user.agent) };
                let metadata = format!("{}/.well-known/oauth-protected-resource{below}", node.url());
                assert_eq!(
                    challenge,
                    format!("Bearer realm=\"baton\", {error}resource_metadata=\"{metadata}\"")
                );
            }
        }
        let lower = node.anyone("echo").with("authorization", &format!("bearer {}", holder.token()));
        assert_eq!(lower.over(door).list(json!({})).await["totalSize"], 0);
    }
    node.finish().await;
}

#[tokio::test]
async fn a_grant_reaches_its_agents_and_its_verbs_only() {
    let node = TestNode::closed().await;
    let (_, reader) = node.grant(&["script"], &[Verb::Read]).await;
    let (_, sender) = node.grant(&["script"], &[Verb::Send]).await;
    for (reader, sender) in reader.doors().into_iter().zip(sender.doors()) {
        reader.try_send(message("x")).await.refused(Kind::PermissionDenied);
        let streamed = reader.open(Operation::SendStreamingMessage, json!({"message": message("x")})).await;
        streamed.unwrap_err().refused(Kind::PermissionDenied);
        assert_eq!(reader.list(json!({})).await["totalSize"], 0);
        reader.cancel("x").await.refused(Kind::PermissionDenied);

        let id = sender.hand_in("x").await;
        sender.call(Operation::GetTask, json!({"id": id})).await.refused(Kind::PermissionDenied);
        sender.call(Operation::ListTasks, json!({})).await.refused(Kind::PermissionDenied);
        sender.subscribe_in_vain(&id).await.refused(Kind::PermissionDenied);
        sender.cancel(&id).await.refused(Kind::PermissionDenied);
        node.attempt("script").await.complete().await;

        // An agent that is not published is not there; one that is, is out of reach.
        sender.to("text").try_send(message("x")).await.refused(Kind::UnknownPath);
        sender.to("no-such-agent").try_send(message("x")).await.refused(Kind::UnknownPath);
        sender.to("echo").try_send(message("x")).await.refused(Kind::PermissionDenied);
    }
    node.finish().await;
}

#[tokio::test]
async fn a_revoked_grant_ends_with_all_that_hangs_on_it() {
    let node = TestNode::closed().await;
    for door in crate::harness::DOORS {
        let (grant, user) = node.grant(&["script"], &Verb::ALL).await;
        let (user, other) = (user.over(door), node.holder("script").await.over(door));
        let mut stream = user.stream("mine").await;
        let attempt = node.attempt("script").await;
        let id = attempt.task();
        stream.until("2 WORKING").await;
        let theirs = other.hand_in("theirs").await;
        let untouched = node.attempt("script").await;

        tokio::join!(node.revoke(&grant), attempt.stops());
        let left = stream.lines().await;
        assert!(left.iter().all(|line| line.ends_with("CANCELED")), "the stream ends: {left:?}");
        user.call(Operation::GetTask, json!({"id": id})).await.refused(Kind::Unauthenticated);
        user.try_send(message("x")).await.refused(Kind::Unauthenticated);
        let shown = node.operator("GET", &format!("/api/v1/tasks/{id}"), None).await.json();
        assert_eq!(shown["task"]["status"]["state"], "TASK_STATE_CANCELED");
        assert_eq!(other.state(&theirs).await, "WORKING");
        untouched.complete().await;
    }
    node.finish().await;
}

/// Whoever gets in just before the end of its grant is let out by it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_opens_while_its_grant_is_revoked_ends() {
    let node = TestNode::closed().await;
    for at in 0..10 {
        let (grant, user) = node.grant(&["script"], &Verb::ALL).await;
        let user = user.over(crate::harness::DOORS[at % 2]);
        let id = user.hand_in("x").await;
        let attempt = node.attempt("script").await;
        let opened = (0..4).map(|_| user.open(Operation::SubscribeToTask, json!({"id": id})));
        let (opened, (), ()) =
            tokio::join!(futures_util::future::join_all(opened), node.revoke(&grant), attempt.stops());
        for stream in opened {
            match stream {
                Ok(stream) => drop(stream.lines().await),
                Err(answer) => assert!([400, 401, 200].contains(&answer.status), "{answer:?}"),
            }
        }
    }
    node.finish().await;
}

/// The token is shown once and kept nowhere.
#[tokio::test]
async fn no_token_is_kept() {
    let node = TestNode::closed().await;
    let user = node.holder("echo").await;
    user.send("x").await;
    let grants = node.operator("GET", "/api/v1/grants", None).await;
    assert!(!grants.text().contains(user.token()));
    for file in std::fs::read_dir(node.folder().join("data")).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let found = bytes.windows(user.token().len()).any(|at| at == user.token().as_bytes());
            assert!(!found, "{}", path.display());
        }
    }
    let node = node.restart().await;
    let user = User::new(node.url(), "echo", Some(user.token()));
    assert_eq!(user.list(json!({})).await["totalSize"], 1, "the grant outlives a restart");
    node.finish().await;
}

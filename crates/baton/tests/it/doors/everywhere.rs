//! Same request, every door, same answer: each row of the table over every binding in every version.

use std::fmt::Write as _;

use baton_wire::operation::Operation;
use baton_wire::v03;
use serde_json::{Value, json};

use crate::harness::{Answer, Door, TestNode, User, grpc};

/// A binding in a version.
#[derive(Clone, Debug)]
struct Way {
    user: User,
    old: bool,
}

/// What is asked, in no version's words.
#[derive(Clone, Debug)]
enum Ask {
    Send {
        text: &'static str,
        task: Option<String>,
        at_once: bool,
    },
    /// A send that is to be answered by a stream.
    Stream {
        task: String,
    },
    Get {
        task: String,
        history: Option<i32>,
    },
    Cancel {
        task: String,
    },
    Subscribe {
        task: String,
    },
    List {
        state: &'static str,
    },
    Nothing,
}

fn ways(node: &TestNode, agent: &str) -> Vec<Way> {
    let both = |user: User| [false, true].map(|old| Way { user: user.clone(), old });
    node.doors(agent).into_iter().flat_map(both).collect()
}

impl Way {
    fn name(&self) -> String {
        format!("{:?} {}", self.user.door, if self.old { "0.3" } else { "1.0" })
    }

    async fn ask(&self, ask: &Ask) -> String {
        match self.user.door {
            Door::Rpc => self.by_rpc(ask).await,
            Door::Rest => self.by_rest(ask).await,
            Door::Grpc => self.by_grpc(ask).await,
        }
    }

    fn message(&self, text: &str, task: Option<&String>) -> Value {
        let mut message = match (self.user.door, self.old) {
            (Door::Rpc | Door::Rest | Door::Grpc, false) => {
                json!({"role": "ROLE_USER", "parts": [{"text": text}]})
            }
            (Door::Rpc, true) => json!({"role": "user", "parts": [{"kind": "text", "text": text}]}),
            (Door::Rest | Door::Grpc, true) => json!({"role": "ROLE_USER", "content": [{"text": text}]}),
        };
        message["messageId"] = "m".into();
        if let Some(task) = task {
            message["taskId"] = task.as_str().into();
        }
        message
    }

    fn send(&self, text: &str, task: Option<&String>, at_once: bool) -> Value {
        let configuration =
            if self.old { json!({"blocking": !at_once}) } else { json!({"returnImmediately": at_once}) };
        json!({"message": self.message(text, task), "configuration": configuration})
    }

    /// 0.3 over gRPC has no pages, and no zero that is not the same as nothing.
    fn has_words_for(&self, ask: &Ask) -> bool {
        let older = self.old && self.user.door == Door::Grpc;
        !(older && matches!(ask, Ask::List { .. } | Ask::Get { history: Some(0), .. }))
    }

    fn operation(&self, ask: &Ask) -> (Operation, Value) {
        match ask {
            Ask::Send { text, task, at_once } => {
                (Operation::SendMessage, self.send(text, task.as_ref(), *at_once))
            }
            Ask::Stream { task } => (Operation::SendStreamingMessage, self.send("more", Some(task), false)),
            Ask::Get { task, history } => (Operation::GetTask, json!({"id": task, "historyLength": history})),
            Ask::Cancel { task } => (Operation::CancelTask, json!({"id": task})),
            Ask::Subscribe { task } => (Operation::SubscribeToTask, json!({"id": task})),
            Ask::List { state } => (Operation::ListTasks, json!({"status": self.state(state)})),
            Ask::Nothing => (Operation::SendMessage, json!({})),
        }
    }

    async fn by_grpc(&self, ask: &Ask) -> String {
        let (user, named) = (&self.user, |task: &String| format!("tasks/{task}"));
        let answer = if self.old {
            let (name, params) = match ask {
                Ask::Send { text, task, at_once } => {
                    ("SendMessage", self.send(text, task.as_ref(), *at_once))
                }
                Ask::Stream { task } => ("SendStreamingMessage", self.send("more", Some(task), false)),
                Ask::Get { task, history } => {
                    ("GetTask", json!({"name": named(task), "historyLength": history.unwrap_or(0)}))
                }
                Ask::Cancel { task } => ("CancelTask", json!({"name": named(task)})),
                Ask::Subscribe { task } => ("TaskSubscription", json!({"name": named(task)})),
                Ask::Nothing => ("SendMessage", json!({})),
                Ask::List { .. } => panic!("there are no pages"),
            };
            let method = grpc::method_of("a2a.v1.A2AService", name);
            let call = user.with("a2a-agent", &user.agent);
            user.ask(call.grpc(&grpc::path(&method), grpc::request(&method, params))).await
        } else {
            let (operation, params) = self.operation(ask);
            user.call(operation, params).await
        };
        let json = answer.json();
        match json.get("error") {
            Some(error) => refused(&error["details"][0]),
            None => shown(&json),
        }
    }

    async fn by_rpc(&self, ask: &Ask) -> String {
        let (operation, params) = self.operation(ask);
        let method = if self.old { v03::method(operation) } else { operation.method() };
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = self.user.ask(self.user.raw("POST", "", body.to_string())).await;
        let mut json = answer.json();
        match json.get("error") {
            Some(error) => refused(&error["data"][0]),
            None => shown(&json["result"].take()),
        }
    }

    async fn by_rest(&self, ask: &Ask) -> String {
        let base = if self.old { "/v1" } else { "" };
        let user = &self.user;
        let request = match ask {
            Ask::Send { text, task, at_once } => {
                let body = self.send(text, task.as_ref(), *at_once).to_string();
                user.raw("POST", &format!("{base}/message:send"), body)
            }
            Ask::Stream { task } => {
                let body = self.send("more", Some(task), false).to_string();
                user.raw("POST", &format!("{base}/message:stream"), body)
            }
            Ask::Get { task, history } => {
                let query = history.map_or_else(String::new, |length| format!("?historyLength={length}"));
                user.raw("GET", &format!("{base}/tasks/{task}{query}"), "")
            }
            Ask::Cancel { task } => user.raw("POST", &format!("{base}/tasks/{task}:cancel"), ""),
            Ask::Subscribe { task } => user.raw("GET", &format!("{base}/tasks/{task}:subscribe"), ""),
            Ask::List { state } => user.raw("GET", &format!("{base}/tasks?status={}", self.state(state)), ""),
            Ask::Nothing => user.raw("POST", &format!("{base}/message:send"), "{}"),
        };
        let answer: Answer = user.ask(request).await;
        let json = answer.json();
        match json.get("error") {
            Some(error) => refused(&error["details"][0]),
            None => shown(&json),
        }
    }

    /// A state's name here.
    fn state(&self, name: &str) -> String {
        if self.old && self.user.door == Door::Rpc {
            return name.to_lowercase().replace('_', "-");
        }
        format!("TASK_STATE_{name}")
    }
}

fn refused(info: &Value) -> String {
    format!("refused: {}", info["reason"].as_str().unwrap())
}

/// A task, a message or a page, in no version's words.
fn shown(value: &Value) -> String {
    if let Some(tasks) = value.get("tasks").and_then(Value::as_array) {
        let lines: Vec<_> = tasks.iter().map(task).collect();
        return format!("{} of {}: {}", tasks.len(), value["totalSize"], lines.join("; "));
    }
    let inner = value.get("task").or_else(|| value.get("message")).unwrap_or(value);
    if inner.get("status").is_some() { task(inner) } else { format!("message {}", text(inner)) }
}

fn text(message: &Value) -> String {
    let parts = message.get("parts").or_else(|| message.get("content")).and_then(Value::as_array);
    parts.into_iter().flatten().filter_map(|part| part["text"].as_str()).collect()
}

fn task(task: &Value) -> String {
    let state = task["status"]["state"].as_str().unwrap().trim_start_matches("TASK_STATE_");
    let state = state.to_uppercase().replace('-', "_").replace("CANCELLED", "CANCELED");
    let mut line = format!("task {state}");
    for artifact in task["artifacts"].as_array().into_iter().flatten() {
        write!(line, " {:?}", text(artifact)).unwrap();
    }
    for message in task["history"].as_array().into_iter().flatten() {
        write!(line, " <{}", text(message)).unwrap();
    }
    line
}

/// The same answer everywhere, and this one.
#[track_caller]
fn same(answers: &[(String, String)], wanted: &str) {
    for (way, answer) in answers {
        assert_eq!(answer, wanted, "{way}");
    }
}

#[tokio::test]
async fn every_door_gives_the_same_answer() {
    let node = TestNode::start().await;
    let ended = node.anyone("echo").send("done").await["id"].as_str().unwrap().to_owned();
    let nobodys = baton::clock::new_id().to_string();
    let send = |text, task, at_once| Ask::Send { text, task, at_once };
    let get = |task: &String, history| Ask::Get { task: task.clone(), history };
    for (ask, wanted) in [
        (send("hello", None, false), "task COMPLETED \"hello\" <hello"),
        (send("hello", None, true), "task COMPLETED \"hello\" <hello"),
        (get(&ended, None), "task COMPLETED \"done\" <done"),
        (get(&ended, Some(0)), "task COMPLETED \"done\""),
        (get(&ended, Some(-1)), "refused: INVALID_PARAMS"),
        (get(&nobodys, None), "refused: TASK_NOT_FOUND"),
        (get(&"made-up".to_owned(), None), "refused: TASK_NOT_FOUND"),
        (Ask::Cancel { task: ended.clone() }, "refused: TASK_NOT_CANCELABLE"),
        (Ask::Cancel { task: nobodys.clone() }, "refused: TASK_NOT_FOUND"),
        (Ask::Subscribe { task: ended.clone() }, "refused: UNSUPPORTED_OPERATION"),
        (Ask::Subscribe { task: nobodys.clone() }, "refused: TASK_NOT_FOUND"),
        (send("more", Some(ended.clone()), false), "refused: UNSUPPORTED_OPERATION"),
        (send("more", Some(nobodys.clone()), false), "refused: TASK_NOT_FOUND"),
        (Ask::List { state: "INPUT_REQUIRED" }, "0 of 0: "),
        (Ask::List { state: "CANCELED" }, "0 of 0: "),
        (Ask::Nothing, "refused: INVALID_PARAMS"),
    ] {
        let mut answers = Vec::new();
        for way in ways(&node, "echo").into_iter().filter(|way| way.has_words_for(&ask)) {
            answers.push((format!("{} {ask:?}", way.name()), way.ask(&ask).await));
        }
        same(&answers, wanted);
    }
    node.finish().await;
}

/// The same, with somebody at work.
#[tokio::test]
async fn every_door_sees_the_work_alike() {
    let node = TestNode::start().await;
    for way in ways(&node, "script") {
        let asked = Ask::Send { text: "begin", task: None, at_once: false };
        let (shown, mut attempt) = tokio::join!(way.ask(&asked), async {
            let attempt = node.attempt("script").await;
            attempt.write("out", "so far").await;
            attempt.ask("which?").await;
            attempt
        });
        let waiting = "task INPUT_REQUIRED \"so far\" <begin";
        assert_eq!(shown, waiting, "{}", way.name());
        let task = attempt.task();
        let mut answers = Vec::new();
        for other in ways(&node, "script") {
            let get = Ask::Get { task: task.clone(), history: Some(1) };
            answers.push((other.name(), other.ask(&get).await));
            let list = Ask::List { state: "INPUT_REQUIRED" };
            if !other.has_words_for(&list) {
                continue;
            }
            assert!(other.ask(&list).await.starts_with("1 of 1: task INPUT_REQUIRED"), "{}", other.name());
        }
        let first = answers[0].1.clone();
        same(&answers, &first);
        let answer = Ask::Send { text: "this", task: Some(task), at_once: false };
        let (shown, ()) = tokio::join!(way.ask(&answer), async {
            assert_eq!(attempt.hears_message().await, "this");
            attempt.complete().await;
        });
        assert!(shown.starts_with("task COMPLETED \"so far\" <begin"), "{} {shown}", way.name());
    }
    node.finish().await;
}

/// Report 1: in each of its four ends, over every binding in every version, and no runner hears of it.
#[tokio::test]
async fn what_is_over_is_over_at_every_door() {
    let node = TestNode::start().await;
    let user = node.anyone("script");
    for end in ["COMPLETED", "FAILED", "REJECTED", "CANCELED"] {
        let id = user.hand_in("go").await;
        let attempt = node.attempt("script").await;
        match end {
            "COMPLETED" => attempt.complete().await,
            "FAILED" => attempt.fail("no").await,
            "REJECTED" => attempt.reject("never").await,
            _ => drop(tokio::join!(user.cancel(&id), attempt.stops())),
        }
        let before = user.get(&id).await;
        assert_eq!(user.state(&id).await, end);
        let more = |at_once| Ask::Send { text: "more", task: Some(id.clone()), at_once };
        for (ask, wanted) in [
            (more(false), "refused: UNSUPPORTED_OPERATION"),
            (more(true), "refused: UNSUPPORTED_OPERATION"),
            (Ask::Stream { task: id.clone() }, "refused: UNSUPPORTED_OPERATION"),
            (Ask::Subscribe { task: id.clone() }, "refused: UNSUPPORTED_OPERATION"),
            (Ask::Cancel { task: id.clone() }, "refused: TASK_NOT_CANCELABLE"),
        ] {
            for way in ways(&node, "script") {
                assert_eq!(way.ask(&ask).await, wanted, "{end}: {} {ask:?}", way.name());
            }
        }
        assert_eq!(user.get(&id).await, before, "{end}");
    }
    assert!(node.is_idle("script"), "no runner heard of it");
    node.finish().await;
}

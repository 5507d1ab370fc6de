//! The node dies between a receiver's answer and the commit that would say so.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Request, State};
use baton::crash;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::node::{PATIENCE, Place, Starting};
use super::trial::was_killed;

/// What was taken: the id and the sequence number of each, and a signal with each.
#[derive(Default)]
struct Taken {
    got: Mutex<Vec<(String, String)>>,
    more: Notify,
}

type Got = Arc<Taken>;

/// A receiver that takes everything.
async fn receiver() -> (String, Got) {
    let got = Got::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let router = Router::new().fallback(take).with_state(Arc::clone(&got));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (url, got)
}

async fn take(State(got): State<Got>, request: Request) {
    let of = |name: &str| request.headers()[name].to_str().unwrap().to_owned();
    got.got.lock().unwrap().push((of("webhook-id"), of("baton-event-sequence")));
    got.more.notify_one();
}

/// A proxy in the environment is nobody's way out; nothing listens there.
fn command(place: &Place) -> Command {
    let mut command = place.command();
    command.args(["--allow-net", "127.0.0.0/8"]);
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        command.env(name, "http://127.0.0.1:1");
    }
    command
}

#[tokio::test]
async fn what_was_not_settled_is_sent_again_under_the_same_id() {
    for passing in 1..=3 {
        let place = Place::new();
        let (url, got) = receiver().await;
        let mut dying = command(&place);
        dying.env("BATON_CRASH_AT", format!("{}:{passing}", crash::WEBHOOK_ANSWERED));
        let node = Starting::new(dying).ready().await.unwrap();
        let params = json!({
            "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]},
            "configuration": {"returnImmediately": true, "taskPushNotificationConfig": {"url": url}},
        });
        // Its answer may be lost with the node: what counts is what was owed.
        let _ = node.client().rpc("echo", "SendMessage", &params, None).await;
        was_killed(node.ended().await);
        let before = got.got.lock().unwrap().clone();
        assert_eq!(before.len(), passing);

        let node = Starting::new(command(&place)).ready().await.unwrap();
        let all = async {
            while got.got.lock().unwrap().len() < 4 {
                got.more.notified().await;
            }
        };
        timeout(PATIENCE, all).await.expect("the rest comes after the restart");
        let all = got.got.lock().unwrap().clone();
        let sequence: Vec<_> = all.iter().map(|(_, seq)| seq.as_str()).collect();
        let (told, again) = sequence.split_at(passing);
        assert_eq!(told, &["2", "3", "4"][..passing]);
        assert_eq!(again, &["2", "3", "4"][passing - 1..], "the last one comes again, the others do not");
        assert_eq!(all[passing - 1], all[passing], "under the same id");
        node.stop(&place).await;
    }
}

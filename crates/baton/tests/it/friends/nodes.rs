//! Two nodes, two binaries: one asks, the other's human decides, and what is lost on the way is fetched again.

use baton::crash;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::cli::{Desk, Ended, at_terminal, finish};
use crate::crash::{Node, PATIENCE, Place, Starting};
use crate::harness::{over_socket, until_within};

/// What both nodes are: out of dev mode, with one published agent.
const CONFIGURATION: &str = r#"
[node]
default_agent = "echo"
insecure = true

[net]
allow = ["127.0.0.0/8"]

[agents.echo]
publish = true
runner = { kind = "echo" }

[agents.hidden]
runner = { kind = "echo" }
"#;

/// One side: its folder, and who administers it.
struct Side {
    place: Place,
    desk: Desk,
}

impl Side {
    fn new() -> Self {
        Self { place: Place::with_configuration(CONFIGURATION), desk: Desk::new() }
    }

    fn command(&self) -> Command {
        let mut command = self.place.command();
        for name in ["HTTP_PROXY", "http_proxy"] {
            command.env(name, "http://127.0.0.1:1");
        }
        command
    }

    async fn start(&self) -> Node {
        Starting::new(self.command()).ready().await.expect("the node starts")
    }

    /// A command of `baton` at this node.
    async fn baton(&self, args: &[&str]) -> Ended {
        let data = self.place.data();
        finish(self.desk.command(&[args, &["--data-dir", data.to_str().unwrap()]].concat())).await
    }

    async fn json(&self, args: &[&str]) -> Value {
        self.baton(&[args, &["--json"]].concat()).await.json()
    }

    /// Asks the other node: the peer.
    async fn ask(&self, other: &Node) -> Value {
        let url = format!("http://{}/a2a/echo", other.address);
        self.json(&[
            "peers",
            "request",
            &url,
            "--verbs",
            "send,read,cancel",
            "--why",
            "to\u{1b}[31m try\nstate: approved",
        ])
        .await
    }

    /// The one request that waits here.
    async fn waiting(&self) -> Value {
        let listed = self.json(&["requests", "list", "--state", "pending"]).await;
        assert_eq!(listed["requests"].as_array().unwrap().len(), 1, "{listed}");
        listed["requests"][0].clone()
    }
}

/// Tokens and secrets of requests in the database's files, as far as more of them is there than their first characters.
fn secrets_on_disk(place: &Place) -> usize {
    let files =
        ["baton.db", "baton.db-wal"].map(|name| std::fs::read(place.data().join(name)).unwrap_or_default());
    assert!(files.iter().any(|file| file.len() > 4_096), "there is something to look at");
    let is_secret = |at: &[u8]| {
        let text = at.iter().skip(3).take_while(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte));
        (at.starts_with(b"bt_") || at.starts_with(b"fr_")) && text.count() > 20
    };
    files.iter().map(|file| (0..file.len()).filter(|at| is_secret(&file[*at..])).count()).sum()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value}"))
}

#[tokio::test]
async fn two_nodes_befriend_each_other() {
    let (asking, asked) = (Side::new(), Side::new());
    let (a, b) = (asking.start().await, asked.start().await);
    let peer = asking.ask(&b).await;
    let id = text(&peer["id"]);
    assert_eq!(peer["state"], "asked");
    let again = asking.baton(&["peers", "request", &format!("http://{}", b.address)]).await;
    assert_eq!((again.code, again.err.contains("asked already")), (3, true), "{again:?}");
    assert_eq!(asking.json(&["peers", "check", id]).await["state"], "asked", "nobody has decided");

    // The code that both show is the same, and no other approves.
    let request = asked.waiting().await;
    assert_eq!(request["code"], peer["code"]);
    let shown = asked.baton(&["requests", "show", text(&request["id"])]).await.ok();
    assert!(shown.contains("unsigned") && shown.contains("\n  | state: approved"), "{shown}");
    assert!(shown.contains(&format!("http://{}/a2a/echo", a.address)), "{shown}");
    let (folder, at) = (asked.place.data(), text(&request["id"]));
    let seen = at_terminal("", &["requests", "show", at, "--data-dir", folder.to_str().unwrap()]).await;
    assert!(seen.out.contains("to␛[31m try") && !seen.out.contains('\u{1b}'), "{seen:?}");
    let wrong = asked.baton(&["requests", "approve", text(&request["id"]), "--code", "00000-00000"]).await;
    assert_eq!(wrong.code, 3, "{wrong:?}");
    let dry = asked
        .baton(&["requests", "approve", text(&request["id"]), "--verbs", "send,read", "--dry-run"])
        .await;
    assert!(dry.ok().contains("- hand in tasks"));
    let code = text(&peer["code"]);
    let approve = ["requests", "approve", text(&request["id"]), "--code", code, "--verbs", "send,read"];
    asked.baton(&approve).await.ok();
    assert_eq!(asked.baton(&approve).await.code, 3, "decided once");

    let friend = asking.json(&["peers", "check", id]).await;
    assert_eq!((&friend["state"], &friend["granted"]["verbs"]), (&json!("friend"), &json!(["send", "read"])));
    let said = asking.json(&["peers", "send", id, "hello", "friend"]).await;
    let task = &said["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{said}");
    let seen = asked.json(&["task", "get", text(&task["id"])]).await;
    let grants = asked.json(&["grants", "list"]).await;
    assert_eq!((&seen["task"]["id"], &seen["owner"]["grant"]), (&task["id"], &grants["grants"][0]["id"]));
    assert!(grants["grants"][0]["lastUsedAt"].is_string(), "{grants}");
    let collected = asked.json(&["requests", "show", text(&request["id"])]).await;
    assert_eq!((&collected["grant"]["used"], &collected["grant"]["pickUps"]), (&json!(true), &json!(1)));

    // The way back is a request of its own; and an end of the grant is the end of the credential.
    let back = asked.ask(&a).await;
    let mirrored = asking.waiting().await;
    assert_eq!(mirrored["code"], back["code"]);
    let seen = asking.json(&["requests", "show", text(&mirrored["id"])]).await;
    assert_eq!(seen["look"]["card"]["atHome"], true);
    asking.baton(&["requests", "approve", text(&mirrored["id"])]).await.ok();
    assert_eq!(asked.json(&["peers", "check", text(&back["id"])]).await["state"], "friend");
    asked.baton(&["grants", "revoke", text(&grants["grants"][0]["id"])]).await.ok();
    let ended = asking.baton(&["peers", "check", id, "--json"]).await;
    let over: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((ended.code, &over["state"]), (3, &json!("ended")));
    for side in [&asking, &asked] {
        assert_eq!(secrets_on_disk(&side.place), 0, "sealed or hashed");
    }
    a.stop(&asking.place).await;
    b.stop(&asked.place).await;
}

/// The node looks by itself; nobody has to ask it to.
#[tokio::test]
async fn a_credential_is_fetched_without_being_asked_for() {
    let (asking, asked) = (Side::new(), Side::new());
    let (a, b) = (asking.start().await, asked.start().await);
    let peer = asking.ask(&b).await;
    asked.baton(&["requests", "approve", text(&asked.waiting().await["id"])]).await.ok();
    becomes(&asking, text(&peer["id"]), "friend").await;
    a.stop(&asking.place).await;
    b.stop(&asked.place).await;
}

/// Killed after the other side gave the credential and before it was kept: it is fetched again, and the first is void.
#[cfg(debug_assertions)]
#[tokio::test]
async fn a_node_that_dies_with_the_credential_in_its_hands_fetches_it_again() {
    let (asking, asked) = (Side::new(), Side::new());
    let b = asked.start().await;
    let mut dying = asking.command();
    dying.env("BATON_CRASH_AT", crash::PEER_PICKED_UP);
    let a = Starting::new(dying).ready().await.unwrap();
    let peer = asking.ask(&b).await;
    let request = asked.waiting().await;
    asked.baton(&["requests", "approve", text(&request["id"])]).await.ok();
    asking.baton(&["peers", "check", text(&peer["id"])]).await;
    a.ended().await;
    let picked = asked.json(&["requests", "show", text(&request["id"])]).await;
    assert_eq!((&picked["grant"]["pickUps"], &picked["grant"]["used"]), (&json!(1), &json!(false)));

    let a = asking.start().await;
    assert_eq!(asking.json(&["peers", "check", text(&peer["id"])]).await["state"], "friend");
    let said = asking.json(&["peers", "send", text(&peer["id"]), "hello"]).await;
    assert_eq!(said["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    let picked = asked.json(&["requests", "show", text(&request["id"])]).await;
    assert_eq!((&picked["grant"]["pickUps"], &picked["grant"]["used"]), (&json!(2), &json!(true)));
    let grant = asked.json(&["grants", "show", text(&picked["grant"]["id"])]).await;
    assert_eq!(grant["credentials"].as_array().unwrap().len(), 1, "the lost one is void");
    a.stop(&asking.place).await;
    b.stop(&asked.place).await;
}

#[tokio::test]
async fn a_denial_is_heard_and_what_cannot_be_asked_is_said() {
    let (asking, asked) = (Side::new(), Side::new());
    let (a, b) = (asking.start().await, asked.start().await);
    let peer = asking.ask(&b).await;
    asked.baton(&["requests", "deny", text(&asked.waiting().await["id"])]).await.ok();
    let checked = asking.baton(&["peers", "check", text(&peer["id"])]).await;
    assert!(checked.code == 3 && checked.out.contains("denied"), "{checked:?}");
    let sent = asking.baton(&["peers", "send", text(&peer["id"]), "x"]).await;
    assert!(sent.code == 3 && sent.err.contains("no credential"), "{sent:?}");
    asking.baton(&["peers", "forget", text(&peer["id"])]).await.ok();
    assert_eq!(asking.json(&["peers", "list"]).await, json!({"peers": []}));

    let hidden = format!("http://{}/a2a/hidden", b.address);
    let to_hidden = asking.baton(&["peers", "request", &hidden]).await;
    assert!(to_hidden.code == 3 && to_hidden.err.contains("no agent card"), "{to_hidden:?}");
    let url = format!("http://{}", b.address);
    let for_hidden = asking.baton(&["peers", "request", &url, "--agent", "hidden"]).await;
    assert!(for_hidden.code == 3 && for_hidden.err.contains("no such agent"), "{for_hidden:?}");
    let as_hidden = asking.baton(&["peers", "request", &url, "--as", "hidden"]).await;
    assert!(as_hidden.code == 3 && as_hidden.err.contains("publish"), "{as_hidden:?}");
    let nobody = asking.baton(&["peers", "request", "http://127.0.0.1:1"]).await;
    assert_eq!(nobody.code, 3, "{nobody:?}");
    a.stop(&asking.place).await;
    b.stop(&asked.place).await;
}

async fn becomes(side: &Side, id: &str, state: &str) {
    let (socket, path) = (side.place.data().join("baton.sock"), format!("/api/v1/peers/{id}"));
    let look = async || over_socket(&socket, "GET", &path, None).await.ok()["state"] == state;
    // The next look of the node itself comes after a quarter of a minute.
    until_within(PATIENCE, &format!("{id} is {state} by itself"), look).await;
}

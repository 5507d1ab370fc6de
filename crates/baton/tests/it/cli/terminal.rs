//! `baton send` at a terminal: it asks there, and nothing that an agent says can drive the terminal.

use serde_json::json;

use super::{Desk, Ended, finish};
use crate::script::{Server, artifact, card, events, ok, piece, sse, status_update, task};

/// Runs a command behind a pseudo-terminal, types one line after each `> `, and prints all that the terminal saw.
const TERMINAL: &str = r#"
import os, pty, sys
answers = sys.argv[1].split("|")
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
seen = b""
asked = 0
while True:
    try:
        piece = os.read(fd, 65536)
    except OSError:
        break
    if not piece:
        break
    seen += piece
    if seen.count(b"> ") > asked and asked < len(answers):
        os.write(fd, answers[asked].encode() + b"\n")
        asked += 1
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(seen)
sys.exit(os.waitstatus_to_exitcode(status))
"#;

/// A command at a terminal; what is typed after each prompt stands between bars.
pub async fn at_terminal(typed: &str, args: &[&str]) -> Ended {
    let desk = Desk::new();
    let mut command = tokio::process::Command::new("python3");
    command.args(["-c", TERMINAL, typed, env!("CARGO_BIN_EXE_baton")]).args(args);
    command.current_dir(desk.path()).kill_on_drop(true);
    finish(command).await
}

async fn send_typing(typed: &str, server: &Server) -> Ended {
    at_terminal(typed, &["send", &server.url, "hello"]).await
}

#[tokio::test]
async fn what_the_agent_asks_is_asked_at_the_terminal() {
    let server = Server::start(|url, asked, before| {
        if asked.line.starts_with("GET") {
            return ok(&card(url, &[("JSONRPC", "1.0")], true));
        }
        let question = |id: &str, text: &str| {
            json!({"task": {"id": "t1", "contextId": "c1", "status": {"state": "TASK_STATE_INPUT_REQUIRED",
                "message": {"messageId": id, "role": "ROLE_AGENT", "parts": [{"text": text}]}}}})
        };
        let items = match before {
            0 => vec![(None, question("q1", "Name\u{1b}[2J?"))],
            1 => vec![(None, question("q2", "Place?"))],
            _ => vec![
                (None, task("WORKING", &json!([artifact("hi \u{1b}]0;x\u{7}you")]))),
                (None, status_update("COMPLETED")),
            ],
        };
        sse(events(&items), false)
    })
    .await;
    let ended = send_typing("Ada|Paris", &server).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.out.contains("input required: Name␛[2J?") && ended.out.contains("Place?"), "{ended:?}");
    assert!(ended.out.contains("hi ␛]0;x␇you"), "{ended:?}");
    assert!(!ended.out.contains('\u{1b}'), "{ended:?}");
    let said = server.asked_for("POST / SendStreamingMessage");
    let answers: Vec<_> = said.iter().map(|asked| asked.json()["params"]["message"].clone()).collect();
    assert_eq!(answers[1]["parts"], json!([{"text": "Ada"}]));
    assert_eq!((&answers[2]["taskId"], &answers[2]["contextId"]), (&json!("t1"), &json!("c1")));
    assert_eq!(answers.len(), 3);
}

/// An agent that wants its owner to sign in somewhere, and goes on once that is done.
async fn gate() -> Server {
    Server::start(|url, asked, before| {
        if asked.line.starts_with("GET") {
            return ok(&card(url, &[("JSONRPC", "1.0")], true));
        }
        let wanted = json!({"task": {"id": "t1", "contextId": "c1", "status": {"state": "TASK_STATE_AUTH_REQUIRED",
            "message": {"messageId": "q", "role": "ROLE_AGENT", "parts": [{"text": "Sign in at idp.example"}]}}}});
        let rest = [status_update("WORKING"), piece("welcome", false), status_update("COMPLETED")];
        let rest = rest.into_iter().zip(3..).map(|(item, id)| (Some(id), item));
        let items: Vec<_> = match (asked.line.as_str(), before) {
            ("POST / SendStreamingMessage", 0) => vec![(Some(2), wanted)],
            ("POST / SubscribeToTask", 0) => [(Some(2), wanted)].into_iter().chain(rest).collect(),
            _ => [(Some(3), task("WORKING", &json!([])))].into_iter().chain(rest.skip(1)).collect(),
        };
        sse(events(&items), false)
    })
    .await
}

/// Signed in elsewhere: an empty line waits for the agent to go on, and says nothing to it.
#[tokio::test]
async fn an_empty_line_waits_for_what_is_done_elsewhere() {
    let server = gate().await;
    let ended = send_typing("", &server).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.out.contains("authentication required: Sign in at idp.example"), "{ended:?}");
    assert!(ended.out.contains("welcome"), "{ended:?}");
    assert_eq!(server.asked_for("POST / SendStreamingMessage").len(), 1, "nothing was said");
    let resumed = server.asked_for("POST / SubscribeToTask");
    assert_eq!((resumed.len(), resumed[0].header("last-event-id")), (1, Some("2")));
}

/// A code that the agent wants to hear is said to it, as an answer is.
#[tokio::test]
async fn a_typed_credential_is_an_answer() {
    let server = gate().await;
    let ended = send_typing("code 123", &server).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.out.contains("welcome"), "{ended:?}");
    let said = server.asked_for("POST / SendStreamingMessage");
    let answer = &said[1].json()["params"]["message"];
    assert_eq!((&answer["parts"], &answer["taskId"]), (&json!([{"text": "code 123"}]), &json!("t1")));
    assert_eq!(server.asked_for("POST / SubscribeToTask").len(), 0);
}

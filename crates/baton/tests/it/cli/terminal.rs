//! `baton send` at a terminal: it asks there, and nothing that an agent says can drive the terminal.

use serde_json::json;

use super::{Desk, finish};
use crate::script::{Server, artifact, card, events, ok, sse, status_update, task};

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
    let desk = Desk::new();
    let mut command = tokio::process::Command::new("python3");
    command.args(["-c", TERMINAL, "Ada|Paris", env!("CARGO_BIN_EXE_baton"), "send", &server.url, "hello"]);
    command.current_dir(desk.path()).kill_on_drop(true);
    let ended = finish(command).await;
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

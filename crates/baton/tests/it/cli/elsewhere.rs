//! Commands against servers that are not ours: what is printed where, exit codes, and streams that break.

use http::Response;
use serde_json::{Value, json};

use super::Desk;
use crate::script::{
    Asked, Server, artifact, card, error, events, nothing, ok, piece, result, sse, status, status_update,
    task,
};

/// An agent at the origin that streams; `answer` is asked for everything but the card.
async fn agent(
    streaming: bool,
    answer: impl Fn(&Asked, usize) -> Response<axum::body::Body> + Send + Sync + 'static,
) -> Server {
    Server::start(move |url, asked, before| match asked.line.as_str() {
        "GET /.well-known/agent-card.json" => ok(&card(url, &[("JSONRPC", "1.0")], streaming)),
        _ => answer(asked, before),
    })
    .await
}

fn method(asked: &Asked) -> &str {
    asked.line.rsplit(' ').next().unwrap()
}

#[tokio::test]
async fn a_stream_that_breaks_is_resumed_after_the_last_event() {
    let server = agent(true, |asked, before| match (method(asked), before) {
        ("SendStreamingMessage", _) => sse(
            events(&[
                (Some(1), task("SUBMITTED", &json!([]))),
                (Some(2), status_update("WORKING")),
                (Some(3), piece("one ", false)),
            ]),
            true,
        ),
        ("SubscribeToTask", 0) => status(503, &json!({})),
        // As our own node resumes: the task as of then without its artifacts, then what came after.
        ("SubscribeToTask", _) => sse(
            events(&[
                (Some(3), json!({"task": {"id": "t1", "contextId": "c1", "status": {"state": "TASK_STATE_WORKING"}}})),
                (Some(4), piece("two", true)),
                (Some(5), status_update("COMPLETED")),
            ]),
            false,
        ),
        _ => nothing(),
    })
    .await;
    let sent = Desk::new().run(&["send", &server.url, "hello"]).await;
    assert_eq!((sent.code, sent.out.as_str()), (0, "one two\n"), "{}", sent.err);
    assert_eq!(sent.err, "task t1\nsubmitted\nworking\ncompleted\n");
    let resumed = server.asked_for("POST / SubscribeToTask");
    assert!(resumed.iter().all(|asked| asked.header("last-event-id") == Some("3")), "{resumed:?}");
    assert_eq!(server.asked_for("POST / SendStreamingMessage").len(), 1, "nothing is sent twice");
}

#[tokio::test]
async fn a_snapshot_repeats_nothing_that_was_printed() {
    let server = agent(true, |asked, _| match method(asked) {
        "SendStreamingMessage" => {
            sse(events(&[(None, task("WORKING", &json!([]))), (None, piece("one ", false))]), false)
        }
        "SubscribeToTask" => sse(
            events(&[
                (None, task("WORKING", &json!([artifact("one two ")]))),
                (None, piece("three", true)),
                (None, status_update("COMPLETED")),
            ]),
            false,
        ),
        _ => nothing(),
    })
    .await;
    let sent = Desk::new().run(&["send", &server.url, "hello"]).await;
    assert_eq!((sent.code, sent.out.as_str()), (0, "one two three\n"), "{}", sent.err);
    assert_eq!(server.asked_for("POST / SubscribeToTask")[0].header("last-event-id"), None);
}

#[tokio::test]
async fn where_subscribing_is_not_offered_the_task_is_asked_for() {
    let server = agent(true, |asked, before| match (method(asked), before) {
        ("SendStreamingMessage", _) => sse(events(&[(None, task("WORKING", &json!([])))]), true),
        ("SubscribeToTask", _) => error(asked, -32004, "not here"),
        ("GetTask", 0) => result(asked, &task("WORKING", &json!([artifact("one ")]))["task"]),
        ("GetTask", _) => result(asked, &task("COMPLETED", &json!([artifact("one two")]))["task"]),
        _ => nothing(),
    })
    .await;
    let sent = Desk::new().run(&["send", &server.url, "hello"]).await;
    assert_eq!((sent.code, sent.out.as_str()), (0, "one two\n"), "{}", sent.err);
}

#[tokio::test]
async fn an_agent_that_does_not_stream_is_waited_for() {
    let server = agent(false, |asked, _| match method(asked) {
        "SendMessage" => result(asked, &task("COMPLETED", &json!([artifact("done")]))),
        _ => nothing(),
    })
    .await;
    let sent = Desk::new().run(&["send", &server.url, "hello", "there"]).await;
    assert_eq!((sent.code, sent.out.as_str()), (0, "done\n"), "{}", sent.err);
    let asked = server.asked_for("POST")[0].json();
    assert_eq!(asked["params"]["message"]["parts"], json!([{"text": "hello there"}]));
    assert_eq!(asked["params"]["message"]["role"], "ROLE_USER");
}

type Answer = fn(&Asked, usize) -> Response<axum::body::Body>;

#[tokio::test]
async fn exit_codes_tell_what_happened() {
    let desk = Desk::new();
    let cases: [(&str, Answer, i32); 7] = [
        ("invalid parameters", |asked, _| error(asked, -32602, "no"), 3),
        ("no credentials", |_, _| status(401, &json!({"error": {"message": "who?"}})), 3),
        ("failed", |_, _| sse(events(&[(None, task("FAILED", &json!([])))]), false), 5),
        ("rejected", |_, _| sse(events(&[(None, task("REJECTED", &json!([])))]), false), 5),
        ("canceled", |_, _| sse(events(&[(None, task("CANCELED", &json!([])))]), false), 5),
        ("not A2A", |_, _| ok(&json!({"hello": "world"})), 1),
        ("nothing said", |_, _| sse(Vec::new(), false), 1),
    ];
    for (what, answer, code) in cases {
        let server = agent(true, answer).await;
        let sent = desk.run(&["send", &server.url, "hello"]).await;
        assert_eq!(sent.code, code, "{what}: {sent:?}");
        assert_eq!(sent.out, "", "{what}: results only on standard output");
        assert!(!sent.err.is_empty(), "{what}");
    }
    for (args, code) in [
        (&["send", "http://127.0.0.1:1", "hello"][..], 4),
        (&["send", "ftp://x", "hello"], 2),
        (&["send", "http://127.0.0.1:1", "--data", "{"], 2),
        (&["send", "http://127.0.0.1:1", "--file", "missing"], 2),
        (&["send", "http://127.0.0.1:1", "-", "--file", "-"], 2),
        (&["send", "http://127.0.0.1:1", "x", "--token", "a b"], 2),
        (&["send"], 2),
        (&["sned", "x"], 2),
        (&["agents"], 4),
        (&["--version"], 0),
        (&["completions", "fish"], 0),
    ] {
        let ended = desk.run(args).await;
        assert_eq!(ended.code, code, "{args:?}: {ended:?}");
    }
}

#[tokio::test]
async fn a_message_is_an_answer_too() {
    let reply = json!({"message": {"messageId": "r", "role": "ROLE_AGENT", "parts": [{"text": "hi"}, {"data": 3.0}]}});
    let server = agent(true, move |_, _| sse(events(&[(None, reply.clone())]), false)).await;
    let sent = Desk::new().run(&["send", &server.url, "hello"]).await;
    assert_eq!((sent.code, sent.out.as_str()), (0, "hi\n3.0\n"), "{}", sent.err);
}

#[tokio::test]
async fn a_question_without_a_terminal_is_the_result_and_the_way_to_answer_is_shown() {
    let question = json!({"task": {"id": "t1", "contextId": "c1", "status": {"state": "TASK_STATE_INPUT_REQUIRED",
        "message": {"messageId": "q", "role": "ROLE_AGENT", "parts": [{"text": "Which one?"}]}}}});
    let server = agent(true, move |_, _| sse(events(&[(None, question.clone())]), false)).await;
    let sent = Desk::new().run(&["send", &server.url, "hello"]).await;
    assert_eq!((sent.code, sent.out.as_str()), (0, "Which one?\n"), "{}", sent.err);
    assert!(
        sent.err.ends_with(&format!("answer with: baton task answer t1 --url {} TEXT\n", server.url)),
        "{}",
        sent.err
    );
}

#[tokio::test]
async fn a_task_left_alone_is_named() {
    let server = agent(true, |asked, _| result(asked, &task("WORKING", &json!([])))).await;
    let sent = Desk::new().run(&["send", "--async", &server.url, "hello"]).await;
    assert_eq!((sent.code, sent.out.as_str()), (0, "t1\n"), "{}", sent.err);
    assert!(sent.err.contains(&format!("baton task watch t1 --url {}", server.url)), "{}", sent.err);
    let asked = server.asked_for("POST / SendMessage")[0].json();
    assert_eq!(asked["params"]["configuration"]["returnImmediately"], true);
}

#[tokio::test]
async fn a_task_that_takes_too_long_is_left_with_the_way_back() {
    let server = agent(true, |_, _| {
        use futures_util::StreamExt as _;
        let first = events(&[(Some(1), task("WORKING", &json!([])))]).concat();
        let pending = futures_util::stream::pending::<std::io::Result<bytes::Bytes>>();
        let body = futures_util::stream::iter([Ok(bytes::Bytes::from(first))]).chain(pending);
        let response = Response::builder().header("content-type", "text/event-stream");
        response.body(axum::body::Body::from_stream(body)).unwrap()
    })
    .await;
    let sent = Desk::new().run(&["send", "--timeout", "300ms", &server.url, "hello"]).await;
    assert_eq!(sent.code, 1);
    assert!(sent.err.contains("resume with: baton task watch t1 --url"), "{}", sent.err);
}

#[tokio::test]
async fn json_is_one_line_for_every_item() {
    let items = [
        (Some(1), task("WORKING", &json!([]))),
        (Some(2), piece("x", false)),
        (Some(3), status_update("COMPLETED")),
    ];
    let server = agent(true, move |_, _| sse(events(&items), false)).await;
    let sent = Desk::new().run(&["send", "--json", &server.url, "hello"]).await.ok();
    let lines: Vec<Value> = sent.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[1]["artifactUpdate"]["artifact"]["parts"], json!([{"text": "x"}]));
}

#[tokio::test]
async fn files_and_data_arrive_as_they_are() {
    let server = agent(false, |asked, _| result(asked, &task("COMPLETED", &json!([])))).await;
    let desk = Desk::new();
    std::fs::write(desk.path().join("notes.md"), "# hi").unwrap();
    let args = [
        "send",
        &server.url,
        "--file",
        "notes.md",
        "--data",
        "{\"n\": 9007199254740993, \"f\": 3.0}",
        "--file",
        "-",
    ];
    desk.run_with("\u{0}\u{1}", &args).await.ok();
    let asked = &server.asked_for("POST")[0];
    assert!(asked.body.contains("{\"n\":9007199254740993,\"f\":3.0}"), "{}", asked.body);
    let parts = asked.json()["params"]["message"]["parts"].clone();
    assert_eq!(parts[0], json!({"raw": "IyBoaQ==", "filename": "notes.md", "mediaType": "text/markdown"}));
    assert_eq!(parts[1], json!({"raw": "AAE=", "mediaType": "application/octet-stream"}));
    desk.run_with("piped in\n", &["send", &server.url]).await.ok();
    let asked = server.asked_for("POST")[1].json();
    assert_eq!(asked["params"]["message"]["parts"], json!([{"text": "piped in\n"}]));
}

#[tokio::test]
async fn nobody_reading_is_no_panic() {
    let server =
        agent(true, |_, _| sse(events(&[(None, task("COMPLETED", &json!([artifact("x")])))]), false)).await;
    let desk = Desk::new();
    for args in [
        &["send", &server.url, "x"][..],
        &["card", "show", &server.url],
        &["--help"],
        &["completions", "zsh"],
    ] {
        let mut command = desk.command(args);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        command.stdout(writer);
        let ended = super::finish(command).await;
        assert_eq!(ended.code, 0, "{args:?}: {ended:?}");
        assert!(!ended.err.contains("panic"), "{args:?}: {ended:?}");
    }
}

#[tokio::test]
async fn tokens_come_from_flag_environment_or_file_and_are_never_shown() {
    let server = agent(false, |asked, _| match asked.header("authorization") {
        Some("Bearer s3cret") => result(asked, &task("COMPLETED", &json!([artifact("ok")]))),
        _ => status(401, &json!({"error": {"message": "who?"}})),
    })
    .await;
    let desk = Desk::new();
    std::fs::write(desk.path().join("token"), "s3cret\n").unwrap();
    let mut by_environment = desk.command(&["send", &server.url, "x"]);
    by_environment.env("BATON_TOKEN", "s3cret");
    for ended in [
        super::finish(by_environment).await,
        desk.run(&["send", &server.url, "x", "--token-file", "token"]).await,
        desk.run(&["send", &server.url, "x", "--token", "s3cret"]).await,
    ] {
        assert!(!ended.err.contains("s3cret"), "{ended:?}");
        assert_eq!(ended.ok(), "ok\n");
    }
    assert_eq!(desk.run(&["send", &server.url, "x"]).await.code, 3);
}

#[tokio::test]
async fn a_card_is_shown_whole() {
    let server = Server::start(|url, _, _| {
        let mut card = card(url, &[("JSONRPC", "1.0")], true);
        card["unheardOf"] = json!({"n": 3});
        ok(&card)
    })
    .await;
    let desk = Desk::new();
    let card = desk.run(&["card", "show", &server.url, "--json"]).await.json();
    assert_eq!(card["unheardOf"], json!({"n": 3}));
    let text = desk.run(&["card", "show", &server.url]).await.ok();
    assert!(
        text.starts_with("scripted 1\nAs written\n")
            && text.contains(&format!("JSONRPC 1.0: {}", server.url)),
        "{text}"
    );
}

#[tokio::test]
async fn tasks_of_an_agent_are_got_listed_and_cancelled() {
    let server = agent(true, |asked, _| match method(asked) {
        "GetTask" => result(asked, &task("COMPLETED", &json!([artifact("x")]))["task"]),
        "ListTasks" => {
            let task = task("WORKING", &json!([]));
            result(
                asked,
                &json!({"tasks": [task["task"]], "nextPageToken": "p2", "pageSize": 1, "totalSize": 7}),
            )
        }
        "CancelTask" => result(asked, &task("CANCELED", &json!([]))["task"]),
        _ => nothing(),
    })
    .await;
    let desk = Desk::new();
    let url = server.url.as_str();
    assert_eq!(desk.run(&["task", "get", "t1", "--url", url]).await.ok(), "x\n");
    let got = desk.run(&["task", "get", "t1", "--url", url, "--json"]).await.json();
    assert_eq!(got["id"], "t1");
    let listed =
        desk.run(&["task", "list", "--url", url, "--state", "input-required", "--page-size", "1"]).await;
    assert!(listed.out.contains("t1  working"), "{listed:?}");
    assert!(listed.err.contains("--page-token p2"), "{listed:?}");
    let asked = server.asked_for("POST / ListTasks")[0].json();
    assert_eq!(asked["params"], json!({"status": "TASK_STATE_INPUT_REQUIRED", "pageSize": 1}));
    assert_eq!(desk.run(&["task", "cancel", "t1", "--url", url]).await.ok(), "canceled\n");
}

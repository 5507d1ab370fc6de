//! The `text` protocol.

use std::time::{Duration, Instant};

use baton::runner::process::settings::Protocol;
use baton::runner::{Fact, Refused, Signal};
use baton_core::json::Json;
use baton_core::model::{Base64, Content, Message, Part, Role};
use baton_core::task::{Reason, Request};

use super::{Agent, Order, failure, is_artifact, settings, soon, user, written};

fn agent(script: &str) -> Agent {
    Agent::new(settings(Protocol::Text, script))
}

#[tokio::test]
async fn the_message_goes_in_and_the_artifact_comes_out() {
    let agent = agent("printf 'you said: '; cat");
    let mut message = user("one");
    message.parts.push(Part::text("zwei ü"));
    let history = vec![user("earlier"), Message::text(Role::Agent, "a", "who?"), message];
    let facts = agent.run(Order { history, ..Order::default() }).await;
    assert_eq!(written(&facts), "you said: one\nzwei ü");
    assert_eq!(facts.last(), Some(&Fact::Complete(None)));
}

#[tokio::test]
async fn an_empty_answer_makes_no_artifact() {
    assert_eq!(agent("true").say("x").await, [Fact::Complete(None)]);
}

#[tokio::test]
async fn the_child_knows_its_task() {
    let facts = agent("echo $BATON_AGENT $BATON_CONTEXT_ID $BATON_ATTEMPT ${#BATON_TASK_ID}").say("x").await;
    assert_eq!(written(&facts), "agent c 1 36\n");
}

#[tokio::test]
async fn the_child_knows_what_its_caller_wants() {
    let script = "echo ${BATON_EXTENSIONS-none}; echo ${BATON_ACCEPT-none}";
    let agent = agent(script);
    assert_eq!(written(&agent.say("x").await), "none\nnone\n");
    let odd = ["a\0b", "c d", "", "e,f"].map(str::to_owned);
    let request = Request {
        extensions: vec!["urn:a".to_owned(), "urn:b".to_owned()],
        accepted_output_modes: [&["text/plain".to_owned()], &odd[..], &["image/*".to_owned()]].concat(),
        ..Request::default()
    };
    let facts = agent.run(Order { request, ..Order::default() }).await;
    assert_eq!(written(&facts), "urn:a,urn:b\ntext/plain,image/*\n");
    let request = Request { accepted_output_modes: vec!["x".repeat(1_000); 1_000], ..Request::default() };
    let facts = agent.run(Order { request, ..Order::default() }).await;
    assert!(written(&facts).len() < 5_000, "a caller cannot fill a child's environment");
}

#[tokio::test]
async fn files_lie_in_a_folder_while_the_child_runs() {
    let script = "cd \"$BATON_FILES\" && echo \"$PWD\" && stat -c %a . && for f in *; do echo \"$f: $(cat \"$f\")\"; done";
    let agent = agent(script);
    let mut message = user("what is this?");
    let part = |content, filename: Option<&str>| Part {
        content,
        filename: filename.map(str::to_owned),
        ..Part::text("")
    };
    message.parts.extend([
        part(Content::Raw(Base64::encode(b"bytes")), Some("../../etc/a.bin")),
        part(Content::Data(Json::parse("{\"n\": 3.0}").unwrap()), None),
        part(Content::Url("https://example.com/x".to_owned()), Some("x.pdf")),
        part(Content::Raw(Base64::encode(b"more")), None),
    ]);
    let facts = agent.run(Order { history: vec![message], ..Order::default() }).await;
    let said = written(&facts);
    let (folder, rest) = said.split_once('\n').unwrap();
    let expected =
        "700\n2-a.bin: bytes\n3-data.json: {\"n\":3.0}\n4-x.pdf.url: https://example.com/x\n5-file: more\n";
    assert_eq!(rest, expected);
    assert!(!std::path::Path::new(folder).exists(), "{folder} goes with the child");
}

#[tokio::test]
async fn a_message_of_text_needs_no_folder() {
    assert_eq!(written(&agent("echo ${BATON_FILES-none}").say("x").await), "none\n");
}

#[tokio::test]
async fn output_streams_while_it_is_produced() {
    let agent = agent("echo first; read line; echo second");
    let attempt = agent.start(Order::default());
    attempt.until(is_artifact).await;
    assert_eq!(written(&attempt.end().await), "first\nsecond\n");
}

#[tokio::test]
async fn a_failure_shows_the_end_of_standard_error() {
    let (reason, words, again) = failure(&agent("echo half; echo no such name >&2; exit 64").say("x").await);
    assert_eq!((reason, again), (Reason::Failed, false));
    assert_eq!(words, "The agent ended without a result: exit status 64.\nno such name");
}

#[tokio::test]
async fn some_failures_are_tried_again() {
    let (reason, _, again) = failure(&agent("exit 75").say("x").await);
    assert_eq!((reason, again), (Reason::Transient, true));
    let (reason, words, again) = failure(&agent("kill -SEGV $$").say("x").await);
    assert_eq!((reason, again), (Reason::Crashed, true));
    assert!(words.contains("SIGSEGV"), "{words}");
}

#[tokio::test]
async fn what_cannot_start_is_not_tried_again() {
    let mut settings = settings(Protocol::Text, "");
    settings.spec.command = vec!["/no/such/agent".into()];
    let (reason, words, again) = failure(&Agent::new(settings).say("x").await);
    assert_eq!((reason, again), (Reason::Crashed, false));
    assert!(words.starts_with("The agent could not be started: /no/such/agent: No such file"), "{words}");
}

#[tokio::test]
async fn a_large_message_and_a_large_answer_pass_without_a_jam() {
    let text = "0123456789".repeat(200_000);
    let facts = agent("cat").say(&text).await;
    assert!(written(&facts) == text, "two megabytes come back");
    let pieces = facts.iter().filter(|fact| is_artifact(fact)).count();
    assert!(pieces < 100, "{pieces} pieces");
}

#[tokio::test]
async fn a_child_that_does_not_read_is_no_fault() {
    let facts = agent("echo done").say(&"x".repeat(1_000_000)).await;
    assert_eq!((written(&facts).as_str(), facts.last()), ("done\n", Some(&Fact::Complete(None))));
}

#[tokio::test]
async fn standard_error_may_flood() {
    let facts = agent("head -c 5000000 /dev/zero | tr '\\0' x >&2; echo done").say("x").await;
    assert_eq!(facts.last(), Some(&Fact::Complete(None)));
}

#[tokio::test]
async fn a_flood_ends_where_the_task_is_full() {
    let agent = agent("yes");
    let full: fn(&Fact) -> bool = |fact| matches!(fact, Fact::Artifact(chunk) if chunk.append);
    let why = Refused::Invalid("the task's artifacts have more than 64 MiB".into());
    let (reason, words, _) = failure(&agent.start_refusing(Order::default(), Some((full, why))).end().await);
    assert_eq!(reason, Reason::InvalidAgentResponse);
    assert!(words.contains("more than 64 MiB"), "{words}");
}

#[tokio::test]
async fn cancelled_means_gone() {
    let agent = agent("trap 'exit 0' TERM; echo $$; while :; do sleep 0.05; done");
    let attempt = agent.start(Order::default());
    attempt.until(is_artifact).await;
    let start = Instant::now();
    attempt.signal(Signal::Cancel).await;
    let facts = attempt.end().await;
    assert_eq!(facts.last(), Some(&Fact::Canceled));
    assert!(start.elapsed() > Duration::from_secs(4), "SIGTERM comes after five seconds");
    let pid = written(&facts);
    assert!(!std::path::Path::new(&format!("/proc/{}", pid.trim())).exists(), "{pid} is left");
}

#[tokio::test]
async fn a_deadline_ends_it() {
    let order = Order { deadline: Some(soon(Duration::from_millis(300))), ..Order::default() };
    let (reason, words, again) = failure(&agent("echo begun; exec sleep 1000").run(order).await);
    assert_eq!((reason, again), (Reason::Deadline, false));
    assert!(words.contains("deadline"), "{words}");
}

#[tokio::test]
async fn a_lost_task_is_not_spoken_of() {
    let attempt = agent("echo begun; exec sleep 1000").start(Order::default());
    attempt.until(is_artifact).await;
    attempt.signal(Signal::Lost).await;
    let facts = attempt.end().await;
    assert!(facts.iter().all(is_artifact), "{facts:?}");
}

#[tokio::test]
async fn a_stopping_node_gives_the_task_back() {
    let attempt = agent("echo begun; exec sleep 1000").start(Order::default());
    attempt.until(is_artifact).await;
    attempt.signal(Signal::Drain).await;
    attempt.signal(Signal::Stop).await;
    assert_eq!(attempt.end().await.last(), Some(&Fact::Released));
}

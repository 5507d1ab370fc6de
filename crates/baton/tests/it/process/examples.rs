//! The examples that users copy, run as they stand.

use std::path::Path;
use std::sync::Arc;

use baton::runner::process::settings::{Protocol, Settings};
use baton::runner::process::spec::Spec;
use baton::runner::{Fact, Signal};
use baton_core::model::{Message, Part, Role};

use super::{Agent, Order, failure, is_ask, user, written};

fn example(protocol: Protocol, name: &str) -> Agent {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let spec = Spec { command: vec![format!("./{name}")], dir: Some(dir), ..Spec::default() };
    Agent::new(Settings::new(protocol, spec))
}

async fn conformance(id: &str) -> Vec<Fact> {
    let agent = example(Protocol::Jsonl, "tck/agent.py");
    let message = Message::text(Role::User, id, "x");
    let facts = agent.run(Order { history: vec![message], ..Order::default() }).await;
    agent.close().await;
    facts
}

#[tokio::test]
async fn hello_greets() {
    let agent = example(Protocol::Text, "hello.sh");
    assert_eq!(written(&agent.say("Ada").await), "Hello, Ada.\n");
    assert!(failure(&agent.say("").await).1.ends_with("Tell me your name."));
}

#[tokio::test]
async fn clock_tells_the_time() {
    let agent = example(Protocol::Jsonl, "clock.sh");
    let facts = agent.say("?").await;
    assert!(baton_core::time::Timestamp::parse(&written(&facts)).is_some(), "{facts:?}");
    agent.close().await;
}

#[tokio::test]
async fn echo_echoes() {
    let agent = example(Protocol::Jsonl, "echo.py");
    assert_eq!(written(&agent.say("grüße").await), "grüße");
    agent.close().await;
}

#[tokio::test]
async fn survey_asks_and_reports() {
    let agent = example(Protocol::Jsonl, "survey.py");
    let attempt = agent.start(Order::default());
    for (asked, answer) in ["Ada", "Engines", "Cards"].into_iter().enumerate() {
        attempt.until_count(asked + 1, is_ask).await;
        attempt.signal(Signal::Message(Arc::new(user(answer)))).await;
    }
    let facts = attempt.end().await;
    assert!(written(&facts).contains("**What slows you down?** Cards"), "{facts:?}");
    assert!(matches!(facts.last(), Some(Fact::Complete(Some(_)))));
    let attempt = agent.start(Order::default());
    attempt.until(is_ask).await;
    attempt.signal(Signal::Cancel).await;
    assert_eq!(attempt.end().await.last(), Some(&Fact::Canceled));
    agent.close().await;
}

#[tokio::test]
async fn survey_goes_on_in_another_process() {
    let agent = example(Protocol::Jsonl, "survey.py");
    let agent_said = Message::text(Role::Agent, "q", "What is your name?");
    let history = vec![
        user("go"),
        agent_said.clone(),
        user("Ada"),
        agent_said.clone(),
        user("Engines"),
        agent_said,
        user("Cards"),
    ];
    let facts = agent.run(Order { history, ..Order::default() }).await;
    assert!(matches!(facts.last(), Some(Fact::Complete(Some(_)))), "{facts:?}");
    agent.close().await;
}

#[tokio::test]
async fn the_conformance_agent_follows_its_table() {
    let facts = conformance("tck-complete-task-7").await;
    assert!(
        matches!(&facts[..], [Fact::Complete(Some(message))] if message.joined_text() == "Hello from TCK")
    );
    let facts = conformance("tck-artifact-file-url").await;
    let Fact::Artifact(chunk) = &facts[0] else { panic!("{facts:?}") };
    let part: &Part = &chunk.artifact.parts[0];
    assert_eq!(
        (part.filename.as_deref(), part.media_type.as_deref()),
        (Some("output.txt"), Some("text/plain"))
    );
    assert_eq!(written(&conformance("tck-stream-artifact-chunked").await), "chunk-1 chunk-2");
    assert_eq!(written(&conformance("tck-stream-ordering-001").await), "Ordered output");
    assert!(matches!(conformance("tck-reject-task").await[..], [Fact::Reject(Some(_))]));
    assert!(matches!(conformance("tck-message-response").await[..], [Fact::Reply(_)]));
    assert!(matches!(conformance("tck-anything").await[..], [Fact::Complete(None)]));
}

#[tokio::test]
async fn the_conformance_agent_keeps_other_tasks_open() {
    let agent = example(Protocol::Jsonl, "tck/agent.py");
    let attempt = agent.start(Order::default());
    attempt.until(is_ask).await;
    attempt.signal(Signal::Message(Arc::new(Message::text(Role::User, "tck-complete-task", "x")))).await;
    assert!(matches!(attempt.end().await.last(), Some(Fact::Complete(Some(_)))));
    agent.close().await;
}

//! The `jsonl` protocol.

use std::sync::Arc;
use std::time::Duration;

use baton::runner::process::settings::{Protocol, Settings};
use baton::runner::{Fact, Refused, Signal};
use baton_core::model::{Message, Role};
use baton_core::task::Reason;

use super::{
    Agent, Attempt, Order, failure, is_artifact, is_ask, is_progress, settings, soon, user, written,
};

/// A child that says `ready` and then, for every line of the given kind, what `on` says.
fn child(on: &str) -> Settings {
    let script = format!(
        "echo '{{\"type\":\"ready\"}}'\nwhile IFS= read -r line; do\n case $line in\n {on}\n '{{\"type\":\"ping\"'*) echo \
         '{{\"type\":\"pong\"}}' ;;\n esac\ndone"
    );
    settings(Protocol::Jsonl, &script)
}

fn agent(on: &str) -> Agent {
    Agent::new(child(on))
}

/// Says its own process id for every task.
const WHO: &str =
    r#"'{"type":"task"'*) echo '{"type":"artifact","text":"'$$'"}'; echo '{"type":"complete"}' ;;"#;

/// Asks, and gives back the answer.
const ASKS: &str = r#"'{"type":"task"'*) echo '{"type":"ask","text":"what?"}' ;;
    '{"type":"message"'*) echo '{"type":"artifact","text":"thanks from '$$'"}'; echo '{"type":"complete"}' ;;
    '{"type":"cancel"'*) echo '{"type":"fail","text":"called off"}' ;;"#;

async fn pid(agent: &Agent, context: &'static str, owner: &'static str) -> String {
    written(&agent.run(Order { context, owner, ..Order::default() }).await)
}

async fn asked(agent: &Agent) -> Attempt {
    let attempt = agent.start(Order::default());
    attempt.until(is_ask).await;
    attempt
}

fn answer() -> Signal {
    Signal::Message(Arc::new(user("because")))
}

#[tokio::test]
async fn a_turn_whose_lines_come_together_is_one_commit() {
    let agent =
        agent(r#"'{"type":"task"'*) printf '{"type":"artifact","text":"x"}\n{"type":"complete"}\n' ;;"#);
    let attempt = agent.start(Order::default());
    let log = attempt.log.clone();
    let facts = attempt.end().await;
    assert!(matches!(facts[..], [Fact::Artifact(_), Fact::Complete(None)]), "{facts:?}");
    assert_eq!(*log.commits.lock().unwrap(), 1);
    agent.close().await;
}

#[tokio::test]
async fn a_child_stays_with_its_owner_and_context() {
    let agent = agent(WHO);
    let first = pid(&agent, "c", "o").await;
    assert_eq!(pid(&agent, "c", "o").await, first);
    assert_ne!(pid(&agent, "other", "o").await, first);
    assert_ne!(pid(&agent, "c", "other").await, first);
    assert_eq!(pid(&agent, "c", "o").await, first);
    agent.close().await;
    assert!(!std::path::Path::new(&format!("/proc/{first}")).exists(), "{first} is left");
}

#[tokio::test]
async fn too_many_at_rest_make_room() {
    let agent = Agent::new(Settings { warm: 1, ..child(WHO) });
    let first = pid(&agent, "a", "o").await;
    pid(&agent, "b", "o").await;
    assert_ne!(pid(&agent, "a", "o").await, first);
    agent.close().await;
}

#[tokio::test]
async fn a_child_that_rests_too_long_is_ended() {
    let agent = Agent::new(Settings { idle: Duration::ZERO, ..child(WHO) });
    let first = pid(&agent, "c", "o").await;
    super::until_gone(&first).await;
    assert_ne!(pid(&agent, "c", "o").await, first);
    agent.close().await;
}

#[tokio::test]
async fn a_question_waits_for_its_answer() {
    let agent = agent(ASKS);
    let attempt = asked(&agent).await;
    attempt.signal(answer()).await;
    let facts = attempt.end().await;
    assert!(written(&facts).starts_with("thanks"), "{facts:?}");
    assert_eq!(facts.last(), Some(&Fact::Complete(None)));
    agent.close().await;
}

#[tokio::test]
async fn a_child_that_ends_the_task_on_cancel_stays_warm() {
    let agent = agent(ASKS);
    let attempt = asked(&agent).await;
    attempt.signal(Signal::Cancel).await;
    assert_eq!(attempt.end().await.last(), Some(&Fact::Canceled));
    let attempt = asked(&agent).await;
    attempt.signal(answer()).await;
    let first = written(&attempt.end().await);
    let attempt = asked(&agent).await;
    attempt.signal(answer()).await;
    assert_eq!(written(&attempt.end().await), first, "still the same child");
    agent.close().await;
}

#[tokio::test]
async fn a_child_that_ignores_cancel_is_killed_first() {
    let agent = agent(r#"'{"type":"task"'*) trap '' TERM; echo '{"type":"artifact","text":"'$$'"}' ;;"#);
    let attempt = agent.start(Order::default());
    attempt.until(is_artifact).await;
    attempt.signal(Signal::Cancel).await;
    let facts = attempt.end().await;
    assert_eq!(facts.last(), Some(&Fact::Canceled));
    assert!(!std::path::Path::new(&format!("/proc/{}", written(&facts))).exists(), "it is gone");
}

#[tokio::test]
async fn a_question_outlives_its_child() {
    let agent = agent(r#"'{"type":"task"'*) echo '{"type":"ask","text":"what?"}'; exit 0 ;;"#);
    let facts = agent.run(Order::default()).await;
    assert!(matches!(facts[..], [Fact::Ask { .. }, Fact::HolderGone(None)]), "{facts:?}");
}

#[tokio::test]
async fn who_waits_makes_room_when_told() {
    let agent = agent(ASKS);
    for signal in [Signal::Evict, Signal::Drain] {
        let attempt = asked(&agent).await;
        attempt.signal(signal).await;
        assert_eq!(attempt.end().await.last(), Some(&Fact::HolderGone(None)));
    }
}

#[tokio::test]
async fn an_answer_that_comes_too_late_gives_the_task_back() {
    let agent = agent(ASKS);
    let attempt = asked(&agent).await;
    attempt.signal(Signal::Evict).await;
    attempt.signal(answer()).await;
    assert_eq!(attempt.end().await.last(), Some(&Fact::Released));
}

#[tokio::test]
async fn a_task_without_a_child_goes_back_when_the_node_stops() {
    let agent = agent(
        r#"'{"type":"task"'*) echo '{"type":"status","text":"at it"}' ;;
        '{"type":"cancel"'*'"shutdown"}') echo '{"type":"fail"}' ;;"#,
    );
    let attempt = agent.start(Order::default());
    attempt.until(is_progress).await;
    attempt.signal(Signal::Drain).await;
    attempt.signal(Signal::Stop).await;
    assert_eq!(attempt.end().await.last(), Some(&Fact::Released));
    agent.close().await;
}

#[tokio::test]
async fn every_end_is_passed_on() {
    let end = |line: &'static str| async move {
        let agent = agent(&format!("'{{\"type\":\"task\"'*) echo '{line}' ;;"));
        let last = agent.run(Order::default()).await.pop();
        agent.close().await;
        last
    };
    let text = |message: Option<Message>| message.map(|message| message.joined_text());
    match end(r#"{"type":"reply","text":"hi"}"#).await {
        Some(Fact::Reply(message)) => {
            assert_eq!((message.joined_text().as_str(), message.role), ("hi", Role::Agent));
        }
        other => panic!("{other:?}"),
    }
    match end(r#"{"type":"reject","text":"no"}"#).await {
        Some(Fact::Reject(message)) => assert_eq!(text(message).as_deref(), Some("no")),
        other => panic!("{other:?}"),
    }
    match end(r#"{"type":"fail","text":"spent","reason":"exhausted_tokens","retryable":true}"#).await {
        Some(Fact::Fail { reason, message, retryable }) => {
            assert_eq!(
                (reason, text(message).as_deref(), retryable),
                (Reason::ExhaustedTokens, Some("spent"), true)
            );
        }
        other => panic!("{other:?}"),
    }
}

async fn fault(on: &str) -> (Reason, String, bool) {
    failure(&agent(on).run(Order::default()).await)
}

#[tokio::test]
async fn broken_lines_are_the_agents_fault() {
    for (line, words) in [
        ("echo hello", "The agent wrote a line that means nothing (not a JSON object"),
        (r#"echo '{"type":"done"}'"#, "unknown type \"done\""),
        (r"printf '{\377}\n'", "The agent wrote a line that is not UTF-8."),
        (
            "head -c 1100000 /dev/zero | tr '\\000' x; echo",
            "The agent wrote a line of more than 1048576 bytes.",
        ),
        ("yes", "means nothing"),
    ] {
        let (reason, got, again) = fault(&format!("'{{\"type\":\"task\"'*) {line}; sleep 1000 ;;")).await;
        assert_eq!((reason, again), (Reason::InvalidAgentResponse, false), "{line}");
        assert!(got.contains(words), "{got}");
    }
}

#[tokio::test]
async fn a_line_may_have_a_mebibyte() {
    let head = r#"{"type":"artifact","text":""#.len() + r#""}"#.len();
    let on = format!(
        "'{{\"type\":\"task\"'*) printf '{{\"type\":\"artifact\",\"text\":\"'; head -c {} /dev/zero | tr '\\000' x; echo \
         '\"}}'; echo '{{\"type\":\"complete\"}}' ;;",
        1024 * 1024 - head
    );
    let agent = agent(&on);
    let facts = agent.run(Order::default()).await;
    assert_eq!(written(&facts).len(), 1024 * 1024 - head);
    agent.close().await;
}

#[tokio::test]
async fn early_ends_are_told_apart() {
    let (reason, words, again) = fault(r#"'{"type":"task"'*) echo gave up >&2; exit 3 ;;"#).await;
    assert_eq!((reason, again), (Reason::Failed, false));
    assert_eq!(words, "The agent ended without a result: exit status 3.\ngave up");
    let (reason, words, again) = fault(r#"'{"type":"task"'*) exit 0 ;;"#).await;
    assert_eq!((reason, again), (Reason::Crashed, false));
    assert!(words.contains("exit status 0"), "{words}");
    let (reason, _, again) = fault(r#"'{"type":"task"'*) kill -9 $$ ;;"#).await;
    assert_eq!((reason, again), (Reason::Crashed, true));
    let (reason, _, again) = fault(r#"'{"type":"task"'*) exit 75 ;;"#).await;
    assert_eq!((reason, again), (Reason::Transient, true));
    let (reason, words, again) = fault(r#"'{"type":"task"'*) exec >&-; sleep 1000 ;;"#).await;
    assert_eq!((reason, again), (Reason::Crashed, false));
    assert_eq!(words, "The agent closed its standard output.");
}

#[tokio::test]
async fn the_last_line_counts_when_the_child_leaves() {
    let agent = agent(r#"'{"type":"task"'*) printf '{"type":"complete"}'; exit 0 ;;"#);
    assert_eq!(agent.run(Order::default()).await, [Fact::Complete(None)]);
    assert_eq!(agent.run(Order::default()).await, [Fact::Complete(None)], "another child takes the next");
}

#[tokio::test]
async fn a_child_must_be_ready_in_time_and_first() {
    let late =
        Settings { ready_within: Duration::from_millis(50), ..settings(Protocol::Jsonl, "exec sleep 1000") };
    let (reason, words, _) = failure(&Agent::new(late).run(Order::default()).await);
    assert_eq!(reason, Reason::Stalled);
    assert!(words.contains("not ready within 0.05 s"), "{words}");
    let early = settings(Protocol::Jsonl, r#"echo '{"type":"complete"}'; exec sleep 1000"#);
    let (reason, words, _) = failure(&Agent::new(early).run(Order::default()).await);
    assert_eq!(
        (reason, words.as_str()),
        (Reason::InvalidAgentResponse, "The agent spoke before it was ready.")
    );
}

/// With times so short that a child which answers pings outlives several.
fn restless(on: &str) -> Agent {
    let (stall, ping_after) = (Some(Duration::from_millis(400)), Duration::from_millis(20));
    Agent::new(Settings { stall, ping_after, ..child(on) })
}

#[tokio::test]
async fn a_child_that_answers_pings_is_not_stalled() {
    let agent = restless(
        r#"'{"type":"task"'*) n=0 ;;
        '{"type":"ping"'*) n=$((n + 1)); echo '{"type":"pong"}'; [ $n = 30 ] && echo '{"type":"complete"}' ;;"#,
    );
    assert_eq!(agent.run(Order::default()).await, [Fact::Complete(None)], "after 600 ms of pings");
    agent.close().await;
}

#[tokio::test]
async fn a_silent_child_is_stalled() {
    let (reason, words, again) =
        failure(&restless(r#"'{"type":"task"'*) sleep 1000 ;;"#).run(Order::default()).await);
    assert_eq!((reason, again), (Reason::Stalled, false));
    assert!(words.starts_with("The agent was not heard of for 0.4 s."), "{words}");
}

#[tokio::test]
async fn a_deadline_can_be_answered() {
    let agent = agent(r#"'{"type":"cancel"'*'"deadline"}') echo '{"type":"fail"}' ;;"#);
    let order = Order { deadline: Some(soon(Duration::from_millis(300))), ..Order::default() };
    let (reason, ..) = failure(&agent.run(order).await);
    assert_eq!(reason, Reason::Deadline);
    agent.close().await;
}

#[tokio::test]
async fn late_words_do_not_reach_the_next_task() {
    let agent = agent(
        r#"'{"type":"task"'*) echo '{"type":"complete"}'; echo '{"type":"status","task_id":"old","text":"late"}' ;;"#,
    );
    for _ in 0..3 {
        assert_eq!(agent.run(Order::default()).await, [Fact::Complete(None)]);
    }
    agent.close().await;
}

#[tokio::test]
async fn what_the_task_refuses_ends_it() {
    let agent = agent(
        r#"'{"type":"task"'*) echo '{"type":"artifact","append":true,"artifact":{"artifactId":"none","text":"x"}}' ;;"#,
    );
    let why = Refused::Invalid("no artifact of this id was begun".into());
    let (reason, words, _) =
        failure(&agent.start_refusing(Order::default(), Some((is_artifact, why))).end().await);
    assert_eq!(reason, Reason::InvalidAgentResponse);
    assert!(words.contains("no artifact of this id"), "{words}");
}

#[tokio::test]
async fn a_child_that_leaves_as_a_task_comes_costs_no_attempt() {
    let agent = agent(
        r#"'{"type":"task"'*'"text":"first"'*) echo '{"type":"complete"}' ;;
        '{"type":"task"'*) exit 0 ;;"#,
    );
    agent.say("first").await;
    assert_eq!(agent.say("second").await, [Fact::Released]);
    let (reason, ..) = failure(&agent.say("second").await);
    assert_eq!(reason, Reason::Crashed, "a new child has no such excuse");
}

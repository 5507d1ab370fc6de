//! The Task object that clients get.

use std::sync::Arc;

use super::fixture::*;
use crate::model::{Message, Role, TaskObject, TaskState};
use crate::task::{Input, Policy};

fn ids(object: &TaskObject) -> Vec<String> {
    object.history.iter().map(|message: &Arc<Message>| message.message_id.clone()).collect()
}

fn history(life: &Life, most: Option<usize>) -> Vec<String> {
    ids(&life.snapshot.object(most, false))
}

fn says(id: &str) -> Input {
    Input::Progressed { attempt: 1, message: said(Role::Agent, id, id) }
}

fn asks(id: &str) -> Input {
    Input::Messaged { message: said(Role::User, id, id) }
}

#[test]
fn the_status_message_is_not_in_the_history_too() {
    let takes = Policy { takes_messages: true, ..Policy::default() };
    let life = Life::with(takes, [node(), says("a1"), says("a2")]);
    assert_eq!(history(&life, None), ["u1", "a1"]);
    let life = life.then([asks("u2")]);
    assert_eq!(history(&life, None), ["u1", "a1", "u2"], "a2 is the status still");
    let life = life.then([says("a3")]);
    assert_eq!(history(&life, None), ["u1", "a1", "a2", "u2"]);
    let life = life.then([Input::Completed { attempt: 1, message: None }]);
    assert_eq!(history(&life, None), ["u1", "a1", "a2", "u2", "a3"]);
}

#[test]
fn a_repeated_message_id_is_kept() {
    let life = Life::after([asks("u1"), asks("u1"), node(), says("a"), says("a")]);
    assert_eq!(history(&life, None), ["u1", "u1", "u1", "a"]);
}

#[test]
fn history_length() {
    let life = Life::after([asks("u2"), asks("u3"), node(), says("a1")]);
    assert_eq!(history(&life, Some(0)), [""; 0]);
    assert_eq!(history(&life, Some(1)), ["u3"], "the newest");
    assert_eq!(history(&life, Some(2)), ["u2", "u3"]);
    for all in [None, Some(3), Some(1_000_000_000), Some(usize::MAX)] {
        assert_eq!(history(&life, all), ["u1", "u2", "u3"]);
    }
}

#[test]
fn history_ends_at_a_thousand_messages() {
    let life = Life::after((0..1_005).map(|n| asks(&format!("m{n}"))));
    for most in [None, Some(1_000), Some(1_001), Some(usize::MAX)] {
        let ids = history(&life, most);
        assert_eq!((ids.len(), ids[0].as_str(), ids[999].as_str()), (1_000, "m5", "m1004"));
    }
    assert_eq!(life.snapshot.messages.len(), 1_006, "what is stored stays");
}

#[test]
fn artifacts_are_there_where_asked_for() {
    let life = Life::after([node(), wrote(1, "a", "x", false)]);
    assert!(life.snapshot.object(None, true).artifacts.is_some_and(|list| list.len() == 1));
    let written = serde_json::to_string(&life.snapshot.object(None, false)).unwrap();
    assert!(!written.contains("artifacts"), "{written}");
}

#[test]
fn a_task_as_json() {
    let life = Life::after([node(), wrote(1, "a", "x", false), used(1)]).at(7);
    let life = life.then([failed(1, false)]);
    let written = serde_json::to_string(&life.snapshot.object(Some(1), true)).unwrap();
    let expected = concat!(
        r#"{"id":"0199f0a2-7c1e-7d3a-8f00-0a0b0c0d0e0f","contextId":"talk","#,
        r#""status":{"state":"TASK_STATE_FAILED","#,
        r#""message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"It failed"}]},"#,
        r#""timestamp":"2025-10-28T10:40:00.007Z"},"#,
        r#""artifacts":[{"artifactId":"a","parts":[{"text":"x"}]}],"#,
        r#""history":[{"messageId":"u1","role":"ROLE_USER","parts":[{"text":"Please review"}]}],"#,
        r#""metadata":{"baton/reason":"failed","baton/usage":{"tokens":9007199254740993}}}"#,
    );
    assert_eq!(written, expected);
}

#[test]
fn a_stream_begins_with_the_task_as_it_was_handed_in() {
    let life = Life::after([node(), says("a1"), wrote(1, "a", "x", false)]).at(HOUR).then([completed(1)]);
    let first = life.snapshot.at_submission();
    assert_eq!(first.status.state, TaskState::Submitted);
    assert_eq!(first.status.timestamp, Some(at(0)));
    assert_eq!((ids(&first), first.artifacts, first.metadata), (vec!["u1".to_owned()], None, None));
}

#[test]
fn a_snapshot_weighs_at_least_its_texts() {
    let life = Life::after([node(), wrote(1, "a", &"x".repeat(10_000), false), says(&"y".repeat(5_000))]);
    assert!(life.snapshot.weight() > 15_000);
}

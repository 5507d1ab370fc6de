//! Lines as children write them, plain and terse, and those that mean nothing.

use baton_core::model::{Message, Role};

use super::{Ask, Line, Up};

fn up(line: &str) -> Up {
    Line::parse(line).unwrap().up
}

fn error(line: &str) -> String {
    Line::parse(line).unwrap_err().to_string()
}

fn said(text: &str) -> Message {
    Message::text(Role::Agent, "", text)
}

#[test]
fn a_message_may_be_given_in_four_ways() {
    for line in [
        r#"{"type":"status","message":{"role":"ROLE_USER","parts":[{"text":"hi"}]}}"#,
        r#"{"type":"status","message":{"text":"hi"}}"#,
        r#"{"type":"status","message":"hi"}"#,
        r#"{"type":"status","text":"hi","unknown":[1]}"#,
    ] {
        assert_eq!(up(line), Up::Status(Some(said("hi"))), "{line}");
    }
}

#[test]
fn a_given_id_is_kept() {
    let Up::Reply(message) = up(r#"{"type":"reply","message":{"messageId":"m","parts":[{"text":"x"}]}}"#)
    else {
        panic!("a reply")
    };
    assert_eq!(message.message_id, "m");
}

#[test]
fn every_type_is_read() {
    assert_eq!(
        up(r#"{"type":"ready","name":"a","version":"1"}"#),
        Up::Ready { name: Some("a".into()), version: Some("1".into()) }
    );
    assert_eq!(up(r#"{"type":"pong","id":7}"#), Up::Pong);
    assert_eq!(up(r#"{"type":"status"}"#), Up::Status(None));
    assert_eq!(
        up(r#"{"type":"ask","text":"which?"}"#),
        Up::Ask { kind: Ask::Input, message: Some(said("which?")) }
    );
    assert_eq!(up(r#"{"type":"ask","kind":"auth"}"#), Up::Ask { kind: Ask::Auth, message: None });
    assert_eq!(up(r#"{"type":"reject"}"#), Up::Reject(None));
    assert_eq!(up(r#"{"type":"complete"}"#), Up::Complete(None));
    assert_eq!(
        up(r#"{"type":"fail","text":"no","retryable":true,"reason":"busy"}"#),
        Up::Fail { message: Some(said("no")), retryable: true, reason: Some("busy".into()) }
    );
    let Up::Usage(usage) = up(r#"{"type":"usage","tokens":9007199254740993}"#) else { panic!("usage") };
    assert!(usage.as_str().contains("9007199254740993"), "numbers stay exact");
}

#[test]
fn an_artifact_may_be_terse() {
    let Up::Artifact(piece) =
        up(r#"{"type":"artifact","task_id":"t","text":"x","append":true,"last_chunk":true}"#)
    else {
        panic!("an artifact")
    };
    assert!(piece.append && piece.last_chunk && piece.artifact.artifact_id.is_empty());
    assert_eq!(piece.artifact.parts[0].as_text(), Some("x"));
    let Up::Artifact(piece) =
        up(r#"{"type":"artifact","artifact":{"artifactId":"a","parts":[{"data":{"n":3.0}}]}}"#)
    else {
        panic!("an artifact")
    };
    assert_eq!(piece.artifact.artifact_id, "a");
    assert!(!piece.append && !piece.last_chunk);
}

#[test]
fn what_means_nothing_says_why() {
    assert!(error("hello").starts_with("not a JSON object"), "{}", error("hello"));
    assert!(error("[]").starts_with("not a JSON object"));
    assert!(error("{}").contains("missing field `type`"));
    assert_eq!(error(r#"{"type":"done"}"#), r#"unknown type "done""#);
    assert_eq!(error(r#"{"type":"reply"}"#), "reply without message or text");
    assert_eq!(error(r#"{"type":"artifact"}"#), "artifact without artifact or text");
    assert!(error(r#"{"type":"reply","message":{}}"#).contains("parts"), "an empty message");
    assert!(error(r#"{"type":"reply","message":{"parts":[{}]}}"#).contains("parts[0]"), "an empty part");
    assert!(error(r#"{"type":"ask","kind":"money"}"#).contains("neither input nor auth"));
}

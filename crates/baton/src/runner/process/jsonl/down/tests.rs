//! Lines as a child reads them.

use std::sync::Arc;

use baton_core::model::{Message, Role};
use baton_core::time::Timestamp;

use super::{Down, Task};

fn line(down: &Down<'_>) -> String {
    let mut out = Vec::new();
    down.write(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn a_task_carries_its_history() {
    let message = Arc::new(Message::text(Role::User, "m", "a\nb"));
    let task = Task {
        task_id: "t",
        context_id: "c",
        attempt: 1,
        messages: std::slice::from_ref(&message),
        message: &message,
        accepted_output_modes: &["text/plain".into()],
        extensions: &["urn:x:cites".into()],
        metadata: None,
        deadline: Some(Timestamp::from_millis(0)),
    };
    let said = r#"{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a\nb"}]}"#;
    let expected = format!(
        r#"{{"type":"task","task_id":"t","context_id":"c","attempt":1,"messages":[{said}],"message":{said},"accepted_output_modes":["text/plain"],"extensions":["urn:x:cites"],"deadline":"1970-01-01T00:00:00.000Z"}}"#
    );
    assert_eq!(line(&Down::Task(task)), expected + "\n");
}

#[test]
fn the_short_lines() {
    let cancel = line(&Down::Cancel { task_id: "t", reason: "deadline" });
    assert_eq!(cancel, "{\"type\":\"cancel\",\"task_id\":\"t\",\"reason\":\"deadline\"}\n");
    assert_eq!(line(&Down::Ping { id: 3 }), "{\"type\":\"ping\",\"id\":3}\n");
}

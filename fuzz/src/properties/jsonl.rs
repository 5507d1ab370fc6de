//! One line of a child, in the process protocol.

use baton_core::model::{Artifact, Message, Role};
use serde::Serialize;

// Beside this folder, whoever compiles it.
use super::super::up::{Ask, Line, Piece, Up};

/// What is read is valid by the model's own rules, and comes back from what it means; what is not read says why.
pub fn holds(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Line::parse(text) {
        Ok(line) => comes_back(&line),
        Err(why) => assert!(!why.to_string().is_empty()),
    }
}

/// A line as a child would write it that leaves nothing out.
#[derive(Serialize, Default)]
struct Written<'a> {
    r#type: &'a str,
    task_id: Option<&'a str>,
    message: Option<&'a Message>,
    artifact: Option<&'a Artifact>,
    append: Option<bool>,
    last_chunk: Option<bool>,
    kind: Option<&'a str>,
    retryable: Option<bool>,
    reason: Option<&'a str>,
    name: Option<&'a str>,
    version: Option<&'a str>,
}

fn comes_back(line: &Line) {
    let said = |r#type, message: &'_ Option<Message>| {
        message.iter().for_each(is_valid);
        Written { r#type, ..Written::default() }
    };
    let written = match &line.up {
        Up::Ready { name, version } => Written {
            r#type: "ready",
            name: name.as_deref(),
            version: version.as_deref(),
            ..Written::default()
        },
        Up::Pong => Written { r#type: "pong", ..Written::default() },
        Up::Status(message) => Written { message: message.as_ref(), ..said("status", message) },
        Up::Reject(message) => Written { message: message.as_ref(), ..said("reject", message) },
        Up::Complete(message) => Written { message: message.as_ref(), ..said("complete", message) },
        Up::Reply(message) => {
            is_valid(message);
            Written { r#type: "reply", message: Some(message), ..Written::default() }
        }
        Up::Ask { kind, message } => {
            let kind = if *kind == Ask::Auth { "auth" } else { "input" };
            Written { kind: Some(kind), message: message.as_ref(), ..said("ask", message) }
        }
        Up::Fail { message, retryable, reason } => {
            let (retryable, reason) = (Some(*retryable), reason.as_deref());
            Written { retryable, reason, message: message.as_ref(), ..said("fail", message) }
        }
        Up::Artifact(Piece { artifact, append, last_chunk }) => {
            let (append, last_chunk) = (Some(*append), Some(*last_chunk));
            assert!(!artifact.parts.is_empty(), "{artifact:?}");
            Written { r#type: "artifact", artifact: Some(artifact), append, last_chunk, ..Written::default() }
        }
        // The line itself is what was said.
        Up::Usage(usage) => {
            let again = Line::parse(usage.as_str()).expect("what was read is read again");
            return assert_eq!(again.up, line.up);
        }
    };
    let written = Written { task_id: line.task_id.as_deref(), ..written };
    let text = serde_json::to_string(&written).expect("a line is JSON");
    assert!(!text.contains('\n'), "{text}");
    assert_eq!(Line::parse(&text).as_ref().ok(), Some(line), "{text}");
}

/// What the agent says is the agent's, and right but for the id that the node gives it.
fn is_valid(message: &Message) {
    assert_eq!(message.role, Role::Agent);
    let named = Message { message_id: "m".to_owned(), ..message.clone() };
    assert_eq!(named.check(), Ok(()));
}

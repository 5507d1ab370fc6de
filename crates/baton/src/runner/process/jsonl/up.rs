//! What a `jsonl` child says to the node. Reading is generous where a meaning is plain, and refuses the rest by name.

use baton_core::json::Object;
use baton_core::model::{Artifact, Message, Part, Role, Violation};
use serde::Deserialize;
use serde_json::value::RawValue;

/// One line from a child.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Which task it is about; a child has one at a time and may leave it out.
    pub task_id: Option<String>,
    pub up: Up,
}

/// What a line says. Messages have the agent's role; their id is empty unless the child gave one.
#[derive(Clone, Debug, PartialEq)]
pub enum Up {
    /// The child takes tasks from now on.
    Ready {
        name: Option<String>,
        version: Option<String>,
    },
    /// The answer to a ping.
    Pong,
    /// Still at it, and this is how far. Without a message it is only a sign of life.
    Status(Option<Message>),
    Artifact(Piece),
    /// The task waits for its owner.
    Ask {
        kind: Ask,
        message: Option<Message>,
    },
    /// The whole answer, as a direct message.
    Reply(Message),
    Reject(Option<Message>),
    Fail {
        message: Option<Message>,
        retryable: bool,
        reason: Option<String>,
    },
    Complete(Option<Message>),
    /// What it cost, in the child's own terms.
    Usage(Object),
}

/// A new artifact or a piece of one. The artifact's id is empty unless the child gave one.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    pub artifact: Artifact,
    pub append: bool,
    pub last_chunk: bool,
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    Input,
    Auth,
}

/// Why a line means nothing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("not a JSON object: {0}")]
    NotAnObject(serde_json::Error),
    #[error("unknown type {0:?}")]
    UnknownType(String),
    #[error("{kind} without {field}")]
    Missing { kind: &'static str, field: &'static str },
    #[error("{field}: {why}")]
    Field { field: &'static str, why: String },
}

/// Everything that any line may hold. Members that no type knows are ignored.
#[derive(Deserialize)]
struct Loose<'a> {
    #[serde(rename = "type")]
    kind_of_line: String,
    #[serde(alias = "taskId")]
    task_id: Option<String>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    text: Option<String>,
    #[serde(borrow)]
    artifact: Option<&'a RawValue>,
    append: Option<bool>,
    #[serde(alias = "lastChunk")]
    last_chunk: Option<bool>,
    kind: Option<String>,
    retryable: Option<bool>,
    reason: Option<String>,
    name: Option<String>,
    version: Option<String>,
}

/// A message or an artifact that is only a text.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Bare {
    text: Option<String>,
}

impl Line {
    /// Reads one line.
    pub fn parse(line: &str) -> Result<Self, Error> {
        let loose: Loose<'_> = serde_json::from_str(line).map_err(Error::NotAnObject)?;
        let up = loose.up(line)?;
        Ok(Self { task_id: loose.task_id, up })
    }
}

impl Loose<'_> {
    fn up(&self, line: &str) -> Result<Up, Error> {
        Ok(match self.kind_of_line.as_str() {
            "ready" => Up::Ready { name: self.name.clone(), version: self.version.clone() },
            "pong" => Up::Pong,
            "status" => Up::Status(self.message()?),
            "artifact" => Up::Artifact(self.piece()?),
            "ask" => Up::Ask { kind: self.ask()?, message: self.message()? },
            "reply" => {
                Up::Reply(self.message()?.ok_or(Error::Missing { kind: "reply", field: "message or text" })?)
            }
            "reject" => Up::Reject(self.message()?),
            "fail" => Up::Fail {
                message: self.message()?,
                retryable: self.retryable.unwrap_or_default(),
                reason: self.reason.clone(),
            },
            "complete" => Up::Complete(self.message()?),
            "usage" => Up::Usage(Object::parse(line).map_err(|why| field("usage", &why))?),
            other => return Err(Error::UnknownType(other.chars().take(64).collect())),
        })
    }

    /// `message` as a Message, as an object with `text`, or as a text; or `text` beside it.
    fn message(&self) -> Result<Option<Message>, Error> {
        let mut message = match self.message {
            Some(raw) if raw.get().starts_with('"') => text_message(parse("message", raw)?),
            Some(raw) => {
                let (mut message, bare): (Message, Bare) = (parse("message", raw)?, parse("message", raw)?);
                message.parts.extend(bare.text.map(Part::text));
                message
            }
            None => match &self.text {
                Some(text) => text_message(text.clone()),
                None => return Ok(None),
            },
        };
        message.role = Role::Agent;
        check_message(&mut message)?;
        Ok(Some(message))
    }

    /// `artifact` as an Artifact or as an object with `text`; or `text` beside it.
    fn piece(&self) -> Result<Piece, Error> {
        let mut artifact = Artifact::default();
        if let Some(raw) = self.artifact {
            let bare: Bare = parse("artifact", raw)?;
            artifact = parse("artifact", raw)?;
            artifact.parts.extend(bare.text.map(Part::text));
        } else if let Some(text) = &self.text {
            artifact.parts.push(Part::text(text.clone()));
            artifact.name.clone_from(&self.name);
        } else {
            return Err(Error::Missing { kind: "artifact", field: "artifact or text" });
        }
        check_artifact(&mut artifact)?;
        Ok(Piece {
            artifact,
            append: self.append.unwrap_or_default(),
            last_chunk: self.last_chunk.unwrap_or_default(),
        })
    }

    fn ask(&self) -> Result<Ask, Error> {
        match self.kind.as_deref() {
            None | Some("input") => Ok(Ask::Input),
            Some("auth") => Ok(Ask::Auth),
            Some(other) => Err(field("kind", &format_args!("{other:?} is neither input nor auth"))),
        }
    }
}

fn text_message(text: String) -> Message {
    Message { parts: vec![Part::text(text)], ..Message::default() }
}

fn parse<'a, T: Deserialize<'a>>(name: &'static str, raw: &'a RawValue) -> Result<T, Error> {
    serde_json::from_str(raw.get()).map_err(|why| field(name, &why))
}

fn field(field: &'static str, why: &impl ToString) -> Error {
    Error::Field { field, why: why.to_string() }
}

/// Stands in for an id that the node gives later: its absence is no fault of the child.
const LATER: &str = "-";

fn check_message(message: &mut Message) -> Result<(), Error> {
    let later = message.message_id.is_empty();
    if later {
        message.message_id.push_str(LATER);
    }
    message.check().map_err(|violation| at("message", &violation))?;
    if later {
        message.message_id.clear();
    }
    Ok(())
}

fn check_artifact(artifact: &mut Artifact) -> Result<(), Error> {
    let later = artifact.artifact_id.is_empty();
    if later {
        artifact.artifact_id.push_str(LATER);
    }
    artifact.check().map_err(|violation| at("artifact", &violation))?;
    if later {
        artifact.artifact_id.clear();
    }
    Ok(())
}

fn at(name: &'static str, violation: &Violation) -> Error {
    field(name, &format_args!("{} {}", violation.field, violation.description))
}

#[cfg(test)]
mod tests;

//! Media types of what goes in and of what the caller takes back (§3.1.1), against what the agent declares.

use std::borrow::Cow;

use baton_core::model::{Content, Message, Part};

use super::Error;
use crate::config::settings::Agent;

/// What an agent takes and gives: its defaults and what its skills add, in lower case and without parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modes {
    input: Vec<String>,
    output: Vec<String>,
}

const TEXT: &str = "text/plain";
const JSON: &str = "application/json";
const BYTES: &str = "application/octet-stream";

impl Modes {
    pub fn of(agent: &Agent) -> Self {
        let skills = || agent.skills.iter().map(|skill| &skill.card);
        let input = agent.input_modes.iter().chain(skills().flat_map(|skill| &skill.input_modes));
        let output = agent.output_modes.iter().chain(skills().flat_map(|skill| &skill.output_modes));
        Self { input: distinct(input), output: distinct(output) }
    }

    /// Refuses a message with a part that no skill of the agent takes.
    pub fn check_message(&self, message: &Message) -> Result<(), Error> {
        for (at, part) in message.parts.iter().enumerate() {
            let Some(kind) = kind(part) else { continue };
            let kind = essence(kind);
            if !self.input.iter().any(|mode| covers(mode, &kind)) {
                return Err(Error::ContentType(Cow::Owned(format!(
                    "message.parts[{at}] is {}, and this agent takes {}",
                    shown(&kind),
                    self.input.join(", ")
                ))));
            }
        }
        Ok(())
    }

    /// Refuses a caller who takes nothing that the agent can give: whatever came out could not be used.
    pub fn check_accepted(&self, accepted: &[String]) -> Result<(), Error> {
        let meets = |mode: &str| {
            let mode = essence(mode);
            self.output.iter().any(|own| covers(own, &mode) || covers(&mode, own))
        };
        if accepted.is_empty() || accepted.iter().any(|mode| meets(mode)) {
            return Ok(());
        }
        Err(Error::ContentType(Cow::Owned(format!(
            "acceptedOutputModes names nothing that this agent gives, which is {}",
            self.output.join(", ")
        ))))
    }
}

/// The media type of a part, said or implied. Nobody knows what lies behind a URL that comes without one.
fn kind(part: &Part) -> Option<&str> {
    if let Some(said) = &part.media_type {
        return Some(said);
    }
    match &part.content {
        Content::Text(_) => Some(TEXT),
        Content::Data(_) => Some(JSON),
        Content::Raw(_) => Some(BYTES),
        Content::Url(_) | Content::Missing => None,
    }
}

/// A media type without parameters, in lower case.
fn essence(kind: &str) -> String {
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether a mode such as `text/plain`, `image/*` or `*/*` covers a media type.
fn covers(mode: &str, kind: &str) -> bool {
    match mode.strip_suffix('*') {
        Some("*/" | "") => true,
        Some(start) if start.ends_with('/') => kind.starts_with(start),
        Some(_) | None => mode == kind,
    }
}

fn distinct<'a>(modes: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for mode in modes.map(|mode| essence(mode)) {
        if !all.contains(&mode) {
            all.push(mode);
        }
    }
    all
}

/// A caller's text, short and on one line.
fn shown(kind: &str) -> String {
    kind.chars().filter(|c| !c.is_control()).take(100).collect()
}

#[cfg(test)]
mod tests;

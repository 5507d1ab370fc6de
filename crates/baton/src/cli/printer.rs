//! What a task says, shown as it comes: artifacts on standard output, how it goes on standard error.

use std::collections::HashMap;
use std::io;

use baton_core::model::{Artifact, Content, Message, Part, StreamResponse, TaskState, TaskStatus};

use super::output;
use super::save::Saver;

/// One conversation on the two streams.
#[derive(Debug, Default)]
pub struct Printer {
    json: bool,
    /// Somebody at the terminal is asked: questions belong there, not into the result.
    asks: bool,
    saver: Option<Saver>,
    artifacts: HashMap<String, Shown>,
    /// Something of the result was written, and whether its last line is whole.
    written: bool,
    open_line: bool,
    task_id: Option<String>,
    status: Option<(TaskState, Option<String>)>,
}

/// What of an artifact has been written.
#[derive(Debug, Default)]
struct Shown {
    text: String,
    files: usize,
}

impl Printer {
    pub fn new(json: bool, asks: bool, saver: Option<Saver>) -> Self {
        Self { json, asks, saver, ..Self::default() }
    }

    pub fn show(&mut self, response: &StreamResponse) -> io::Result<()> {
        if let Some(saver) = &mut self.saver {
            saver.take(response)?;
        }
        if self.json {
            return output::json(response);
        }
        match response {
            StreamResponse::Task(task) => {
                self.name(&task.id);
                for artifact in task.artifacts.iter().flatten() {
                    self.whole(artifact)?;
                }
                self.status(&task.status)
            }
            StreamResponse::StatusUpdate(update) => {
                self.name(&update.task_id);
                self.status(&update.status)
            }
            StreamResponse::ArtifactUpdate(update) if update.append => self.piece(&update.artifact),
            StreamResponse::ArtifactUpdate(update) => self.whole(&update.artifact),
            StreamResponse::Message(message) => {
                self.note_files(&message.parts, 0);
                self.result(&spell(&message.parts))
            }
        }
    }

    /// Says which files were kept, once nothing comes any more.
    pub fn close(&mut self) -> io::Result<()> {
        self.finish()?;
        if let Some(saver) = self.saver.take() {
            saver.finish();
        }
        Ok(())
    }

    /// Ends a line that is not whole.
    pub fn finish(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.open_line) { output::text("\n") } else { Ok(()) }
    }

    fn name(&mut self, id: &str) {
        if !id.is_empty() && self.task_id.as_deref() != Some(id) {
            output::note(&format!("task {id}"));
            self.task_id = Some(id.to_owned());
        }
    }

    /// An artifact as it is now: what of it was written before is not written again.
    fn whole(&mut self, artifact: &Artifact) -> io::Result<()> {
        let text = spell(&artifact.parts);
        let shown = self.artifacts.entry(artifact.artifact_id.clone()).or_default();
        let started_again = !text.starts_with(&shown.text);
        let rest = if started_again { text.clone() } else { text[shown.text.len()..].to_owned() };
        let files = std::mem::replace(&mut shown.files, files(&artifact.parts).count());
        shown.text = text;
        if started_again {
            output::note("the agent began this result again");
            self.finish()?;
        }
        self.note_files(&artifact.parts, files);
        self.result(&rest)
    }

    /// More of an artifact.
    fn piece(&mut self, artifact: &Artifact) -> io::Result<()> {
        let text = spell(&artifact.parts);
        let shown = self.artifacts.entry(artifact.artifact_id.clone()).or_default();
        shown.text.push_str(&text);
        shown.files += files(&artifact.parts).count();
        self.note_files(&artifact.parts, 0);
        self.result(&text)
    }

    /// Files are not written between text.
    fn note_files(&self, parts: &[Part], known: usize) {
        if self.saver.is_some() {
            return;
        }
        for (part, bytes) in files(parts).skip(known) {
            let name = part.filename.as_deref().unwrap_or("without a name");
            let media = part.media_type.as_deref().unwrap_or("application/octet-stream");
            output::note(&format!("file {name} ({media}, {bytes} bytes): --save DIR keeps it"));
        }
    }

    fn result(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.written = true;
        self.open_line = !text.ends_with('\n');
        output::text(text)
    }

    fn status(&mut self, status: &TaskStatus) -> io::Result<()> {
        let message = status.message.as_deref();
        let now = (status.state, message.map(|message| message.message_id.clone()));
        if self.status.as_ref() == Some(&now) {
            return Ok(());
        }
        let known_state = self.status.as_ref().is_some_and(|(state, _)| *state == status.state);
        self.status = Some(now);
        let said = message.map(said).filter(|said| !said.is_empty());
        let is_result = match status.state {
            TaskState::Completed => !self.written,
            state => state.is_interrupted() && !self.asks,
        };
        if is_result && let Some(said) = &said {
            self.finish()?;
            output::note(word(status.state));
            return self.result(said);
        }
        match said {
            Some(said) => output::note(&format!("{}: {said}", word(status.state))),
            None if known_state => {}
            None => output::note(word(status.state)),
        }
        Ok(())
    }
}

fn said(message: &Message) -> String {
    spell(&message.parts).trim_end().to_owned()
}

/// Parts as text: what is no text comes on lines of its own.
fn spell(parts: &[Part]) -> String {
    let mut out = String::new();
    for part in parts {
        let own_line = match &part.content {
            Content::Text(text) => {
                out.push_str(text);
                continue;
            }
            Content::Data(json) => json.as_str(),
            Content::Url(url) => url,
            Content::Raw(_) | Content::Missing => continue,
        };
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(own_line);
        out.push('\n');
    }
    out
}

fn files(parts: &[Part]) -> impl Iterator<Item = (&Part, usize)> {
    parts.iter().filter_map(|part| match &part.content {
        Content::Raw(base64) => Some((part, base64.decoded_len())),
        Content::Text(_) | Content::Url(_) | Content::Data(_) | Content::Missing => None,
    })
}

/// A state as people say it.
pub const fn word(state: TaskState) -> &'static str {
    match state {
        TaskState::Unspecified => "unknown",
        TaskState::Submitted => "submitted",
        TaskState::Working => "working",
        TaskState::Completed => "completed",
        TaskState::Failed => "failed",
        TaskState::Canceled => "canceled",
        TaskState::InputRequired => "input required",
        TaskState::Rejected => "rejected",
        TaskState::AuthRequired => "authentication required",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_core::json::Json;

    #[test]
    fn parts_that_are_no_text_have_lines_of_their_own() {
        let parts = [
            Part::text("a"),
            Part::data(Json::parse("{\"n\": 9007199254740993}").unwrap()),
            Part::text("b\n"),
            Part { content: Content::Url("https://x/y".into()), ..Part::text("") },
        ];
        assert_eq!(spell(&parts), "a\n{\"n\":9007199254740993}\nb\nhttps://x/y\n");
    }
}

//! Large answers: what a task's artifacts hold is put into the answer while it is sent, so that it is in memory once, as it
//! was read, and not a second time as it is spelled.
//!
//! The answer is encoded with a random word in place of each large content, whatever its binding and version, and cut
//! there. Content that only looks like such a word stays content: nobody can guess one.

use std::convert::Infallible;
use std::sync::Arc;
use std::vec;

use axum::body::Body;
use baton_core::model::{Artifact, Base64, Content, Part, StreamResponse, TaskObject};
use baton_wire::grpc::{Hole, stretch};
use baton_wire::response::SendMessageResponse;
use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::stream;

use super::call::Answer;
use crate::clock::random_bytes;

/// Bytes of an artifact that is worth it.
const LARGE: usize = 64 * 1024;

/// Bytes of a content that is taken out of such an artifact. Artifacts that came in pieces have many parts.
const LONG: usize = 1024;

/// Bytes that are sent at a time.
const PIECE: usize = 64 * 1024;

/// Bytes of a word: random ones, and the number of its content.
const WORD: usize = 24 + size_of::<u64>();

/// How contents are spelled in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Json,
    /// A message in the frame of gRPC.
    Frame,
}

/// An encoded answer: in one piece, or a piece at a time.
pub enum Spliced {
    Whole(Bytes),
    Pieces(Box<Pieces>),
}

impl Spliced {
    /// What is sent first, and the rest of it.
    pub fn begin(self) -> (Bytes, Option<Box<Pieces>>) {
        match self {
            Self::Whole(text) => (text, None),
            Self::Pieces(mut pieces) => (pieces.next().unwrap_or_default(), Some(pieces)),
        }
    }
}

/// The body of an answer over HTTP that `encode` spells.
pub fn body(answer: Answer, encode: impl FnOnce(&Answer) -> Bytes) -> Body {
    match self::answer(answer, Form::Json, encode) {
        Spliced::Whole(text) => Body::from(text),
        Spliced::Pieces(pieces) => Body::from_stream(stream::iter(pieces.map(Ok::<_, Infallible>))),
    }
}

/// An answer that `encode` spells.
pub fn answer(mut answer: Answer, form: Form, encode: impl FnOnce(&Answer) -> Bytes) -> Spliced {
    let mut cuts = Cuts::default();
    match &mut answer {
        Answer::Task(task) => cuts.take(task),
        Answer::Sent(SendMessageResponse::Task(task)) => cuts.take(task),
        Answer::Page(page) => page.tasks.iter_mut().for_each(|task| cuts.take(task)),
        Answer::Sent(SendMessageResponse::Message(_))
        | Answer::PushConfig(_)
        | Answer::PushConfigs(_)
        | Answer::Deleted
        | Answer::ExtendedCard(_)
        | Answer::Stream(_) => {}
    }
    cuts.splice(encode(&answer), form)
}

/// An item of a stream that `encode` spells. Only a task is large: an event is no longer than an agent's line.
pub fn item(mut item: StreamResponse, form: Form, encode: impl FnOnce(&StreamResponse) -> Bytes) -> Spliced {
    let mut cuts = Cuts::default();
    if let StreamResponse::Task(task) = &mut item {
        cuts.take(task);
    }
    cuts.splice(encode(&item), form)
}

/// The contents that were taken out, in the order in which they are encoded.
#[derive(Default)]
struct Cuts {
    /// What begins every word, once there is one.
    random: Option<[u8; WORD]>,
    cuts: Vec<Cut>,
}

/// A content that was taken out.
struct Cut {
    artifact: Arc<Artifact>,
    part: usize,
}

impl Cuts {
    /// The word for the content of this number.
    fn word(&mut self, number: usize) -> Base64 {
        let word = self.random.get_or_insert_with(random_bytes);
        word[WORD - size_of::<u64>()..].copy_from_slice(&(number as u64).to_be_bytes());
        Base64::encode(word)
    }

    /// Takes the large contents out of a task. Its artifacts may be shared, and are not touched.
    fn take(&mut self, task: &mut TaskObject) {
        let large =
            |artifact: &&mut Arc<Artifact>| artifact.weight() > LARGE && artifact.parts.iter().any(is_long);
        for artifact in task.artifacts.iter_mut().flatten().filter(large) {
            let whole = Arc::clone(artifact);
            let parts = (0..whole.parts.len()).map(|part| self.part(&whole, part)).collect();
            let Artifact { artifact_id, name, description, metadata, extensions, .. } = &*whole;
            *artifact = Arc::new(Artifact {
                artifact_id: artifact_id.clone(),
                name: name.clone(),
                description: description.clone(),
                parts,
                metadata: metadata.clone(),
                extensions: extensions.clone(),
            });
        }
    }

    /// A part without its content, where that is long.
    fn part(&mut self, artifact: &Arc<Artifact>, at: usize) -> Part {
        let part = &artifact.parts[at];
        if !is_long(part) {
            return part.clone();
        }
        let word = self.word(self.cuts.len());
        let content = match &part.content {
            Content::Text(_) => Content::Text(word.as_str().to_owned()),
            Content::Raw(_) | Content::Url(_) | Content::Data(_) | Content::Missing => Content::Raw(word),
        };
        self.cuts.push(Cut { artifact: Arc::clone(artifact), part: at });
        let Part { metadata, filename, media_type, .. } = part;
        let (metadata, filename, media_type) = (metadata.clone(), filename.clone(), media_type.clone());
        Part { content, metadata, filename, media_type }
    }

    /// What was encoded with words in it, with the contents in their places.
    fn splice(mut self, encoded: Bytes, form: Form) -> Spliced {
        if self.cuts.is_empty() {
            return Spliced::Whole(encoded);
        }
        let (mut cuts, mut holes, mut from) = (Vec::new(), Vec::new(), 0);
        for (number, cut) in std::mem::take(&mut self.cuts).into_iter().enumerate() {
            let word = self.word(number);
            let word = match (cut.content(), form) {
                (Content::Raw(_), Form::Frame) => word.decode(),
                (_, Form::Json | Form::Frame) => word.as_str().as_bytes().to_vec(),
            };
            // A version that leaves a content out leaves its word out.
            let Some(at) = find(&encoded[from..], &word) else { continue };
            let at = from + at..from + at + word.len();
            from = at.end;
            holes.push(Hole { at, len: cut.bytes() });
            cuts.push(cut);
        }
        let texts = match form {
            Form::Json => between(&encoded, &holes),
            Form::Frame => stretch(&encoded, &holes),
        };
        Spliced::Pieces(Box::new(Pieces::new(form, texts, cuts)))
    }
}

/// Whether a part's content is worth a cut.
fn is_long(part: &Part) -> bool {
    match &part.content {
        Content::Raw(base64) => base64.as_str().len() > LONG,
        Content::Text(text) => text.len() > LONG,
        Content::Url(_) | Content::Data(_) | Content::Missing => false,
    }
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|window| window == word)
}

/// What stands before the first hole, between each and the next, and after the last.
fn between(text: &Bytes, holes: &[Hole]) -> Vec<Bytes> {
    let starts = std::iter::once(0).chain(holes.iter().map(|hole| hole.at.end));
    let ends = holes.iter().map(|hole| hole.at.start).chain([text.len()]);
    starts.zip(ends).map(|(start, end)| text.slice(start..end)).collect()
}

impl Cut {
    fn content(&self) -> &Content {
        &self.artifact.parts[self.part].content
    }

    /// Its length in a message of protocol buffers.
    fn bytes(&self) -> usize {
        match self.content() {
            Content::Raw(base64) => base64.decoded_len(),
            Content::Text(text) => text.len(),
            Content::Url(_) | Content::Data(_) | Content::Missing => 0,
        }
    }

    /// Writes some of it from `from` on, as much as there is room for; says from where it goes on.
    fn write(&self, form: Form, from: usize, room: usize, out: &mut BytesMut) -> usize {
        match (self.content(), form) {
            (Content::Raw(base64), Form::Json) => {
                let to = base64.as_str().len().min(from + room);
                out.put_slice(&base64.as_str().as_bytes()[from..to]);
                to
            }
            (Content::Raw(base64), Form::Frame) => {
                let to = base64.as_str().len().min(from + (room / 3).max(1) * 4);
                out.put_slice(&base64.decode_groups(from..to));
                to
            }
            (Content::Text(text), Form::Json | Form::Frame) => {
                // Room for any character.
                let to = text.floor_char_boundary(from + room.max(4));
                match form {
                    Form::Json => out.put_slice(&escaped(&text[from..to])),
                    Form::Frame => out.put_slice(&text.as_bytes()[from..to]),
                }
                to
            }
            (Content::Url(_) | Content::Data(_) | Content::Missing, Form::Json | Form::Frame) => from,
        }
    }
}

/// As it stands between the quotes of a JSON text.
fn escaped(text: &str) -> Bytes {
    let quoted = Bytes::from(serde_json::to_string(text).unwrap_or_default());
    if quoted.len() < 2 { quoted } else { quoted.slice(1..quoted.len() - 1) }
}

/// The texts of an answer with the contents between them.
pub struct Pieces {
    form: Form,
    texts: vec::IntoIter<Bytes>,
    cuts: vec::IntoIter<Cut>,
    /// What is left of the text at hand.
    text: Bytes,
    /// The content after it, and from where on it is to be sent.
    content: Option<(Cut, usize)>,
}

impl Pieces {
    fn new(form: Form, texts: Vec<Bytes>, cuts: Vec<Cut>) -> Self {
        let (mut texts, mut cuts) = (texts.into_iter(), cuts.into_iter());
        let text = texts.next().unwrap_or_default();
        let content = cuts.next().map(|cut| (cut, 0));
        Self { form, texts, cuts, text, content }
    }
}

impl Iterator for Pieces {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let mut out = BytesMut::with_capacity(PIECE);
        while out.len() < PIECE {
            let room = PIECE - out.len();
            if !self.text.is_empty() {
                out.put(self.text.split_to(room.min(self.text.len())));
                continue;
            }
            let Some((cut, from)) = &mut self.content else { break };
            let to = cut.write(self.form, *from, room, &mut out);
            if to == std::mem::replace(from, to) {
                self.text = self.texts.next().unwrap_or_default();
                self.content = self.cuts.next().map(|cut| (cut, 0));
            }
        }
        (!out.is_empty()).then(|| out.freeze())
    }
}

#[cfg(test)]
mod tests;

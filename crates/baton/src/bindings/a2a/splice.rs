//! Large answers: what a task's artifacts hold is put into the JSON while it is sent, so that it is in memory once, as it
//! was read, and not a second time as text.
//!
//! The answer is encoded with a random word in place of each large content, whatever its binding and version, and cut
//! there. Content that only looks like such a word stays content: nobody can guess one.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use baton_core::model::{Artifact, Base64, Content, Part, TaskObject};
use baton_wire::response::SendMessageResponse;
use bytes::Bytes;
use futures_util::stream;

use super::call::Answer;
use crate::clock::random_bytes;

/// Bytes of a content that is worth it.
const LARGE: usize = 64 * 1024;

/// Bytes that are sent at a time.
const PIECE: usize = 64 * 1024;

/// A content that was taken out.
struct Cut {
    word: String,
    artifact: Arc<Artifact>,
    part: usize,
}

/// What is sent, in order.
enum Segment {
    Text(Bytes),
    /// The content of a cut from some byte on.
    Content(Cut, usize),
}

/// The body of an answer that `encode` spells.
pub fn body(mut answer: Answer, encode: impl FnOnce(&Answer) -> Bytes) -> Body {
    let mut cuts = Vec::new();
    match &mut answer {
        Answer::Task(task) => cut(task, &mut cuts),
        Answer::Sent(SendMessageResponse::Task(task)) => cut(task, &mut cuts),
        Answer::Page(page) => page.tasks.iter_mut().for_each(|task| cut(task, &mut cuts)),
        Answer::Sent(SendMessageResponse::Message(_))
        | Answer::PushConfig(_)
        | Answer::PushConfigs(_)
        | Answer::Deleted
        | Answer::ExtendedCard(_)
        | Answer::Stream(_) => {}
    }
    let text = encode(&answer);
    if cuts.is_empty() {
        return Body::from(text);
    }
    let segments = segments(&text, cuts).into_iter().flat_map(|segment| Pieces(Some(segment)));
    Body::from_stream(stream::iter(segments.map(Ok::<_, Infallible>)))
}

/// Takes the large contents out of a task. Its artifacts may be shared, and are not touched.
fn cut(task: &mut TaskObject, cuts: &mut Vec<Cut>) {
    for artifact in task.artifacts.iter_mut().flatten().filter(|artifact| artifact.weight() > LARGE) {
        let whole = Arc::clone(artifact);
        let mut parts = Vec::with_capacity(whole.parts.len());
        for (at, part) in whole.parts.iter().enumerate() {
            let word = Base64::encode(&random_bytes());
            let content = match &part.content {
                Content::Raw(base64) if base64.as_str().len() > LARGE => Content::Raw(word.clone()),
                Content::Text(text) if text.len() > LARGE => Content::Text(word.as_str().to_owned()),
                Content::Raw(_)
                | Content::Text(_)
                | Content::Url(_)
                | Content::Data(_)
                | Content::Missing => {
                    parts.push(part.clone());
                    continue;
                }
            };
            cuts.push(Cut { word: word.as_str().to_owned(), artifact: Arc::clone(&whole), part: at });
            let Part { metadata, filename, media_type, .. } = part;
            let (metadata, filename, media_type) = (metadata.clone(), filename.clone(), media_type.clone());
            parts.push(Part { content, metadata, filename, media_type });
        }
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

fn segments(text: &Bytes, cuts: Vec<Cut>) -> Vec<Segment> {
    let mut segments = Vec::with_capacity(cuts.len() * 2 + 1);
    let mut from = 0;
    for cut in cuts {
        // A version that leaves a content out leaves its word out.
        let Some(at) = find(&text[from..], cut.word.as_bytes()) else { continue };
        segments.push(Segment::Text(text.slice(from..from + at)));
        from += at + cut.word.len();
        segments.push(Segment::Content(cut, 0));
    }
    segments.push(Segment::Text(text.slice(from..)));
    segments
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|window| window == word)
}

/// One segment, a piece at a time.
struct Pieces(Option<Segment>);

impl Iterator for Pieces {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        match self.0.take()? {
            Segment::Text(text) => Some(text),
            Segment::Content(cut, from) => {
                let (piece, to) = match &cut.artifact.parts[cut.part].content {
                    Content::Raw(base64) => {
                        let text = base64.as_str();
                        let to = text.len().min(from + PIECE);
                        (Bytes::copy_from_slice(&text.as_bytes()[from..to]), to)
                    }
                    Content::Text(text) => {
                        let to = text.floor_char_boundary(from + PIECE);
                        (escaped(&text[from..to]), to)
                    }
                    Content::Url(_) | Content::Data(_) | Content::Missing => return None,
                };
                if piece.is_empty() {
                    return None;
                }
                self.0 = Some(Segment::Content(cut, to));
                Some(piece)
            }
        }
    }
}

/// As it stands between the quotes of a JSON text.
fn escaped(text: &str) -> Bytes {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    let inside = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    Bytes::copy_from_slice(inside.as_bytes())
}

#[cfg(test)]
mod tests;

//! The built-in agent for trying out: it answers with what it got, in the commit that takes the message in; while it is
//! paused, in one that comes later.

use std::sync::Arc;

use baton_core::model::{Artifact, Message};
use baton_core::task::{Chunk, Input};

/// All that happens after the claim that began this attempt.
pub fn answer(attempt: u32, message: &Message) -> [Input; 2] {
    let artifact = Artifact {
        artifact_id: "echo".to_owned(),
        name: Some("echo".to_owned()),
        parts: message.parts.clone(),
        ..Artifact::default()
    };
    let chunk = Arc::new(Chunk { artifact: Arc::new(artifact), append: false, last_chunk: true });
    [Input::Wrote { attempt, chunk }, Input::Completed { attempt, message: None }]
}

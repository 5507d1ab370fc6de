//! The built-in agent for trying out: it answers with what it got, in the commit that takes the message in.

use std::sync::Arc;

use baton_core::model::{Artifact, Message};
use baton_core::task::{Chunk, Input};

/// An echo's first and only attempt.
const ATTEMPT: u32 = 1;

/// All that happens after the claim.
pub fn answer(message: &Message) -> [Input; 2] {
    let artifact = Artifact {
        artifact_id: "echo".to_owned(),
        name: Some("echo".to_owned()),
        parts: message.parts.clone(),
        ..Artifact::default()
    };
    let chunk = Arc::new(Chunk { artifact: Arc::new(artifact), append: false, last_chunk: true });
    [Input::Wrote { attempt: ATTEMPT, chunk }, Input::Completed { attempt: ATTEMPT, message: None }]
}

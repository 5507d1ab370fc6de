//! Ids for artifacts that have none: the same ones in every attempt, so that another try replaces what the first wrote.

use baton_core::model::Artifact;

#[derive(Debug, Default)]
pub struct Numbering {
    count: u32,
    last: Option<String>,
}

impl Numbering {
    /// Names `artifact`; without an id, a piece belongs to the artifact before it. Says whether it continues one.
    pub fn name(&mut self, artifact: &mut Artifact, append: bool) -> bool {
        let mut continues = append;
        if artifact.artifact_id.is_empty() {
            artifact.artifact_id = self.last.take().filter(|_| append).unwrap_or_else(|| {
                continues = false;
                self.count += 1;
                format!("artifact-{}", self.count)
            });
        }
        self.last = Some(artifact.artifact_id.clone());
        continues
    }
}

#[cfg(test)]
mod tests;

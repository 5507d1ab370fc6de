//! Ids that were not given.

use baton_core::model::Artifact;

use super::Numbering;

#[test]
fn pieces_go_to_the_artifact_before_them() {
    let mut numbering = Numbering::default();
    let mut name = |id: &str, append| {
        let mut artifact = Artifact { artifact_id: id.into(), ..Artifact::default() };
        let continues = numbering.name(&mut artifact, append);
        (artifact.artifact_id, continues)
    };
    assert_eq!(name("", true), ("artifact-1".into(), false), "nothing to continue");
    assert_eq!(name("", true), ("artifact-1".into(), true));
    assert_eq!(name("report", false), ("report".into(), false));
    assert_eq!(name("", true), ("report".into(), true));
    assert_eq!(name("", false), ("artifact-2".into(), false));
    assert_eq!(name("report", true), ("report".into(), true));
}

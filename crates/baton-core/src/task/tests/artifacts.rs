//! Chunks, and what a new attempt does to what an earlier one left.

use super::fixture::*;
use crate::limits::ARTIFACT_BYTES;
use crate::task::{ArtifactHead, Body, Refusal};

/// Every artifact as its text parts.
fn texts(life: &Life) -> Vec<(String, Vec<String>)> {
    let artifacts = life.snapshot.artifacts.iter();
    let part = |part: &crate::model::Part| part.as_text().unwrap().to_owned();
    artifacts.map(|a| (a.artifact_id.clone(), a.parts.iter().map(part).collect())).collect()
}

fn one(id: &str, parts: &[&str]) -> (String, Vec<String>) {
    (id.into(), parts.iter().map(|part| (*part).into()).collect())
}

#[test]
fn pieces_are_appended_and_a_whole_replaces() {
    let mut life = Life::after([node(), wrote(1, "a", "Hello", false), wrote(1, "a", " world", true)]);
    assert_eq!(texts(&life), [one("a", &["Hello", " world"])]);
    life.does(&wrote(1, "b", "B", false));
    life.does(&wrote(1, "a", "anew", false));
    assert_eq!(texts(&life), [one("a", &["anew"]), one("b", &["B"])]);
}

#[test]
fn an_append_to_nothing_is_refused_and_spoils_nothing() {
    let mut life = Life::after([node(), wrote(1, "a", "Hello", false)]);
    assert_eq!(life.refusal(&wrote(1, "b", "?", true)), Refusal::UnknownArtifact);
    life.does(&wrote(1, "a", " world", true));
    assert_eq!(texts(&life), [one("a", &["Hello", " world"])]);
}

#[test]
fn the_first_write_of_a_new_attempt_replaces() {
    let again = |append| {
        let first = [node(), wrote(1, "a", "old", false), wrote(1, "b", "B", false)];
        Life::after(first).then([released(1), node(), wrote(2, "a", "new", append)])
    };
    for append in [false, true] {
        let mut life = again(append);
        assert_eq!(texts(&life), [one("a", &["new"]), one("b", &["B"])]);
        let Body::Wrote { chunk } = life.last() else { panic!("{:?}", life.last()) };
        assert!(!chunk.append, "a stream says so too");
        life.does(&wrote(2, "a", "er", true));
        assert_eq!(texts(&life)[0], one("a", &["new", "er"]));
    }
}

#[test]
fn the_bytes_of_all_artifacts_end_at_the_limit() {
    let weight = chunk("b", "four", false).artifact.weight() as u64;
    let filled = |bytes| {
        let mut life = Life::after([node()]);
        life.snapshot.task.artifacts = vec![ArtifactHead { id: "a".into(), attempt: 1, bytes }];
        life
    };
    let fits = filled(ARTIFACT_BYTES - weight);
    assert!(fits.try_step(&wrote(1, "b", "four", false)).is_ok());
    assert!(fits.try_step(&wrote(1, "a", "four", true)).is_ok());
    assert_eq!(fits.refusal(&wrote(1, "b", "four+", false)), Refusal::ArtifactsTooLarge);
    assert_eq!(fits.refusal(&wrote(1, "a", "four+", true)), Refusal::ArtifactsTooLarge);
    assert!(fits.try_step(&wrote(1, "a", "four+", false)).is_ok(), "what is replaced gives its room back");
}

#[test]
fn weights_are_kept_per_artifact() {
    let weight = |text| chunk("a", text, false).artifact.weight() as u64;
    let life = Life::after([node(), wrote(1, "a", "Hello", false), wrote(1, "a", " world", true)]);
    let head = ArtifactHead { id: "a".into(), attempt: 1, bytes: weight("Hello") + weight(" world") };
    assert_eq!(life.task().artifacts.first(), Some(&head));
    let life = life.then([wrote(1, "a", "x", false)]);
    assert_eq!(life.task().artifacts, [ArtifactHead { bytes: weight("x"), ..head }]);
}

#[test]
fn usage_is_the_last_one_reported() {
    let life = Life::after([node(), used(1)]);
    assert_eq!(life.task().usage.as_ref().unwrap().as_str(), r#"{"tokens":9007199254740993}"#);
}

//! What is written where.

use baton_core::model::{ArtifactUpdate, Base64};

use super::*;

fn raw(name: Option<&str>, bytes: &[u8]) -> Part {
    Part { content: Content::Raw(Base64::encode(bytes)), filename: name.map(str::to_owned), ..Part::text("") }
}

fn update(append: bool, parts: Vec<Part>) -> StreamResponse {
    let artifact = Artifact { artifact_id: "a".to_owned(), parts, ..Artifact::default() };
    StreamResponse::ArtifactUpdate(ArtifactUpdate {
        task_id: "t".to_owned(),
        context_id: "c".to_owned(),
        artifact: artifact.into(),
        append,
        last_chunk: false,
        metadata: None,
    })
}

fn saver(dir: &Path, force: bool) -> Saver {
    SaveArgs { save: Some(dir.join("out")), force }.saver().unwrap().unwrap()
}

fn listed(dir: &Path) -> Vec<(String, String)> {
    let mut all: Vec<_> = fs::read_dir(dir.join("out"))
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    all.sort();
    all
}

#[test]
fn pieces_of_a_name_are_one_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut saver = saver(dir.path(), false);
    saver.take(&update(false, vec![raw(Some("x.bin"), b"one ")])).unwrap();
    saver.take(&update(true, vec![raw(Some("x.bin"), b"two ")])).unwrap();
    saver.take(&update(true, vec![raw(Some("x.bin"), b"three"), raw(None, b"other")])).unwrap();
    saver.take(&update(true, vec![raw(None, b"more")])).unwrap();
    let name = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let expected = [name("a-2.bin", "more"), name("a.bin", "other"), name("x.bin", "one two three")];
    assert_eq!(listed(dir.path()), expected);
    // Told from the beginning, as by a snapshot, it is written anew and not twice.
    let parts = vec![raw(Some("x.bin"), b"one "), raw(Some("x.bin"), b"TWO"), raw(None, b"o")];
    saver.take(&update(false, parts)).unwrap();
    assert_eq!(listed(dir.path())[1..], [name("a.bin", "o"), name("x.bin", "one TWO")]);
}

#[test]
fn text_and_data_are_files_where_they_have_a_name() {
    let dir = tempfile::tempdir().unwrap();
    let mut saver = saver(dir.path(), false);
    let named = |part: Part| Part { filename: Some("n.json".to_owned()), ..part };
    let json = baton_core::json::Json::parse("{\"n\": 9007199254740993}").unwrap();
    let parts = vec![Part::text("said"), Part::data(json.clone()), named(Part::data(json))];
    saver.take(&update(false, parts)).unwrap();
    assert_eq!(listed(dir.path()), [("n.json".to_owned(), "{\"n\":9007199254740993}".to_owned())]);
}

#[test]
fn nothing_is_overwritten_unless_it_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let outside = dir.path().join("outside");
    fs::write(&outside, "keep").unwrap();
    let mut first = saver(dir.path(), false);
    std::os::unix::fs::symlink(&outside, dir.path().join("out/link")).unwrap();
    fs::write(dir.path().join("out/x"), "old").unwrap();
    for name in ["x", "link"] {
        let why = first.take(&update(false, vec![raw(Some(name), b"new")])).unwrap_err().to_string();
        assert!(why.contains("--force"), "{why}");
    }
    let mut forced = saver(dir.path(), true);
    forced.take(&update(false, vec![raw(Some("x"), b"new"), raw(Some("link"), b"new")])).unwrap();
    assert_eq!(fs::read_to_string(&outside).unwrap(), "keep", "a link is replaced, not followed");
    assert_eq!(fs::read_to_string(dir.path().join("out/x")).unwrap(), "new");
    // Two files of one name in one result are two files.
    let mut twice = saver(dir.path(), true);
    twice
        .take(&update(false, vec![raw(Some("x"), b"1"), raw(Some("y"), b"2"), raw(Some("x"), b"3")]))
        .unwrap();
    assert_eq!(fs::read_to_string(dir.path().join("out/x-2")).unwrap(), "3");
}

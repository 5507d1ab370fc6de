//! The warden's command line reads back as it was written.

use super::{Error, Limits, Spec};

#[test]
fn a_spec_survives_the_command_line() {
    let spec = Spec {
        command: vec!["./run.sh".into(), "--dir".into(), "a b".into(), "--".into()],
        dir: Some("/srv/a b".into()),
        env: Vec::new(),
        user: Some("nobody".into()),
        limits: Limits { open_files: Some(64), cpu_seconds: Some(3), ..Limits::default() },
    };
    assert_eq!(Spec::from_args(spec.to_args().into_iter()), Ok(spec));
}

#[test]
fn a_bad_command_line_is_refused() {
    let read = |words: &[&str]| Spec::from_args(words.iter().map(Into::into));
    assert_eq!(read(&[]), Err(Error::NoCommand));
    assert_eq!(read(&["--"]), Err(Error::NoCommand));
    assert_eq!(read(&["--dir"]), Err(Error::NoValue("--dir")));
    assert_eq!(
        read(&["--limit", "open_files=x", "--", "true"]),
        Err(Error::UnknownWord("open_files=x".into()))
    );
    assert_eq!(read(&["true"]), Err(Error::UnknownWord("true".into())));
}

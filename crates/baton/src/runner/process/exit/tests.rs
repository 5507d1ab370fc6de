//! The evidence line and the words for people.

use std::time::Duration;

use super::{Exit, How, Usage};

#[test]
fn the_evidence_is_one_line_and_reads_back() {
    for how in [How::Code(3), How::Signal(9), How::NotStarted("no such file\n\"x\"".into())] {
        let usage = Usage { user: Duration::from_micros(1_500_001), system: Duration::ZERO, max_rss_kib: 9 };
        let exit = Exit { how, usage };
        let line = serde_json::to_string(&exit).unwrap();
        assert!(!line.contains('\n'), "{line}");
        assert_eq!(serde_json::from_str::<Exit>(&line).unwrap(), exit);
    }
}

#[test]
fn ends_are_said_in_words() {
    assert_eq!(How::Code(3).to_string(), "exit status 3");
    assert_eq!(How::Signal(9).to_string(), "killed by SIGKILL");
    assert_eq!(How::Signal(63).to_string(), "killed by signal 63");
}

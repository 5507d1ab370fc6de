//! Characters that come in pieces.

use super::take_text;

#[test]
fn a_character_is_never_split() {
    let mut read = "grü".as_bytes()[..3].to_vec();
    assert_eq!(take_text(&mut read, false), "gr");
    read.extend_from_slice(&"ü".as_bytes()[1..]);
    assert_eq!((take_text(&mut read, false), read), ("ü".into(), Vec::new()));
}

#[test]
fn what_is_no_text_is_marked() {
    let mut read = b"a\xffb\xf0\x9f".to_vec();
    assert_eq!(take_text(&mut read, false), "a\u{fffd}b");
    assert_eq!(read, b"\xf0\x9f", "it may still become a character");
    assert_eq!(take_text(&mut read, true), "\u{fffd}");
}

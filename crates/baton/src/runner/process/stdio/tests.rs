//! The tail of standard error.

use super::{TAIL_BYTES, Tail};

fn tail(pieces: &[&str]) -> String {
    let mut tail = Tail::new(None);
    for piece in pieces {
        tail.kept.extend_from_slice(piece.as_bytes());
        tail.trim();
    }
    tail.text()
}

#[test]
fn short_text_is_kept_whole() {
    assert_eq!(tail(&["a\n", "\u{1b}[31mb\n"]), "a\n[31mb");
}

#[test]
fn long_text_is_cut_to_whole_lines() {
    let line = "x".repeat(99) + "\n";
    let text = tail(&[&line.repeat(100), "the end\n"]);
    assert!(text.len() <= TAIL_BYTES && text.len() > TAIL_BYTES - 200, "{}", text.len());
    assert!(text.ends_with("\nthe end"));
    assert!(text.lines().all(|line| line.len() == 99 || line == "the end"), "no line is cut");
    assert_eq!(tail(&["first\n", &"y".repeat(3 * TAIL_BYTES)]).len(), TAIL_BYTES, "one endless line");
}

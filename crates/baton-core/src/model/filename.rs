//! What others call a file, as a name that can be given to one.

/// Bytes of a name; file systems take 255.
const BYTES: usize = 200;

/// Bytes of an ending that is kept where a name is cut.
const ENDING: usize = 16;

/// The last component of what may be a path on any system: no controls, no change of direction, no colon, and in front
/// neither a dot nor what a command would take for a flag. `None` where nothing is left.
pub fn safe_name(said: &str) -> Option<String> {
    let last = said.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain: String = last.chars().map(|c| if is_odd(c) { '_' } else { c }).collect();
    let plain = plain.trim().trim_start_matches(['.', '-']).trim_end_matches(['.', ' ']);
    let name = match plain.rsplit_once('.') {
        Some((stem, ending)) if plain.len() > BYTES && ending.len() <= ENDING => {
            format!("{}.{ending}", &stem[..stem.floor_char_boundary(BYTES - ENDING - 1)])
        }
        Some(_) | None => plain[..plain.floor_char_boundary(BYTES)].to_owned(),
    };
    (!name.is_empty()).then_some(name)
}

fn is_odd(c: char) -> bool {
    let direction = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    direction || c == ':' || c.is_control()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_do_no_harm() {
        for (said, name) in [
            ("report.pdf", Some("report.pdf")),
            ("../../etc/passwd", Some("passwd")),
            ("/etc/shadow", Some("shadow")),
            ("..\\..\\x.exe", Some("x.exe")),
            ("C:\\x\\y.txt", Some("y.txt")),
            ("c:evil", Some("c_evil")),
            (".bashrc", Some("bashrc")),
            ("...", None),
            ("-rf", Some("rf")),
            (".-.x", Some("x")),
            ("..", None),
            ("a/", None),
            ("", None),
            ("  ", None),
            ("a\0b\n.txt", Some("a_b_.txt")),
            ("gnp\u{202e}.exe", Some("gnp_.exe")),
            ("ünï.txt", Some("ünï.txt")),
        ] {
            assert_eq!(safe_name(said).as_deref(), name, "{said:?}");
        }
        let long = safe_name(&format!("{}.tar.gz", "ä".repeat(300))).unwrap();
        assert_eq!((long.len() <= BYTES, long.rsplit_once('.').unwrap().1), (true, "gz"), "{long}");
        assert!(safe_name(&"ä".repeat(300)).unwrap().len() <= BYTES);
    }
}

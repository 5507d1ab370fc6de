//! Other people's text for a terminal or a page: every character shown that would act there.

use std::borrow::Cow;

/// The text with every character shown that would be obeyed: escapes, other controls, changes of direction.
pub fn harmless(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_harmful) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if is_harmful(c) { shown(c) } else { c }).collect())
}

pub fn is_harmful(c: char) -> bool {
    let direction =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    direction || (c.is_control() && !matches!(c, '\n' | '\t'))
}

fn shown(c: char) -> char {
    match u32::from(c) {
        c0 @ ..0x20 => char::from_u32(0x2400 + c0).unwrap_or(char::REPLACEMENT_CHARACTER),
        0x7f => '␡',
        _ => char::REPLACEMENT_CHARACTER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_that_would_be_obeyed() {
        assert_eq!(harmless("plain\tünï\n"), "plain\tünï\n");
        assert_eq!(harmless("a\u{1b}[31mb\r\u{7}\u{7f}"), "a␛[31mb␍␇␡");
        assert_eq!(harmless("\u{9b}2J\u{202e}gnp.exe"), "\u{fffd}2J\u{fffd}gnp.exe");
    }
}

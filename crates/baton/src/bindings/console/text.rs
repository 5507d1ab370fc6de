//! Text of agents and strangers, as text: isolated in its direction, every character shown that would act.

use maud::{Markup, html};

use crate::plain;

/// One run of somebody's text.
pub fn theirs(text: &str) -> Markup {
    html! { bdi { (plain::harmless(text)) } }
}

/// The same, several lines of it, as they were written.
pub fn passage(text: &str) -> Markup {
    html! { p dir="auto" { (plain::harmless(text)) } }
}

/// The first characters, where there are more of them than fit.
pub fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Where a URL of somebody's leads: scheme, host and port.
pub fn place(url: &str) -> String {
    url::Url::parse(url).map_or_else(|_| short(url, 80), |url| url.origin().ascii_serialization())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_it_acts() {
        let hostile = "<img src=x onerror=alert(1)>\u{202e}gnp.exe\u{1b}[31m\0";
        let shown = theirs(hostile).into_string();
        assert_eq!(shown, "<bdi>&lt;img src=x onerror=alert(1)&gt;\u{fffd}gnp.exe␛[31m␀</bdi>");
    }

    #[test]
    fn cut_at_a_character() {
        assert_eq!(short("äöü", 2), "äö…");
        assert_eq!(short("äöü", 3), "äöü");
        assert_eq!(place("https://hooks.example:8443/a?secret=1"), "https://hooks.example:8443");
    }
}

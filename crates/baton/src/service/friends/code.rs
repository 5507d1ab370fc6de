//! The code that both sides of a friend request can show, for two humans to compare.
//!
//! Each side works it out by itself, from what it was told: where the request went, the secret that came back, and
//! everything that is asked for. Who stands in between and changes any of it shows the two sides different codes. It has
//! 50 bits, so that nobody finds another request with the same code while somebody waits for an answer.

use baton_core::canonical::canonical;
use baton_core::ident::AgentName;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::hex::hex;

/// What a code is of.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Terms<'a> {
    /// Where the request is sent, as the card says it.
    pub url: &'a str,
    pub card_url: &'a str,
    pub agents: &'a [AgentName],
    /// As they are spelled, in the order of the request.
    pub verbs: &'a [&'a str],
    pub why: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Coded<'a> {
    id: &'a str,
    /// In hexadecimal.
    secret: String,
    terms: Terms<'a>,
}

/// What stands before everything that is hashed here, so that the hash is one of nothing else.
const PURPOSE: &str = "urn:x-baton:friend-request:v1\n";

/// Digits that nobody takes for one another (Crockford's base 32).
const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Such as `4K7QM-0XZ2R`; of a request's id, the SHA-256 of its secret's text, and what was agreed on.
pub fn of(id: &str, secret: &[u8; 32], terms: Terms<'_>) -> String {
    let coded = Coded { id, secret: hex(secret), terms };
    let json = serde_json::to_string(&coded).expect("texts serialise");
    // Texts of a request are JSON already, and so have a canonical form.
    let text = canonical(&json).unwrap_or(json);
    let hash = Sha256::new().chain_update(PURPOSE).chain_update(text).finalize();
    let bits = hash[..8].iter().fold(0_u64, |bits, byte| (bits << 8) | u64::from(*byte));
    let digit = |at: u32| {
        let five = usize::try_from((bits >> (59 - 5 * at)) & 31).expect("five bits");
        char::from(DIGITS[five])
    };
    let (first, second): (String, String) = ((0..5).map(digit).collect(), (5..10).map(digit).collect());
    format!("{first}-{second}")
}

/// Whether two people mean the same code: case, spaces and hyphens say nothing, and neither do letters that look alike.
pub fn is_same(code: &str, typed: &str) -> bool {
    let plain = |text: &str| -> String {
        let digits = text.chars().filter(|c| !c.is_whitespace() && *c != '-').map(|c| c.to_ascii_uppercase());
        digits
            .map(|c| match c {
                'O' => '0',
                'I' | 'L' => '1',
                other => other,
            })
            .collect()
    };
    plain(code) == plain(typed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(id: &str, secret: u8, change: impl FnOnce(&mut Terms<'_>)) -> String {
        let agents = [AgentName::parse("echo").unwrap()];
        let mut terms = Terms {
            url: "https://b.example/friend-requests",
            card_url: "https://a.example/card.json",
            agents: &agents,
            verbs: &["send", "read"],
            why: "because",
        };
        change(&mut terms);
        of(id, &[secret; 32], terms)
    }

    #[test]
    fn the_same_on_both_sides_and_another_where_anything_is() {
        let same = code("1", 7, |_| {});
        assert_eq!(same, "QSS92-JB9TM");
        assert!(same.len() == 11 && same.as_bytes()[5] == b'-', "{same}");
        for other in [
            code("2", 7, |_| {}),
            code("1", 8, |_| {}),
            code("1", 7, |terms| terms.url = "https://c.example/friend-requests"),
            code("1", 7, |terms| terms.card_url = "https://c.example/card.json"),
            code("1", 7, |terms| terms.agents = &[]),
            code("1", 7, |terms| terms.verbs = &["send", "read", "work"]),
            code("1", 7, |terms| terms.why = "Because"),
        ] {
            assert_ne!(same, other);
        }
    }

    #[test]
    fn people_type_it_as_they_like() {
        for typed in ["4K7QM-01ZZZ", "4k7qm01zzz", " 4K7QM OLZZZ", "4k7qm-oizzz"] {
            assert!(is_same("4K7QM-01ZZZ", typed), "{typed}");
        }
        assert!(!is_same("4K7QM-01ZZZ", "4K7QM-01ZZ") && !is_same("4K7QM-01ZZZ", ""));
    }
}

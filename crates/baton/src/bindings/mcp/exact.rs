//! Answers whose numbers the protocol's own values cannot hold, such as 1e400 or 0.10: a mark goes through the protocol in
//! their place, and what they say is put there as the answer is written. It does not know what an answer means.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde_json::{Number, Value, json};

use crate::clock::random_bytes;
use crate::hex::hex;

/// What every mark begins with. The rest cannot be guessed.
const MARK: &str = "baton-exact-";

/// Characters of a mark.
const LENGTH: usize = MARK.len() + 32;

/// What stands around a mark in the object that is written in an answer's place.
const BEFORE: &[u8] = b"{\"";
const BEHIND: &[u8] = b"\":null}";

/// Answers on their way: those that nobody waits for any more make room for others.
const KEPT: usize = 256;

/// Answers on their way.
#[derive(Clone, Debug, Default)]
pub struct Exact(Arc<Mutex<VecDeque<(String, String)>>>);

impl Exact {
    /// A value that is written as this JSON is, which is an object.
    pub fn value(&self, json: &str) -> serde_json::Result<Value> {
        if has_plain_numbers(json) {
            return serde_json::from_str(json);
        }
        let mark = format!("{MARK}{}", hex(&random_bytes()[..16]));
        let mut kept = self.kept();
        if kept.len() >= KEPT {
            kept.pop_front();
        }
        // An event is written in one line, and no string has line breaks in it.
        kept.push_back((mark.clone(), json.replace(['\n', '\r'], " ")));
        // Structured content is an object for every revision of the protocol.
        Ok(json!({ mark: null }))
    }

    /// What is written, with what the marks in it stand for.
    pub fn write(&self, mut data: Bytes) -> Bytes {
        let mut from = 0;
        while let Some(at) = find(&data, from) {
            let (start, end) = (at.saturating_sub(BEFORE.len()), at + LENGTH + BEHIND.len());
            let mark = data.get(start..end).and_then(|text| text.strip_prefix(BEFORE)?.strip_suffix(BEHIND));
            let known = mark.and_then(|mark| self.take(mark));
            from = at + MARK.len();
            if let Some(json) = known {
                data = [&data[..start], json.as_bytes(), &data[end..]].concat().into();
                from = start + json.len();
            }
        }
        data
    }

    fn take(&self, mark: &[u8]) -> Option<String> {
        let mut kept = self.kept();
        let at = kept.iter().position(|(known, _)| known.as_bytes() == mark)?;
        kept.remove(at).map(|(_, json)| json)
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<(String, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn find(data: &[u8], from: usize) -> Option<usize> {
    let rest = data.get(from..)?;
    rest.windows(MARK.len()).position(|window| window == MARK.as_bytes()).map(|at| from + at)
}

/// Whether every number of a JSON text would be written again as it is.
fn has_plain_numbers(json: &str) -> bool {
    let bytes = json.as_bytes();
    let (mut at, mut in_string) = (0, false);
    while let Some(byte) = bytes.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'\\' if in_string => at += 1,
            b'"' => in_string = !in_string,
            b'-' | b'0'..=b'9' if !in_string => {
                while bytes.get(at).is_some_and(|byte| b"0123456789+-.eE".contains(byte)) {
                    at += 1;
                }
                let number = &json[start..at];
                let again = serde_json::from_str::<Number>(number).map(|number| number.to_string());
                if !again.is_ok_and(|again| again == number) {
                    return false;
                }
            }
            _ => {}
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_and_other_numbers() {
        for json in [r#"{"a":[0,-1,42,1.5,18446744073709551615]}"#, r#""1e400 \" 0.10""#, r#"["\\",7]"#, "[]"]
        {
            assert!(has_plain_numbers(json), "{json}");
        }
        for json in [
            "[1e400]",
            "[0.10]",
            "[-0]",
            "[18446744073709551616]",
            "[1E2]",
            r#"{"\"":1.0e1}"#,
            "0.1000000000000000055",
        ] {
            assert!(!has_plain_numbers(json), "{json}");
        }
    }

    #[test]
    fn marks_are_replaced_once_and_only_where_they_are_known() {
        let exact = Exact::default();
        let value = |json| exact.value(json).unwrap();
        let (one, two) = (value("{\"n\":[1e400,\n0.10]}"), value("{\"n\":-0}"));
        let forged = json!({ format!("{MARK}{}", "0".repeat(32)): null });
        let written = format!("{forged} {one} {two} {one} \"{MARK}");
        let said = exact.write(written.into());
        assert_eq!(said, format!("{forged} {{\"n\":[1e400, 0.10]}} {{\"n\":-0}} {one} \"{MARK}"));
        assert_eq!(exact.value("{\"n\":1}").unwrap(), serde_json::json!({"n": 1}));
    }

    #[test]
    fn what_nobody_fetches_is_forgotten() {
        let exact = Exact::default();
        let first = exact.value("1e400").unwrap().to_string();
        for _ in 0..KEPT {
            exact.value("1e400").unwrap();
        }
        assert_eq!(exact.write(first.clone().into()), first);
        assert_eq!(exact.kept().len(), KEPT);
    }
}

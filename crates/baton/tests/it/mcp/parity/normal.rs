//! Texts without what chance and the clock put into them.

use std::collections::HashMap;

/// Names what differs by the order in which it is first seen.
pub struct Normal {
    names: HashMap<String, String>,
}

/// Characters of a UUID, and digits of a time in milliseconds.
const UUID: usize = 36;
const MILLIS: usize = 13;

impl Normal {
    pub fn new<const N: usize>(known: [(String, &str); N]) -> Self {
        Self { names: known.into_iter().map(|(id, name)| (id, name.to_owned())).collect() }
    }

    /// Identifiers are numbered, times are gone.
    pub fn of(&mut self, text: &str) -> String {
        let mut known: Vec<_> = self.names.iter().map(|(id, name)| (id.clone(), name.clone())).collect();
        known.sort();
        let mut text = text.to_owned();
        for (id, name) in known {
            text = text.replace(&id, &name);
        }
        let bytes = text.as_bytes();
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        while at < bytes.len() {
            if let Some(id) = text.get(at..at + UUID).filter(|id| uuid::Uuid::try_parse(id).is_ok()) {
                let next = format!("ID-{}", self.names.len());
                out.push_str(self.names.entry(id.to_owned()).or_insert(next));
                at += UUID;
            } else if let Some(length) = time(&bytes[at..]) {
                out.push_str("TIME");
                at += length;
            } else {
                let length = text[at..].chars().next().map_or(1, char::len_utf8);
                out.push_str(&text[at..at + length]);
                at += length;
            }
        }
        out
    }

    /// A page whose tasks come in an order of their own.
    pub fn sorted(&mut self, text: &str) -> String {
        let mut page: serde_json::Value = serde_json::from_str(text).unwrap();
        let mut tasks: Vec<String> = Vec::new();
        if let Some(listed) = page["tasks"].as_array() {
            tasks = listed.iter().map(|task| self.of(&task.to_string())).collect();
        }
        tasks.sort();
        page["tasks"] = serde_json::json!(tasks);
        page.to_string()
    }
}

/// The length of a time at the start: RFC 3339, or milliseconds.
fn time(bytes: &[u8]) -> Option<usize> {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits >= MILLIS {
        return Some(digits);
    }
    let is_date = digits == 4 && bytes.get(4) == Some(&b'-') && bytes.get(10) == Some(&b'T');
    let end = bytes.iter().position(|byte| *byte == b'Z')?;
    (is_date && end < 32).then_some(end + 1)
}

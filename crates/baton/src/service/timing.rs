//! When a task is to be worked on, and before which others: what its sender says in the metadata of the request.

use std::time::Duration;

use baton_core::json::Object;
use baton_core::limits::{AHEAD, PRIORITIES};
use baton_core::time::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Error;

/// The members of a request's metadata that say so.
pub const PRIORITY: &str = "baton/priority";
pub const NOT_BEFORE: &str = "baton/notBefore";
pub const DEADLINE: &str = "baton/deadline";

/// What a sender asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    pub priority: i16,
    pub not_before: Option<Timestamp>,
    pub deadline: Option<Timestamp>,
}

/// The members, each as it was written.
#[derive(Default, Deserialize)]
struct Said<'a> {
    #[serde(borrow, default, rename = "baton/priority")]
    priority: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "baton/notBefore")]
    not_before: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "baton/deadline")]
    deadline: Option<&'a RawValue>,
}

impl Timing {
    /// Reads a request's metadata. A time to begin at that has passed is no reason to wait; a deadline that has passed is
    /// refused.
    pub fn of(metadata: Option<&Object>, now: Timestamp) -> Result<Self, Error> {
        // Mostly there is nothing of the kind, and then nothing is parsed.
        let Some(text) = metadata.map(Object::as_str).filter(|text| text.contains("baton")) else {
            return Ok(Self::default());
        };
        let said: Said<'_> =
            serde_json::from_str(text).map_err(|why| Error::invalid("metadata", why.to_string()))?;
        let priority = said.priority.map_or(Ok(0), priority)?;
        let not_before = said.not_before.map(|given| time(NOT_BEFORE, given, now)).transpose()?;
        let deadline = said.deadline.map(|given| time(DEADLINE, given, now)).transpose()?;
        if let Some(deadline) = deadline {
            if deadline <= now {
                return Err(wrong(DEADLINE, "has passed; give a later one, or leave it out"));
            }
            if not_before.is_some_and(|begin| begin >= deadline) {
                return Err(wrong(NOT_BEFORE, "is not before the deadline; give an earlier one"));
            }
        }
        Ok(Self { priority, not_before: not_before.filter(|begin| *begin > now), deadline })
    }
}

fn priority(given: &RawValue) -> Result<i16, Error> {
    let what = || {
        let (low, high) = (PRIORITIES.start(), PRIORITIES.end());
        wrong(PRIORITY, &format!("is a whole number from {low} to {high}, the highest being claimed first"))
    };
    given.get().parse().ok().filter(|number| PRIORITIES.contains(number)).ok_or_else(what)
}

fn time(member: &str, given: &RawValue, now: Timestamp) -> Result<Timestamp, Error> {
    let text: Option<String> = serde_json::from_str(given.get()).ok();
    let at = text.as_deref().and_then(Timestamp::parse);
    let what = "is a time such as \"2027-01-31T12:00:00Z\" (RFC 3339)";
    let at = at.ok_or_else(|| wrong(member, what))?;
    if at > now.after(AHEAD) {
        let days = AHEAD.as_secs() / Duration::from_hours(24).as_secs();
        return Err(wrong(member, &format!("is more than {days} days ahead")));
    }
    Ok(at)
}

fn wrong(member: &str, what: &str) -> Error {
    Error::invalid(&format!("metadata[\"{member}\"]"), what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(metadata: &str) -> Result<Timing, String> {
        let now = Timestamp::parse("2026-12-01T00:00:00Z").unwrap();
        Timing::of(Some(&Object::parse(metadata).unwrap()), now).map_err(|why| why.to_string())
    }

    #[test]
    fn what_is_said() {
        let at = |text| Timestamp::parse(text);
        let both = r#"{"baton/priority":-7,"baton/notBefore":"2026-12-02T00:00:00Z","x":1,"baton/deadline":"2026-12-03T01:00:00+01:00"}"#;
        let timing = Timing {
            priority: -7,
            not_before: at("2026-12-02T00:00:00Z"),
            deadline: at("2026-12-03T00:00:00Z"),
        };
        assert_eq!(read(both), Ok(timing));
        for nothing in [
            r#"{"a":1}"#,
            r#"{"batons":{"baton/priority":9}}"#,
            r#"{"baton/notBefore":"2026-11-01T00:00:00Z"}"#,
        ] {
            assert_eq!(read(nothing), Ok(Timing::default()), "{nothing}");
        }
        assert_eq!(Timing::of(None, Timestamp::from_millis(0)).unwrap(), Timing::default());
    }

    #[test]
    fn what_cannot_be() {
        for (metadata, what) in [
            (r#"{"baton/priority":101}"#, "from -100 to 100"),
            (r#"{"baton/priority":1.0}"#, "whole number"),
            (r#"{"baton/priority":"1"}"#, "whole number"),
            (r#"{"baton/notBefore":"soon"}"#, "RFC 3339"),
            (r#"{"baton/notBefore":1}"#, "RFC 3339"),
            (r#"{"baton/notBefore":"2028-12-01T00:00:00Z"}"#, "366 days"),
            (r#"{"baton/deadline":"2026-12-01T00:00:00Z"}"#, "has passed"),
            (
                r#"{"baton/notBefore":"2026-12-02T00:00:00Z","baton/deadline":"2026-12-02T00:00:00Z"}"#,
                "not before the deadline",
            ),
        ] {
            let said = read(metadata).unwrap_err();
            assert!(said.contains(what), "{metadata}: {said}");
        }
    }
}

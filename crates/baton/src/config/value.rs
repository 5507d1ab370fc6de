//! Durations and sizes as people write them: `"10m"`, `"1h30m"`, `"10MiB"`.

use std::fmt;
use std::time::Duration;

use baton_store::Per;
use serde::de::{self, Deserialize, Deserializer, Visitor};

/// A duration in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Duration);

/// A duration in a file, or `"never"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanOrNever(pub Option<Duration>);

/// A number of bytes in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

const SPAN: &str = "a duration with its unit, such as \"500ms\", \"30s\", \"10m\", \"24h\" or \"7d\"";
const RATE: &str = "a number of requests per second or minute, such as \"10/s\" or \"600/m\"";
const SIZE: &str = "a size with its unit, such as \"512KiB\", \"10MiB\" or \"1GiB\"";

/// Reads a duration such as `30s` or `1h30m`.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    span(text).ok_or_else(|| format!("`{text}` is not {SPAN}"))
}

fn span(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let (number, unit, after) = leading(rest)?;
        let millis = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        total = total.checked_add(Duration::from_millis(number.checked_mul(millis)?))?;
        rest = after;
    }
    Some(total)
}

/// Reads a rate such as `10/s` or `600/m`: a number, and of what time.
pub fn parse_rate(text: &str) -> Result<(u32, Per), String> {
    rate(text).ok_or_else(|| format!("`{text}` is not {RATE}"))
}

fn rate(text: &str) -> Option<(u32, Per)> {
    let (number, unit) = text.split_once('/')?;
    let per = match unit.trim() {
        "s" | "second" => Per::Second,
        "m" | "min" | "minute" => Per::Minute,
        _ => return None,
    };
    let number = number.trim();
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
    Some((number.parse().ok()?, per))
}

fn size(text: &str) -> Option<u64> {
    let (number, unit, rest) = leading(text.trim())?;
    let bytes = match unit {
        "B" => 1,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    rest.is_empty().then_some(())?;
    number.checked_mul(bytes)
}

/// A number, its unit, and what comes after both.
fn leading(text: &str) -> Option<(u64, &str, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, rest) = text.split_at(digits);
    let rest = rest.trim_start();
    let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(letters);
    Some((number.parse().ok()?, unit, rest.trim_start()))
}

struct Text<T> {
    what: &'static str,
    read: fn(&str) -> Option<T>,
    number: Option<fn(u64) -> T>,
}

impl<T> Visitor<'_> for Text<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.read)(text).ok_or_else(|| E::custom(format_args!("`{text}` is not {}", self.what)))
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::custom(format_args!("`{number}` is not {}", self.what))),
        }
    }
    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        let read = self.number.ok_or_else(|| E::custom(format_args!("`{number}` is not {}", self.what)))?;
        Ok(read(number))
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Text { what: SPAN, read: |text| span(text).map(Self), number: None })
    }
}

impl<'de> Deserialize<'de> for SpanOrNever {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = |text: &str| match text {
            "never" => Some(Self(None)),
            _ => span(text).map(|span| Self(Some(span))),
        };
        deserializer.deserialize_any(Text { what: SPAN_OR_NEVER, read, number: None })
    }
}

const SPAN_OR_NEVER: &str = "a duration with its unit, such as \"30s\", \"10m\" or \"24h\", nor \"never\"";

impl std::str::FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        size(text).map(Self).ok_or_else(|| format!("`{text}` is not {SIZE}"))
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Text {
            what: SIZE,
            read: |text| size(text).map(Self),
            number: Some(Self),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, millis) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("10m", 600_000),
            ("1h30m", 5_400_000),
            ("24h", 86_400_000),
            ("7d", 604_800_000),
            ("1h 30m", 5_400_000),
            ("0s", 0),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in
            ["", "10", "s", "-3s", "1.5h", "10 parsecs", "99999999999999999999s", "18446744073709551615d"]
        {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates() {
        for (text, rate) in [
            ("10/s", (10, Per::Second)),
            ("600/m", (600, Per::Minute)),
            ("5 / min", (5, Per::Minute)),
            ("0/s", (0, Per::Second)),
        ] {
            assert_eq!(parse_rate(text), Ok(rate), "{text}");
        }
        for text in ["", "10", "/s", "10/", "10/h", "-1/s", "+1/s", "1.5/s", "10/s/s", "99999999999/s"] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes() {
        for (text, bytes) in [("0B", 0), ("512KiB", 524_288), ("10 MiB", 10_485_760), ("1GB", 1_000_000_000)]
        {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for text in ["", "10", "MiB", "-1B", "1KiB2B", "1TiB!", "99999999999GiB"] {
            assert_eq!(size(text), None, "{text}");
        }
    }
}

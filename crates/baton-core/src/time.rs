//! Points in time, in whole milliseconds: what a client is shown is exactly what is stored, compared and filtered.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Milliseconds since the Unix epoch, UTC. Spelled as RFC 3339 with three decimals and `Z` (A2A §5.6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// The first and the last millisecond that RFC 3339 and `google.protobuf.Timestamp` can both spell: years 1 to 9999.
const SPELLABLE: RangeInclusive<i64> = -62_135_596_800_000..=253_402_300_799_999;

impl Timestamp {
    /// From milliseconds since the Unix epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Reads RFC 3339, of the years 1 to 9999 in UTC.
    pub fn parse(text: &str) -> Option<Self> {
        Self::from_nanos(OffsetDateTime::parse(text, &Rfc3339).ok()?.unix_timestamp_nanos())
    }

    /// From nanoseconds since the Unix epoch, where that is in the years 1 to 9999. A finer fraction is rounded up, so that
    /// "at or after" stays true for what is stored; in the very last millisecond there is nothing above.
    pub fn from_nanos(nanos: i128) -> Option<Self> {
        let whole = i64::try_from(nanos.div_euclid(1_000_000)).ok()?;
        let more = i64::from(nanos.rem_euclid(1_000_000) != 0);
        SPELLABLE.contains(&whole).then(|| Self((whole + more).min(*SPELLABLE.end())))
    }

    /// This time moved on by `by`; stops at the end of what can be represented.
    #[must_use]
    pub fn after(self, by: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The time from `earlier` to this one, zero where it is not earlier.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// Bytes of a time as it is spelled, such as `2026-05-01T12:00:00.000Z`.
const SPELLED: usize = 24;

impl Timestamp {
    /// Spells the time without the general formatter: every answer has some.
    fn spell(self) -> [u8; SPELLED] {
        let (seconds, millis) = (self.0.div_euclid(1000), self.0.rem_euclid(1000));
        let at = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
        let (year, month, day) = at.to_calendar_date();
        let (hour, minute, second) = at.to_hms();
        let mut text = *b"0000-00-00T00:00:00.000Z";
        digits(&mut text[..4], i64::from(year));
        digits(&mut text[5..7], i64::from(u8::from(month)));
        digits(&mut text[8..10], i64::from(day));
        digits(&mut text[11..13], i64::from(hour));
        digits(&mut text[14..16], i64::from(minute));
        digits(&mut text[17..19], i64::from(second));
        digits(&mut text[20..23], millis);
        text
    }
}

/// Fills `text` with the decimal digits of `number`, from the right.
fn digits(text: &mut [u8], mut number: i64) {
    for place in text.iter_mut().rev() {
        *place = b'0' + u8::try_from(number.rem_euclid(10)).unwrap_or(0);
        number /= 10;
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.spell()).unwrap_or_default())
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(std::str::from_utf8(&self.spell()).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            de::Error::invalid_value(
                de::Unexpected::Str(&text),
                &"an RFC 3339 time such as 2026-05-01T12:00:00.000Z",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelled_and_read_back() {
        let at = Timestamp::from_millis(1_761_648_000_007);
        assert_eq!(at.to_string(), "2025-10-28T10:40:00.007Z");
        assert_eq!(Timestamp::parse(&at.to_string()), Some(at));
        assert_eq!(Timestamp::parse("2025-10-28T12:40:00.007+02:00"), Some(at));
    }

    #[test]
    fn a_finer_fraction_is_rounded_up() {
        assert_eq!(Timestamp::parse("1970-01-01T00:00:00.0010001Z"), Some(Timestamp::from_millis(2)));
        assert_eq!(Timestamp::parse("1969-12-31T23:59:59.9995Z"), Some(Timestamp::from_millis(0)));
    }

    #[test]
    fn what_is_read_can_be_spelled() {
        for (text, spelled) in [
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
            ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
            ("9999-12-31T23:59:59.9999999Z", "9999-12-31T23:59:59.999Z"),
            ("0001-01-01T00:00:00-00:01", "0001-01-01T00:01:00.000Z"),
        ] {
            let at = Timestamp::parse(text).unwrap();
            assert_eq!((at.to_string().as_str(), Timestamp::parse(spelled)), (spelled, Some(at)), "{text}");
        }
        for text in ["0000-12-31T23:59:59Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01"] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
        for nanos in [i128::MIN, i128::MAX, 253_402_300_800_000_000_000, 9_223_372_036_854_775_807_500_000] {
            assert_eq!(Timestamp::from_nanos(nanos), None, "{nanos}");
        }
    }

    #[test]
    fn moving_on_never_wraps() {
        let last = Timestamp::from_millis(i64::MAX);
        assert_eq!(last.after(Duration::from_secs(1)), last);
        assert_eq!(Timestamp::from_millis(5).since(Timestamp::from_millis(9)), Duration::ZERO);
    }
}

//! gRPC (§10): the messages of both versions, read into the one model and written from it, and the frames and statuses
//! around them.
//!
//! The definitions are in `proto/`; what they become in Rust is checked in. Nothing here knows a connection.

pub mod frame;
#[rustfmt::skip]
#[expect(clippy::pedantic, reason = "written by prost-build")]
pub mod generated;
mod status;
mod stretch;
pub mod v0_3;
pub mod v1;
mod value;

pub use stretch::{Hole, stretch};

use baton_core::model::{Role, TaskState, Violation};
use baton_core::time::Timestamp;
use prost_types::value::Kind;
use prost_types::{Struct, Value};
use serde::Deserialize;
use serde::de::IntoDeserializer as _;
use serde::de::value::Error;

/// The metadata of a stream's items that holds the number of their event: gRPC has no other place for what SSE says with
/// `id:`. It is what `last-event-id` takes.
pub const EVENT_ID: &str = "baton/eventId";

/// A state by its number; an unknown one is refused in the words of the JSON reader.
fn state(number: i32) -> Result<TaskState, Violation> {
    named(number)
}

fn role(number: i32) -> Result<Role, Violation> {
    named(number)
}

fn named<T: for<'de> Deserialize<'de>>(number: i32) -> Result<T, Violation> {
    T::deserialize(number.into_deserializer()).map_err(|why: Error| Violation::new("", why.to_string()))
}

/// Text where the empty text means unset.
fn nonempty(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// A time in whole milliseconds, as it is read from text.
fn to_timestamp(at: prost_types::Timestamp) -> Result<Timestamp, Violation> {
    let prost_types::Timestamp { seconds, nanos } = at;
    let time = Timestamp::from_nanos(i128::from(seconds) * 1_000_000_000 + i128::from(nanos));
    time.filter(|_| (0..1_000_000_000).contains(&nanos))
        .ok_or_else(|| Violation::new("", "is not a time between the years 1 and 9999"))
}

fn from_timestamp(at: Timestamp) -> prost_types::Timestamp {
    let (seconds, millis) = (at.as_millis().div_euclid(1000), at.as_millis().rem_euclid(1000));
    prost_types::Timestamp { seconds, nanos: i32::try_from(millis).unwrap_or_default() * 1_000_000 }
}

/// Puts the number of an event into an item's metadata.
fn numbered(event: u64, metadata: &mut Option<Struct>) {
    #[expect(clippy::cast_precision_loss, reason = "a task has at most 10,000 events")]
    let number = Value { kind: Some(Kind::NumberValue(event as f64)) };
    metadata.get_or_insert_default().fields.insert(EVENT_ID.to_owned(), number);
}

/// Adds the name of the field in which something is wrong.
trait Within<T> {
    fn within(self, field: &str) -> Result<T, Violation>;
}

impl<T> Within<T> for Result<T, Violation> {
    fn within(self, field: &str) -> Self {
        self.map_err(|violation| violation.within(field))
    }
}

//! What 0.3 says, read into the one data model: requests for a server, answers and events for a client.
//!
//! Each object is read twice: its members as they are written, in both spellings and both cases, and then what they mean.
//! REST takes the parts of JSON-RPC too, which say what they are.

mod answer;
mod call;
mod message;
mod push;

pub use answer::{read_answer, read_event, read_push_config, read_task};
pub use call::{from_params, from_rest};
pub use message::{read_message, rest_spelling};
pub(crate) use push::{DEFAULT_ID, read_authentication};

use baton_core::model::Violation;

fn required(field: &str, value: &str) -> Result<(), Violation> {
    if value.is_empty() { Err(Violation::new(field, "is required")) } else { Ok(()) }
}

/// Each item of a list, with its place in the path of what is wrong.
fn each<T, U>(
    field: &str,
    items: Vec<T>,
    read: impl Fn(T) -> Result<U, Violation>,
) -> Result<Vec<U>, Violation> {
    let place =
        |(at, item)| read(item).map_err(|violation: Violation| violation.within(&format!("{field}[{at}]")));
    items.into_iter().enumerate().map(place).collect()
}

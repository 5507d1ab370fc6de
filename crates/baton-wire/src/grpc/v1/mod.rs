//! A2A 1.0: package `lf.a2a.v1`.

mod card;
mod request;
mod response;

pub use super::generated::a2a_v1 as pb;
pub use request::read;
pub use response::stream_item;

use crate::operation::Operation;

/// The full name of the service, which is the first part of every path.
pub const SERVICE: &str = "lf.a2a.v1.A2AService";

/// The operation that a method stands for.
pub fn operation(method: &str) -> Option<Operation> {
    Operation::ALL.into_iter().find(|operation| operation.method() == method)
}

//! The requests of the eleven operations (§3.1, §3.2), and how they are read from JSON-RPC parameters or from REST.

mod call;
mod push;
mod send;
mod task;

pub use call::Call;
pub use push::{
    DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
};
pub use send::{SendMessageConfiguration, SendMessageRequest};
pub use task::{
    CancelTaskRequest, GetExtendedAgentCardRequest, GetTaskRequest, ListTasksRequest, SubscribeToTaskRequest,
};

use baton_core::limits::PAGE_SIZE_MAX;
use baton_core::model::Violation;

fn required(field: &str, value: &str) -> Result<(), Violation> {
    if value.is_empty() { Err(Violation::new(field, "is required")) } else { Ok(()) }
}

pub(crate) fn history_length(value: Option<i32>) -> Result<(), Violation> {
    match value {
        Some(length @ ..0) => {
            Err(Violation::new("historyLength", format!("must be zero or more, got {length}")))
        }
        Some(0..) | None => Ok(()),
    }
}

pub(crate) fn page_size(value: Option<i32>) -> Result<(), Violation> {
    let is_one = |size: i32| usize::try_from(size).is_ok_and(|size| (1..=PAGE_SIZE_MAX).contains(&size));
    match value {
        Some(size) if !is_one(size) => {
            Err(Violation::new("pageSize", format!("must be between 1 and {PAGE_SIZE_MAX}, got {size}")))
        }
        Some(_) | None => Ok(()),
    }
}

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
    CancelTaskRequest, GetExtendedAgentCardRequest, GetTaskRequest, ListTasksRequest, PAGE_SIZE_DEFAULT,
    PAGE_SIZE_MAX, SubscribeToTaskRequest,
};

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
    match value {
        Some(1..=PAGE_SIZE_MAX) | None => Ok(()),
        Some(size) => {
            Err(Violation::new("pageSize", format!("must be between 1 and {PAGE_SIZE_MAX}, got {size}")))
        }
    }
}

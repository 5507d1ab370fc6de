//! A2A 0.3: package `a2a.v1`, read into the one model and written from it.
//!
//! What 0.3 cannot say over gRPC is left out: `referenceTaskIds`, the media type of text and data. Data that is no object
//! travels in one, as it does in the JSON of 0.3.

mod card;
mod request;
mod response;

pub use super::generated::a2a_v0_3 as pb;
pub use card::card;
pub use request::read;
pub use response::{config, configs, sent, stream_item, task};

use crate::operation::Operation;

/// The full name of the service, which is the first part of every path.
pub const SERVICE: &str = "a2a.v1.A2AService";

/// The operation that a method stands for.
pub fn operation(method: &str) -> Option<Operation> {
    Some(match method {
        "SendMessage" => Operation::SendMessage,
        "SendStreamingMessage" => Operation::SendStreamingMessage,
        "GetTask" => Operation::GetTask,
        "CancelTask" => Operation::CancelTask,
        "TaskSubscription" => Operation::SubscribeToTask,
        "CreateTaskPushNotificationConfig" => Operation::CreateTaskPushNotificationConfig,
        "GetTaskPushNotificationConfig" => Operation::GetTaskPushNotificationConfig,
        "ListTaskPushNotificationConfig" => Operation::ListTaskPushNotificationConfigs,
        "DeleteTaskPushNotificationConfig" => Operation::DeleteTaskPushNotificationConfig,
        "GetAgentCard" => Operation::GetExtendedAgentCard,
        _ => return None,
    })
}

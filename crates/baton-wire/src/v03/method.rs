//! The method names of JSON-RPC.

use crate::operation::Operation;

/// Every operation with its name in 0.3.
pub const METHODS: [(&str, Operation); 11] = [
    ("message/send", Operation::SendMessage),
    ("message/stream", Operation::SendStreamingMessage),
    ("tasks/get", Operation::GetTask),
    ("tasks/list", Operation::ListTasks),
    ("tasks/cancel", Operation::CancelTask),
    ("tasks/resubscribe", Operation::SubscribeToTask),
    ("tasks/pushNotificationConfig/set", Operation::CreateTaskPushNotificationConfig),
    ("tasks/pushNotificationConfig/get", Operation::GetTaskPushNotificationConfig),
    ("tasks/pushNotificationConfig/list", Operation::ListTaskPushNotificationConfigs),
    ("tasks/pushNotificationConfig/delete", Operation::DeleteTaskPushNotificationConfig),
    ("agent/getAuthenticatedExtendedCard", Operation::GetExtendedAgentCard),
];

/// The operation of a method name.
pub fn operation(name: &str) -> Option<Operation> {
    METHODS.iter().find(|(known, _)| *known == name).map(|(_, operation)| *operation)
}

/// The method name of an operation.
pub fn method(operation: Operation) -> &'static str {
    METHODS.iter().find(|(_, known)| *known == operation).map_or("", |(name, _)| name)
}

//! The eleven operations (§5.3), by their JSON-RPC method and by their REST path, in either version.

mod route;

pub use route::{Route, version_of};

use crate::fault::{Fault, Kind, clip};
use crate::v03;
use crate::version::Version;

/// What may stand in front of a method name of JSON-RPC.
pub const METHOD_PREFIX: &str = "a2a.";

/// What can be asked of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    SendMessage,
    SendStreamingMessage,
    GetTask,
    ListTasks,
    CancelTask,
    SubscribeToTask,
    CreateTaskPushNotificationConfig,
    GetTaskPushNotificationConfig,
    ListTaskPushNotificationConfigs,
    DeleteTaskPushNotificationConfig,
    GetExtendedAgentCard,
}

impl Operation {
    pub const ALL: [Self; 11] = [
        Self::SendMessage,
        Self::SendStreamingMessage,
        Self::GetTask,
        Self::ListTasks,
        Self::CancelTask,
        Self::SubscribeToTask,
        Self::CreateTaskPushNotificationConfig,
        Self::GetTaskPushNotificationConfig,
        Self::ListTaskPushNotificationConfigs,
        Self::DeleteTaskPushNotificationConfig,
        Self::GetExtendedAgentCard,
    ];

    /// The method name of JSON-RPC and gRPC.
    pub const fn method(self) -> &'static str {
        match self {
            Self::SendMessage => "SendMessage",
            Self::SendStreamingMessage => "SendStreamingMessage",
            Self::GetTask => "GetTask",
            Self::ListTasks => "ListTasks",
            Self::CancelTask => "CancelTask",
            Self::SubscribeToTask => "SubscribeToTask",
            Self::CreateTaskPushNotificationConfig => "CreateTaskPushNotificationConfig",
            Self::GetTaskPushNotificationConfig => "GetTaskPushNotificationConfig",
            Self::ListTaskPushNotificationConfigs => "ListTaskPushNotificationConfigs",
            Self::DeleteTaskPushNotificationConfig => "DeleteTaskPushNotificationConfig",
            Self::GetExtendedAgentCard => "GetExtendedAgentCard",
        }
    }

    /// By a method name, with its version; one of 1.0 may have the prefix `a2a.`, as some nodes spell it. A version that the request asks for decides; where it asks for none, the name
    /// does. A name of the other version is not found, and the fault says whose it is.
    pub fn from_method(asked: Option<Version>, name: &str) -> Result<(Self, Version), Fault> {
        let bare = name.strip_prefix(METHOD_PREFIX).unwrap_or(name);
        let current = Self::ALL.into_iter().find(|operation| operation.method() == bare);
        let found = current.map(|operation| (operation, Version::V1_0));
        let found = found.or_else(|| Some((v03::operation(name)?, Version::V0_3)));
        match (found, asked) {
            (Some((operation, version)), asked) if asked.is_none_or(|asked| asked == version) => {
                Ok((operation, version))
            }
            (Some((operation, _)), Some(asked)) => {
                let there = if asked == Version::V0_3 { v03::method(operation) } else { operation.method() };
                let why = format!("the request asks for A2A {asked}, where '{name}' is called '{there}'");
                Err(not_found(&why))
            }
            (Some(_) | None, _) => Err(not_found(&clip(name))),
        }
    }

    /// The answer is a stream of events.
    pub const fn is_streaming(self) -> bool {
        matches!(self, Self::SendStreamingMessage | Self::SubscribeToTask)
    }
}

fn not_found(why: &str) -> Fault {
    let text = Kind::MethodNotFound.row().text;
    Fault::new(Kind::MethodNotFound).with_message(format!("{text}: {why}"))
}

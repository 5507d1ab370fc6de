//! From an HTTP method and the path below an agent's base to an operation (§11.3).

use std::borrow::Cow;

use http::Method;

use super::Operation;
use crate::fault::{Fault, Kind};
use crate::query::percent_decode;
use crate::version::Version;

/// What a path says: the operation and what the path names. Identifiers are percent-decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    pub version: Version,
    pub operation: Operation,
    pub tenant: Option<String>,
    pub task_id: Option<String>,
    /// The id of a push notification configuration.
    pub config_id: Option<String>,
}

/// A path without its method: the methods it has, each with its operation.
struct Place {
    methods: &'static [(Method, Operation)],
    allow: &'static str,
    task_id: Option<String>,
    config_id: Option<String>,
}

impl Route {
    /// Reads the path below the agent's base, such as `message:send`, `tasks/{id}:cancel` or `{tenant}/tasks`, with
    /// or without a leading slash and without the query.
    ///
    /// A path that is nowhere is [`Kind::UnknownPath`]; one without this method is [`Kind::MethodNotAllowed`] and
    /// says which methods it has. What begins with `v1/` is of 0.3, and no tenant.
    pub fn parse(method: &Method, path: &str) -> Result<Self, Fault> {
        let (version, path) = version_of(path);
        let (tenant, place) = match Place::find(version, path) {
            Some(place) => (None, place),
            None if version == Version::V0_3 => return Err(Fault::new(Kind::UnknownPath)),
            None => below_tenant(path).ok_or(Fault::new(Kind::UnknownPath))?,
        };
        let Place { methods, allow, task_id, config_id } = place;
        match methods.iter().find(|(known, _)| known == method) {
            Some(&(_, operation)) => Ok(Self { version, operation, tenant, task_id, config_id }),
            None => Err(Fault::method_not_allowed(allow)),
        }
    }

    /// Refuses a route of another version than the one that the request asks for, if it asks for one.
    pub fn asked(self, asked: Option<Version>) -> Result<Self, Fault> {
        match asked {
            Some(asked) if asked != self.version => {
                let version = self.version;
                let text = Kind::UnknownPath.row().text;
                let why =
                    format!("{text} in A2A {asked}, which the request asks for: it is one of A2A {version}");
                Err(Fault::new(Kind::UnknownPath).with_message(why))
            }
            Some(_) | None => Ok(self),
        }
    }
}

/// The version of a path below an agent's base, and the path without what says so.
pub fn version_of(path: &str) -> (Version, &str) {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.strip_prefix("v1/").map_or((Version::V1_0, path), |path| (Version::V0_3, path))
}

fn below_tenant(path: &str) -> Option<(Option<String>, Place)> {
    let (tenant, rest) = path.split_once('/')?;
    Some((Some(identifier(tenant)?), Place::find(Version::V1_0, rest)?))
}

const SEND: &[(Method, Operation)] = &[(Method::POST, Operation::SendMessage)];
const STREAM: &[(Method, Operation)] = &[(Method::POST, Operation::SendStreamingMessage)];
const TASKS: &[(Method, Operation)] = &[(Method::GET, Operation::ListTasks)];
const TASK: &[(Method, Operation)] = &[(Method::GET, Operation::GetTask)];
const CANCEL: &[(Method, Operation)] = &[(Method::POST, Operation::CancelTask)];
// The definition says GET, the table of §5.3 says POST: both are sent.
const SUBSCRIBE: &[(Method, Operation)] =
    &[(Method::GET, Operation::SubscribeToTask), (Method::POST, Operation::SubscribeToTask)];
const CONFIGS: &[(Method, Operation)] = &[
    (Method::GET, Operation::ListTaskPushNotificationConfigs),
    (Method::POST, Operation::CreateTaskPushNotificationConfig),
];
const CONFIG: &[(Method, Operation)] = &[
    (Method::GET, Operation::GetTaskPushNotificationConfig),
    (Method::DELETE, Operation::DeleteTaskPushNotificationConfig),
];
const CARD: &[(Method, Operation)] = &[(Method::GET, Operation::GetExtendedAgentCard)];

impl Place {
    fn find(version: Version, path: &str) -> Option<Self> {
        let mut segments = path.split('/');
        let first = percent_decode(segments.next()?)?;
        let rest = [segments.next(), segments.next(), segments.next()];
        if segments.next().is_some() {
            return None;
        }
        match (first.as_ref(), rest) {
            ("message:send", [None, ..]) => Some(Self::new(SEND, "POST")),
            ("message:stream", [None, ..]) => Some(Self::new(STREAM, "POST")),
            ("extendedAgentCard", [None, ..]) if version == Version::V1_0 => Some(Self::new(CARD, "GET")),
            ("card", [None, ..]) if version == Version::V0_3 => Some(Self::new(CARD, "GET")),
            ("tasks", [None, ..]) => Some(Self::new(TASKS, "GET")),
            ("tasks", [Some(task), None, _]) => Self::of_task(task),
            ("tasks", [Some(task), Some("pushNotificationConfigs"), None]) => {
                Some(Self { task_id: Some(identifier(task)?), ..Self::new(CONFIGS, "GET, POST") })
            }
            ("tasks", [Some(task), Some("pushNotificationConfigs"), Some(config)]) => Some(Self {
                task_id: Some(identifier(task)?),
                config_id: Some(identifier(config)?),
                ..Self::new(CONFIG, "GET, DELETE")
            }),
            _ => None,
        }
    }

    const fn new(methods: &'static [(Method, Operation)], allow: &'static str) -> Self {
        Self { methods, allow, task_id: None, config_id: None }
    }

    /// `{id}` or `{id}:verb`. A colon that is part of the id stays there, as it does in the template of the
    /// definition; only the two verbs are cut off.
    fn of_task(segment: &str) -> Option<Self> {
        let (id, place) = match segment.rsplit_once(':') {
            Some((id, "cancel")) => (id, Self::new(CANCEL, "POST")),
            Some((id, "subscribe")) => (id, Self::new(SUBSCRIBE, "GET, POST")),
            Some(_) | None => (segment, Self::new(TASK, "GET")),
        };
        Some(Self { task_id: Some(identifier(id)?), ..place })
    }
}

/// A segment that names something: decoded, and not empty.
fn identifier(segment: &str) -> Option<String> {
    percent_decode(segment).map(Cow::into_owned).filter(|id| !id.is_empty())
}

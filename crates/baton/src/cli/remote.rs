//! Where a task lives: at an agent, as one of its callers sees it, or on a node, as its operator sees it.

use baton_core::model::{Message, TaskObject};
use baton_wire::query::segment;
use baton_wire::request::SendMessageRequest;
use baton_wire::response::encode;
use bytes::Bytes;
use http::Method;
use serde::Serialize;

use crate::federation::{Client, Error, Events};

use super::access::{Access, NodeArgs};
use super::node::{Node, Shown, quoted};
use super::{Failure, Global};

/// Whose task a command is about.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct RemoteArgs {
    /// The agent that has the task; without it, the tasks of the node are meant
    #[arg(long, value_name = "URL", conflicts_with = "node")]
    pub url: Option<String>,
    #[command(flatten)]
    pub node: NodeArgs,
}

/// The two ways to a task.
#[derive(Debug)]
pub enum Remote {
    Agent {
        client: Box<Client>,
        /// What a resumed command needs to find it again.
        flags: String,
    },
    Node(Box<Node>),
}

impl Remote {
    pub async fn connect(global: &Global, args: &RemoteArgs) -> Result<Self, Failure> {
        match &args.url {
            Some(url) => Self::agent(url, &args.node.access).await,
            None => Ok(Self::Node(Box::new(Node::new(global, &args.node)?))),
        }
    }

    pub async fn agent(url: &str, access: &Access) -> Result<Self, Failure> {
        let client = Client::connect(url, &access.options()?).await?;
        let flags = format!(" --url {}{}", quoted(url), access.flags());
        Ok(Self::Agent { client: Box::new(client), flags })
    }

    /// Whether events can be asked for; without them the task is polled.
    pub fn streams(&self) -> bool {
        match self {
            Self::Agent { client, .. } => client.streams(),
            Self::Node(_) => true,
        }
    }

    pub async fn task(&self, id: &str) -> Result<TaskObject, Error> {
        match self {
            Self::Agent { client, .. } => client.get(id, None).await,
            Self::Node(node) => {
                let json =
                    node.try_call(Method::GET, &format!("tasks/{}", segment(id)), Bytes::new()).await?;
                shown(json.as_str()).map(|shown| shown.task)
            }
        }
    }

    pub async fn subscribe(&self, id: &str, last_event_id: Option<&str>) -> Result<Events, Error> {
        match self {
            Self::Agent { client, .. } => client.subscribe(id, last_event_id).await,
            Self::Node(node) => node.events(id, last_event_id).await,
        }
    }

    /// Gives a node the operator's word on a task; answers the task as it is then.
    pub async fn say(node: &Node, id: &str, message: &Message) -> Result<TaskObject, Error> {
        #[derive(Serialize)]
        struct Said<'a> {
            message: &'a Message,
        }
        let path = format!("tasks/{}/messages", segment(id));
        let json = node.try_call(Method::POST, &path, encode(&Said { message })).await?;
        shown(json.as_str()).map(|shown| shown.task)
    }

    /// The command that comes back to a task.
    pub fn resume(&self, verb: &str, id: &str) -> String {
        let flags = match self {
            Self::Agent { flags, .. } => flags,
            Self::Node(node) => &node.flags,
        };
        format!("baton task {verb} {}{flags}", quoted(id))
    }

    /// What an error means here.
    pub fn explain(&self, error: Error) -> Failure {
        match self {
            Self::Node(node) => node.explain(error),
            Self::Agent { client, .. } => {
                let denied = error.remote().is_some_and(|remote| matches!(remote.http_status, 401 | 403));
                let failure = Failure::from(error);
                if denied && client.withholds_token() {
                    return failure.with_hint(&format!(
                        "The token was not sent: it was given for another origin than {}, which the card names. \
                         Call that URL itself if it is to have the token.",
                        client.interface().address
                    ));
                }
                failure
            }
        }
    }
}

fn shown(json: &str) -> Result<Shown, Error> {
    serde_json::from_str(json).map_err(|why| Error::Unreadable {
        url: "the node".to_owned(),
        why: format!("the answer cannot be read: {why}"),
    })
}

/// A message as a request; the answer is waited for unless told otherwise.
pub fn request(message: Message, at_once: bool) -> SendMessageRequest {
    let mut request = SendMessageRequest { message, ..SendMessageRequest::default() };
    request.configuration.return_immediately = at_once;
    request
}

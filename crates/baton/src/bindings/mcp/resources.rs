//! Tasks and queues as resources: what they are called, who may look at them, and what is seen.

use baton_core::ident::{AgentName, TaskId};
use baton_core::model::TaskState;
use baton_core::time::Timestamp;
use baton_store::{By, Verb};
use rmcp::ErrorData;
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};
use serde::Serialize;

use crate::access::Caller;
use crate::bindings::work;
use crate::service::list::List;
use crate::service::{Error, Scope, Service};

const TASKS: &str = "baton://tasks/";
const QUEUES: &str = "baton://queues/";

/// Tasks of each agent that are listed as resources, the newest status first.
const LISTED: usize = 20;

/// A resource that there is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Wanted {
    Task(TaskId),
    Queue(AgentName),
}

impl Wanted {
    pub fn uri(&self) -> String {
        match self {
            Self::Task(id) => format!("{TASKS}{id}"),
            Self::Queue(agent) => format!("{QUEUES}{agent}"),
        }
    }

    pub fn parse(uri: &str) -> Option<Self> {
        let task = uri.strip_prefix(TASKS).and_then(TaskId::parse).map(Self::Task);
        let queue = || uri.strip_prefix(QUEUES).and_then(|name| AgentName::parse(name).ok()).map(Self::Queue);
        task.or_else(queue)
    }
}

/// What a worker sees of a queue.
#[derive(Serialize)]
struct Queue<'a> {
    agent: &'a AgentName,
    /// Tasks that are submitted and that nobody has begun.
    submitted: u64,
    working: u64,
    waiting_for_their_owners: u64,
    paused: bool,
    /// When the next task can be claimed; in the past where one can be now.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_at: Option<Timestamp>,
}

pub fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{TASKS}{{id}}"), "task")
            .with_title("A task")
            .with_description("An A2A Task, for its owner and for whoever works on it")
            .with_mime_type("application/json"),
        ResourceTemplate::new(format!("{QUEUES}{{agent}}"), "queue")
            .with_title("The queue of an agent")
            .with_description("How many tasks wait, for its workers; subscribe to hear when there is work")
            .with_mime_type("application/json"),
    ]
}

/// The queues that a caller may serve, and its newest tasks.
pub async fn list(service: &Service, caller: &Caller) -> Vec<Resource> {
    let queues = work::agents(service, caller).into_iter().map(|agent| {
        let name = format!("queue of {agent}");
        Resource::new(Wanted::Queue(agent).uri(), name).with_mime_type("application/json")
    });
    let mut all: Vec<_> = queues.collect();
    if !caller.allows(Verb::Read) {
        return all;
    }
    for agent in service.agents.list() {
        if !caller.reaches(agent.name()) {
            continue;
        }
        let scope = Scope { agent, caller: caller.clone() };
        let list = List { size: Some(LISTED), history: Some(0), ..List::default() };
        let Ok(listed) = service.list(&scope, list).await else { continue };
        all.extend(listed.tasks.iter().map(|task| {
            let name = format!("task of {}", task.task.agent);
            Resource::new(Wanted::Task(task.task.id).uri(), name)
                .with_description(task.task.state.shown().as_str())
                .with_mime_type("application/json")
        }));
    }
    all
}

/// The resource of this name, where the caller may look at it. One of somebody else answers as one that is not there.
pub async fn find(service: &Service, caller: &Caller, uri: &str) -> Result<Wanted, ErrorData> {
    let wanted = Wanted::parse(uri).ok_or_else(|| not_found(uri))?;
    match &wanted {
        Wanted::Queue(agent) if work::agents(service, caller).contains(agent) => Ok(wanted),
        Wanted::Queue(_) => Err(not_found(uri)),
        Wanted::Task(id) => {
            task(service, caller, *id).await.map_err(|why| failed(why, uri))?;
            Ok(wanted)
        }
    }
}

pub async fn read(service: &Service, caller: &Caller, uri: &str) -> Result<ResourceContents, ErrorData> {
    let text = match find(service, caller, uri).await? {
        Wanted::Task(id) => {
            let task = task(service, caller, id).await.map_err(|why| failed(why, uri))?;
            serde_json::to_string(&task.object(None, true))
        }
        Wanted::Queue(agent) => {
            let queue = queue(service, &agent).await.map_err(|why| failed(why, uri))?;
            serde_json::to_string(&queue)
        }
    };
    let text = text.map_err(|why| ErrorData::internal_error(why.to_string(), None))?;
    Ok(ResourceContents::text(text, uri).with_mime_type("application/json"))
}

/// A task of the caller's own, or one that it works on.
async fn task(
    service: &Service,
    caller: &Caller,
    id: TaskId,
) -> Result<std::sync::Arc<baton_core::task::Snapshot>, Error> {
    let head = service.store.find_head(&By::Node, id).await?.ok_or(Error::TaskNotFound)?;
    if !caller.reaches(&head.agent) {
        return Err(Error::TaskNotFound);
    }
    let scope = service.scope(&head.agent, caller.clone()).map_err(|_| Error::TaskNotFound)?;
    let text = id.to_string();
    match service.load(&scope, &text).await {
        Err(Error::TaskNotFound | Error::Forbidden(_)) => {
            service.held(&scope, &text).await.map_err(|_| Error::TaskNotFound)
        }
        other => other,
    }
}

async fn queue<'a>(service: &Service, agent: &'a AgentName) -> Result<Queue<'a>, Error> {
    let counts = service.store.status().await?.tasks;
    let count = |states: &[TaskState]| -> u64 {
        counts
            .iter()
            .filter(|(of, state, _)| of == agent && states.contains(state))
            .map(|(_, _, count)| count)
            .sum()
    };
    Ok(Queue {
        agent,
        submitted: count(&[TaskState::Submitted]),
        working: count(&[TaskState::Working]),
        waiting_for_their_owners: count(&[TaskState::InputRequired, TaskState::AuthRequired]),
        paused: service.controls.pauses(agent),
        next_at: service.store.next_ready(agent).await?,
    })
}

fn not_found(uri: &str) -> ErrorData {
    ErrorData::resource_not_found(format!("there is no resource {uri}"), None)
}

fn failed(why: Error, uri: &str) -> ErrorData {
    match why {
        Error::Unavailable(_) | Error::Internal(_) => {
            let fault = crate::bindings::fault::of(why, None);
            ErrorData::internal_error(fault.message().into_owned(), None)
        }
        _ => not_found(uri),
    }
}

//! The tools: which there are, for whom, and what each of them does.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use baton_core::ident::{AgentName, TaskId};
use baton_core::json::Object;
use baton_core::limits::HISTORY_RETURNED;
use baton_core::model::{Message, Part, Role};
use baton_store::{By, Verb};
use rmcp::handler::server::common::{schema_for_output, schema_for_type};
use rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use rmcp::schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::arguments::{Answer, Cancel, CreateFor, GetTask, ListTasks};
use super::exact::Exact;
use super::results::{self, Page, Shown, of_node, of_others};
use crate::access::Caller;
use crate::bindings::body;
use crate::bindings::work::{
    self, Ask, Claim, ClaimNext, Claimed, Complete, Fail, Give, Heartbeat, Progress, Standing,
};
use crate::clock::new_id;
use crate::service::list::List;
use crate::service::send::{Send, Sent, check_key};
use crate::service::{Error, Scope, Service, timing};

/// A tool, and what a grant must say for it.
struct Known {
    tool: Tool,
    needs: &'static [Verb],
}

/// Reads what is there, and changes nothing.
const READS: [&str; 2] = ["get_task", "list_tasks"];

static TOOLS: LazyLock<Vec<Known>> = LazyLock::new(|| {
    vec![
        known::<CreateFor, Shown>("create_for", "Hand work to an agent", &[Verb::Send]),
        known::<Claim, Claimed>("claim", "Claim one task by its id", &[Verb::Work]),
        known::<ClaimNext, Claimed>("claim_next", "Claim the tasks whose turn it is", &[Verb::Work]),
        known::<Heartbeat, Standing>("heartbeat", "Keep a task: the lease begins anew", &[Verb::Work]),
        known::<Progress, Standing>(
            "progress",
            "Say how it goes, or give a piece of the result",
            &[Verb::Work],
        ),
        known::<Ask, Standing>("ask", "Ask the owner of a task that you hold", &[Verb::Work]),
        known::<Complete, Standing>("complete", "End a task that you hold with its result", &[Verb::Work]),
        known::<Fail, Standing>("fail", "End your try at a task without a result", &[Verb::Work]),
        known::<Give, Standing>("release", "Give a task back unharmed, for another worker", &[Verb::Work]),
        known::<Give, Standing>("reject", "Refuse a task for good", &[Verb::Work]),
        known::<GetTask, Shown>("get_task", "Look at a task", &[Verb::Read, Verb::Work]),
        known::<ListTasks, Page>("list_tasks", "List your tasks with an agent", &[Verb::Read]),
        known::<Answer, Shown>("answer", "Answer a task's question, or say more to it", &[Verb::Send]),
        known::<Cancel, Shown>("cancel", "End a task of yours", &[Verb::Cancel]),
    ]
});

fn known<A: JsonSchema + 'static, O: JsonSchema + 'static>(
    name: &'static str,
    title: &'static str,
    needs: &'static [Verb],
) -> Known {
    let input: Arc<JsonObject> = schema_for_type::<A>();
    let told = input.get("description").and_then(|text| text.as_str()).unwrap_or(title).to_owned();
    let mut tool = Tool::new(name, told, input);
    tool.title = Some(title.to_owned());
    tool.output_schema = Some(schema_for_output::<O>());
    let reads = READS.contains(&name);
    tool.annotations =
        Some(ToolAnnotations::new().read_only(reads).destructive(matches!(name, "cancel" | "reject")));
    Known { tool, needs }
}

/// The tools that this caller may use: what its grant does not say is not offered.
pub fn offered(service: &Service, caller: &Caller) -> Vec<Tool> {
    let works = !work::agents(service, caller).is_empty();
    let may = |verb: &Verb| caller.allows(*verb) && (*verb != Verb::Work || works);
    TOOLS.iter().filter(|known| known.needs.iter().any(may)).map(|known| known.tool.clone()).collect()
}

/// Whether there is a tool of this name at all.
pub fn exists(name: &str) -> bool {
    TOOLS.iter().any(|known| known.tool.name == name)
}

/// Calls a tool with its arguments as they were written. What is refused is an answer too.
pub async fn call(
    (service, exact): (&Service, &Exact),
    caller: &Caller,
    name: &str,
    arguments: &str,
) -> CallToolResult {
    let task = task_in(arguments);
    match Box::pin(run((service, exact), caller, name, arguments)).await {
        Ok(result) => result,
        Err(why) => results::refused(why, task.as_deref()),
    }
}

/// The task that the arguments name, for what is said of it.
fn task_in(arguments: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Named {
        task_id: String,
    }
    serde_json::from_str::<Named>(arguments).ok().map(|named| named.task_id)
}

async fn run(
    (service, exact): (&Service, &Exact),
    caller: &Caller,
    name: &str,
    arguments: &str,
) -> Result<CallToolResult, Error> {
    match name {
        "create_for" => of_others(exact, &create_for(service, caller, read(arguments)?).await?),
        "claim" => of_others(exact, &work::claim(service, caller, read(arguments)?).await?),
        "claim_next" => of_others(exact, &work::claim_next(service, caller, read(arguments)?).await?),
        "heartbeat" => report((service, exact), caller, read::<Heartbeat>(arguments)?.try_into()?).await,
        "progress" => report((service, exact), caller, read::<Progress>(arguments)?.try_into()?).await,
        "ask" => report((service, exact), caller, read::<Ask>(arguments)?.try_into()?).await,
        "complete" => report((service, exact), caller, read::<Complete>(arguments)?.try_into()?).await,
        "fail" => report((service, exact), caller, read::<Fail>(arguments)?.try_into()?).await,
        "release" => report((service, exact), caller, read::<Give>(arguments)?.back()).await,
        "reject" => report((service, exact), caller, read::<Give>(arguments)?.up()).await,
        "get_task" => of_others(exact, &get_task(service, caller, read(arguments)?).await?),
        "list_tasks" => of_others(exact, &list_tasks(service, caller, read(arguments)?).await?),
        "answer" => of_others(exact, &answer(service, caller, read(arguments)?).await?),
        "cancel" => {
            let Cancel { task_id, agent } = read(arguments)?;
            let scope = scope_of(service, caller, agent.as_deref(), &task_id).await?;
            let task = service.cancel(&scope, &task_id).await?.object(None, true);
            of_others(exact, &Shown { task: Some(task), message: None })
        }
        _ => Err(Error::invalid("name", "is no tool of this node")),
    }
}

/// An array would be read as the members in their order.
fn read<T: DeserializeOwned>(arguments: &str) -> Result<T, Error> {
    if !arguments.trim_start().starts_with('{') {
        return Err(Error::invalid("arguments", "is no JSON object"));
    }
    body::parse(arguments.as_bytes())
}

async fn report(
    (service, exact): (&Service, &Exact),
    caller: &Caller,
    words: work::Words,
) -> Result<CallToolResult, Error> {
    let standing = work::report(service, caller, words).await?;
    if standing.messages.is_empty() { of_node(exact, &standing) } else { of_others(exact, &standing) }
}

async fn create_for(service: &Service, caller: &Caller, said: CreateFor) -> Result<Shown, Error> {
    let name = AgentName::parse(&said.agent).map_err(|_| Error::AgentNotFound)?;
    let scope = service.scope(&name, caller.clone())?;
    // An empty text is none, as everywhere in A2A.
    let context_id = said.context_id.filter(|id| !id.is_empty());
    let message = Message { context_id, ..message(said.text, said.parts, said.message_id)? };
    if let Some(key) = &said.idempotency_key {
        check_key("idempotency_key", key)?;
    }
    let metadata = with_times(said.metadata, said.priority, (said.not_before, said.deadline))?;
    let send = Send {
        message,
        accepted_output_modes: said.accepted_output_modes,
        metadata,
        extensions: Vec::new(),
        return_immediately: said.wait_seconds.unwrap_or(0) == 0,
        idempotency_key: said.idempotency_key,
        push: None,
        wait: said.wait_seconds.map(Duration::from_secs),
    };
    Ok(shown(service.send(&scope, Box::new(send)).await?))
}

async fn answer(service: &Service, caller: &Caller, said: Answer) -> Result<Shown, Error> {
    let scope = scope_of(service, caller, said.agent.as_deref(), &said.task_id).await?;
    let message = Message { task_id: Some(said.task_id), ..message(said.text, said.parts, said.message_id)? };
    let send = Send {
        message,
        accepted_output_modes: Vec::new(),
        metadata: None,
        extensions: Vec::new(),
        return_immediately: said.wait_seconds.unwrap_or(0) == 0,
        idempotency_key: None,
        push: None,
        wait: said.wait_seconds.map(Duration::from_secs),
    };
    Ok(shown(service.send(&scope, Box::new(send)).await?))
}

async fn get_task(service: &Service, caller: &Caller, said: GetTask) -> Result<Shown, Error> {
    let scope = scope_of(service, caller, said.agent.as_deref(), &said.task_id).await?;
    let owned = service.load(&scope, &said.task_id).await;
    let snapshot = match owned {
        // Not its own: whoever works on it may look at it.
        Err(why @ (Error::TaskNotFound | Error::Forbidden(_))) => {
            match service.held(&scope, &said.task_id).await {
                Ok(held) => held,
                Err(_) => return Err(why),
            }
        }
        other => other?,
    };
    Ok(Shown { task: Some(snapshot.object(said.history_length, true)), message: None })
}

async fn list_tasks(service: &Service, caller: &Caller, said: ListTasks) -> Result<Page, Error> {
    let scope = match &said.agent {
        Some(agent) => {
            let name = AgentName::parse(agent).map_err(|_| Error::AgentNotFound)?;
            service.scope(&name, caller.clone())?
        }
        None => only(service, caller)?,
    };
    let list = List {
        context: said.context_id,
        state: said.state,
        since: None,
        size: said.page_size,
        page_token: said.page_token,
        history: Some(0),
        artifacts: false,
    };
    if list.size.is_some_and(|size| !(1..=100).contains(&size)) {
        return Err(Error::invalid("page_size", "is a number from 1 to 100"));
    }
    let listed = service.list(&scope, list).await?;
    Ok(Page {
        tasks: listed.tasks.iter().map(|task| task.object(Some(0), false)).collect(),
        next_page_token: listed.next_page_token,
        total_size: listed.total,
    })
}

/// The one agent that it can only be.
fn only(service: &Service, caller: &Caller) -> Result<Scope, Error> {
    let all = service.agents.list();
    let reached: Vec<_> = all.iter().map(|agent| agent.name()).filter(|name| caller.reaches(name)).collect();
    match &reached[..] {
        [agent] => service.scope(agent, caller.clone()),
        [] => Err(Error::invalid("agent", "names no agent, and the grant reaches none")),
        some => {
            let names: Vec<_> = some.iter().map(|name| name.as_str()).collect();
            Err(Error::invalid("agent", format!("is needed: the grant reaches {}", names.join(", "))))
        }
    }
}

/// The door of a task's agent. A task of an agent that the caller does not reach answers as one that is not there.
async fn scope_of(
    service: &Service,
    caller: &Caller,
    agent: Option<&str>,
    task: &str,
) -> Result<Scope, Error> {
    if let Some(agent) = agent {
        let name = AgentName::parse(agent).map_err(|_| Error::AgentNotFound)?;
        return service.scope(&name, caller.clone());
    }
    let id = TaskId::parse(task).ok_or(Error::TaskNotFound)?;
    let head = service.store.find_head(&By::Node, id).await?.ok_or(Error::TaskNotFound)?;
    if !caller.reaches(&head.agent) {
        return Err(Error::TaskNotFound);
    }
    service.scope(&head.agent, caller.clone()).map_err(|_| Error::TaskNotFound)
}

fn shown(sent: Sent) -> Shown {
    match sent {
        Sent::Task(task) => Shown { task: Some(task.object(Some(HISTORY_RETURNED), true)), message: None },
        Sent::Message(message) => Shown { task: None, message: Some(message) },
    }
}

fn message(text: Option<String>, parts: Option<Vec<Part>>, id: Option<String>) -> Result<Message, Error> {
    let parts = match (text, parts) {
        (Some(_), Some(_)) => {
            return Err(Error::invalid("parts", "stand beside a text: give one of the two"));
        }
        (Some(text), None) => vec![Part::text(text)],
        (None, Some(parts)) => parts,
        (None, None) => return Err(Error::invalid("text", "is needed, or parts: say what is to be done")),
    };
    let id = id.unwrap_or_else(|| new_id().to_string());
    Ok(Message { parts, ..Message::text(Role::User, id, "") })
}

/// A request's metadata with what stands beside it here, as SendMessage would bring it.
fn with_times(
    metadata: Option<Object>,
    priority: Option<i16>,
    (not_before, deadline): (Option<String>, Option<String>),
) -> Result<Option<Object>, Error> {
    let said = [
        (timing::PRIORITY, priority.map(|number| number.to_string())),
        (timing::NOT_BEFORE, not_before.map(|text| serde_json::Value::from(text).to_string())),
        (timing::DEADLINE, deadline.map(|text| serde_json::Value::from(text).to_string())),
    ];
    if said.iter().all(|(_, value)| value.is_none()) {
        return Ok(metadata);
    }
    let text = metadata.as_ref().map_or("{}", Object::as_str);
    let mut members: std::collections::BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(text).map_err(|why| Error::invalid("metadata", why.to_string()))?;
    for (member, value) in said {
        if let Some(value) = value {
            let raw = RawValue::from_string(value).map_err(|why| Error::invalid(member, why.to_string()))?;
            members.insert(member.to_owned(), raw);
        }
    }
    Object::from_serialize(&members).map(Some).map_err(|why| Error::Internal(why.to_string()))
}

//! What workers say and hear, over MCP and over HTTP alike: the same arguments, the same answers, one walk for both doors. It
//! knows of neither.

mod answers;
mod arguments;

use std::time::Duration;

use baton_core::ident::{AgentName, TaskId};
use baton_core::model::{Artifact, Message, Part, Role};
use baton_core::task::{Chunk, Interruption};
use baton_store::{By, Verb};

pub use answers::{Claimed, Standing};
pub use arguments::{Ask, Claim, ClaimNext, Complete, Fail, Give, Heartbeat, Kind, Progress};

use crate::access::Caller;
use crate::service::work::{Report, Wanted};
use crate::service::{Error, Scope, Service};

/// The artifact that a result becomes, where the worker names none.
const RESULT: &str = "result";

/// A worker's words about a task that it holds.
#[derive(Clone, Debug)]
pub struct Words {
    agent: Option<String>,
    task_id: String,
    lease_token: String,
    after_seq: Option<u64>,
    report: Report,
}

/// Claims one task by its id.
pub async fn claim(service: &Service, caller: &Caller, claim: Claim) -> Result<Claimed, Error> {
    let scope = match &claim.agent {
        Some(agent) => at(service, caller, agent)?,
        None => of_task(service, caller, &claim.task_id).await?,
    };
    let lease = claim.lease_seconds.map(Duration::from_secs);
    let wanted = Wanted { task: Some(claim.task_id), most: 1, lease, wait: Duration::ZERO };
    Ok(Claimed::of(&scope, service.claim(&scope, wanted).await?))
}

/// Claims the tasks whose turn it is.
pub async fn claim_next(service: &Service, caller: &Caller, claim: ClaimNext) -> Result<Claimed, Error> {
    let scope = match &claim.agent {
        Some(agent) => at(service, caller, agent)?,
        None => only(service, caller)?,
    };
    let lease = claim.lease_seconds.map(Duration::from_secs);
    let wait = Duration::from_secs(claim.wait_seconds.unwrap_or(0));
    let wanted = Wanted { task: None, most: claim.max.unwrap_or(1), lease, wait };
    Ok(Claimed::of(&scope, service.claim(&scope, wanted).await?))
}

/// Reports on a task.
pub async fn report(service: &Service, caller: &Caller, words: Words) -> Result<Standing, Error> {
    let Words { agent, task_id, lease_token, after_seq, report } = words;
    let scope = match &agent {
        Some(agent) => at(service, caller, agent)?,
        None => of_task(service, caller, &task_id).await?,
    };
    Ok(Standing::of(service.report(&scope, (&task_id, &lease_token), report, after_seq).await?))
}

/// Agents whose tasks this caller may work on.
pub fn agents(service: &Service, caller: &Caller) -> Vec<AgentName> {
    let all = service.agents.list();
    let ours = all.iter().filter(|agent| agent.pull().is_some() && caller.reaches(agent.name()));
    if caller.allows(Verb::Work) { ours.map(|agent| agent.name().clone()).collect() } else { Vec::new() }
}

fn at(service: &Service, caller: &Caller, agent: &str) -> Result<Scope, Error> {
    let name = AgentName::parse(agent).map_err(|_| Error::AgentNotFound)?;
    service.scope(&name, caller.clone())
}

/// The one agent that it can only be.
fn only(service: &Service, caller: &Caller) -> Result<Scope, Error> {
    match &agents(service, caller)[..] {
        [agent] => service.scope(agent, caller.clone()),
        [] if !caller.allows(Verb::Work) => Err(Error::Forbidden(Verb::Work)),
        [] => Err(Error::invalid("agent", "names no agent, and the grant reaches none that workers serve")),
        some => {
            let names: Vec<_> = some.iter().map(AgentName::as_str).collect();
            Err(Error::invalid("agent", format!("is needed: the grant reaches {}", names.join(", "))))
        }
    }
}

/// The agent of a task. A task of an agent that the caller does not work for answers as one that is not there.
async fn of_task(service: &Service, caller: &Caller, id: &str) -> Result<Scope, Error> {
    if !caller.allows(Verb::Work) {
        return Err(Error::Forbidden(Verb::Work));
    }
    let id = TaskId::parse(id).ok_or(Error::TaskNotFound)?;
    let head = service.store.find_head(&By::Node, id).await?.ok_or(Error::TaskNotFound)?;
    if !caller.reaches(&head.agent) {
        return Err(Error::TaskNotFound);
    }
    service.scope(&head.agent, caller.clone()).map_err(|_| Error::TaskNotFound)
}

/// A worker's message of this text; none where it says nothing.
fn message(text: Option<String>) -> Option<Message> {
    text.filter(|text| !text.trim().is_empty()).map(|text| Message::text(Role::Agent, "", text))
}

impl TryFrom<Heartbeat> for Words {
    type Error = Error;

    fn try_from(said: Heartbeat) -> Result<Self, Error> {
        let Heartbeat { agent, task_id, lease_token, lease_seconds, after_seq } = said;
        let report = Report::Heartbeat { lease: lease_seconds.map(Duration::from_secs) };
        Ok(Self { agent, task_id, lease_token, after_seq, report })
    }
}

impl TryFrom<Progress> for Words {
    type Error = Error;

    fn try_from(said: Progress) -> Result<Self, Error> {
        let Progress { agent, task_id, lease_token, after_seq, .. } = said;
        let message = message(said.message);
        let chunk = said.parts.map(|parts| Chunk {
            artifact: artifact(said.artifact_id, said.name, parts).into(),
            append: said.append,
            last_chunk: said.last_chunk,
        });
        if message.is_none() && chunk.is_none() {
            let what = "is needed, or parts: say how it goes, or give a piece of the result";
            return Err(Error::invalid("message", what));
        }
        Ok(Self { agent, task_id, lease_token, after_seq, report: Report::Progress { message, chunk } })
    }
}

impl TryFrom<Ask> for Words {
    type Error = Error;

    fn try_from(said: Ask) -> Result<Self, Error> {
        let Ask { agent, task_id, lease_token, question, kind, after_seq } = said;
        let kind = match kind.unwrap_or_default() {
            Kind::Input => Interruption::Input,
            Kind::Auth => Interruption::Auth,
        };
        let message = message(Some(question))
            .ok_or_else(|| Error::invalid("question", "is empty: say what the owner is to answer"))?;
        let report = Report::Ask { kind, message };
        Ok(Self { agent, task_id, lease_token, after_seq, report })
    }
}

impl TryFrom<Complete> for Words {
    type Error = Error;

    fn try_from(said: Complete) -> Result<Self, Error> {
        let Complete { agent, task_id, lease_token, .. } = said;
        let parts = match (said.result, said.parts) {
            (Some(_), Some(_)) => {
                return Err(Error::invalid("parts", "stand beside a result: give one of the two"));
            }
            (Some(text), None) => vec![Part::text(text)],
            (None, parts) => parts.unwrap_or_default(),
        };
        let artifacts =
            if parts.is_empty() { Vec::new() } else { vec![artifact(said.artifact_id, said.name, parts)] };
        let report = Report::Complete { message: message(said.message), artifacts };
        Ok(Self { agent, task_id, lease_token, after_seq: None, report })
    }
}

impl TryFrom<Fail> for Words {
    type Error = Error;

    fn try_from(said: Fail) -> Result<Self, Error> {
        let Fail { agent, task_id, lease_token, reason, retryable } = said;
        let report = Report::Fail { message: message(reason), retryable };
        Ok(Self { agent, task_id, lease_token, after_seq: None, report })
    }
}

impl Give {
    /// Gives the task back unharmed.
    pub fn back(self) -> Words {
        let report = Report::Release { message: message(self.reason) };
        Words {
            agent: self.agent,
            task_id: self.task_id,
            lease_token: self.lease_token,
            after_seq: None,
            report,
        }
    }

    /// Will not do it.
    pub fn up(self) -> Words {
        let report = Report::Reject { message: message(self.reason) };
        Words {
            agent: self.agent,
            task_id: self.task_id,
            lease_token: self.lease_token,
            after_seq: None,
            report,
        }
    }
}

fn artifact(id: Option<String>, name: Option<String>, parts: Vec<Part>) -> Artifact {
    let artifact_id = id.unwrap_or_else(|| RESULT.to_owned());
    Artifact { artifact_id, name, parts, ..Artifact::default() }
}

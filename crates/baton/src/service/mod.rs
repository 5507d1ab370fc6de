//! The use cases, free of any protocol: doors parse, call one of these, and encode.

pub mod agents;
pub mod audit;
pub mod cancel;
pub mod configuration;
pub mod control;
pub mod deliveries;
pub mod error;
pub mod follow;
pub mod friends;
pub mod grants;
pub mod hub;
pub mod list;
pub mod load;
pub mod manifest;
pub mod media;
pub mod oauth;
pub mod pace;
pub mod peers;
pub mod push;
pub mod retry;
pub mod send;
pub mod sign_in;
pub mod timing;
pub mod work;

use std::sync::{Arc, PoisonError, RwLock};

use baton_core::ident::{AgentName, Owner, TaskId};
use baton_core::task::Input;
use baton_core::time::Timestamp;
use baton_store::{Applied, By, Op, Store, Verb};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::access::jwt::Issuers;
use crate::access::{Caller, Refusals, Seal};
use crate::clock::{Clock, new_id};
use crate::config::settings::{Limits, Retention};
use crate::federation::signature::Signer;
use crate::keys::Keys;
use crate::net::dialer::Dialer;
use crate::worker::dispatcher::Dispatcher;
use agents::{Agents, Entry};
use configuration::Section;
use control::Controls;
pub use error::Error;
use hub::Hub;
use manifest::Site;
use oauth::Documents;
use sign_in::SignIn;

/// What every use case works with. One per node, cheap to clone.
#[derive(Clone)]
pub struct Service {
    pub store: Arc<dyn Store>,
    pub hub: Arc<Hub>,
    pub agents: Arc<Agents>,
    pub site: Arc<Site>,
    pub keys: Arc<Keys>,
    pub signer: Arc<Signer>,
    pub dispatcher: Arc<Dispatcher>,
    pub clock: Clock,
    /// How places are reached that a client names.
    pub dialer: Dialer,
    pub seal: Seal,
    /// Whose word on who somebody is counts.
    pub issuers: Issuers,
    /// Where operators sign in, besides with a link.
    pub sign_in: Option<Arc<SignIn>>,
    /// What clients of OAuth say of themselves at their URLs.
    pub documents: Arc<Documents>,
    /// Who was refused lately.
    pub refusals: Arc<Refusals>,
    pub limits: Arc<RwLock<Arc<Limits>>>,
    /// How long tasks that are over are kept.
    pub retention: Retention,
    /// What the operator holds back.
    pub controls: Arc<Controls>,
    /// The configuration in force, to be read by a person.
    pub shown: Arc<RwLock<Arc<Vec<Section>>>>,
    /// The node is draining: no new work, and those who wait get what there is.
    pub draining: CancellationToken,
    /// Rung when a grant changed, and when the node begins to drain or to be a lame duck or ends to be one: whoever serves
    /// one caller for long looks again.
    pub alarm: tokio::sync::watch::Sender<u64>,
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").field("agents", &self.agents).finish_non_exhaustive()
    }
}

/// A caller at one agent's door.
#[derive(Clone, Debug)]
pub struct Scope {
    pub agent: Arc<Entry>,
    pub caller: Caller,
}

impl Scope {
    pub fn by(&self) -> By {
        By::Owner(self.agent.name().clone(), self.owner().clone())
    }

    pub const fn owner(&self) -> &Owner {
        &self.caller.owner
    }

    /// Refuses what the grant does not say.
    pub fn allow(&self, verb: Verb) -> Result<(), Error> {
        if self.caller.allows(verb) { Ok(()) } else { Err(Error::Forbidden(verb)) }
    }
}

impl Service {
    /// The agent of this name as this caller may know it. An agent that the caller has no grant for and that is not
    /// published answers as one that is not there.
    pub fn scope(&self, name: &AgentName, caller: Caller) -> Result<Scope, Error> {
        let agent = self.agents.find(name).ok_or(Error::AgentNotFound)?;
        if caller.reaches(name) {
            return Ok(Scope { agent, caller });
        }
        self.note_refused(&Scope { agent: Arc::clone(&agent), caller }, "-");
        Err(if agent.settings.publish {
            Error::Denied("the grant does not allow this: agent")
        } else {
            Error::AgentNotFound
        })
    }

    /// Applies inputs to one task and answers after the commit.
    pub async fn apply(
        &self,
        by: By,
        task: TaskId,
        inputs: Vec<Input>,
    ) -> Result<Applied, baton_store::Error> {
        self.store.apply(op(new_id(), by, task, inputs, self.now())).await
    }

    /// Runs something to its end: who asks for it may hang up, and all of it is done all the same.
    async fn see_through<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Error> {
        self.dispatcher.spawn(work).await.map_err(|why| Error::Internal(why.to_string()))
    }

    /// The limits that hold now.
    pub fn limits(&self) -> Arc<Limits> {
        Arc::clone(&self.limits.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The configuration in force, section by section, without secrets.
    pub fn configuration(&self) -> Arc<Vec<Section>> {
        Arc::clone(&self.shown.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// No new work from here on; those who wait get what there is.
    pub fn drain(&self) {
        self.draining.cancel();
        self.dispatcher.drain();
        self.ring();
    }

    pub fn ring(&self) {
        self.alarm.send_modify(|count| *count += 1);
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

/// Inputs for a task that is there.
const fn op(id: Uuid, by: By, task: TaskId, inputs: Vec<Input>, now: Timestamp) -> Op {
    Op { id, task, by, create: None, inputs, push: None, now, repeat: false }
}

/// The id that a client wrote, where it can be one of ours.
fn parse_id(text: &str) -> Result<TaskId, Error> {
    TaskId::parse(text).ok_or(Error::TaskNotFound)
}

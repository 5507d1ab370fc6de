//! The agents of this node, as configured now.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use baton_core::ident::AgentName;
use baton_core::limits::LEASE;
use baton_core::task::Policy;
use baton_core::time::Timestamp;

use super::media::Modes;
use crate::config::settings::{Agent, Protocol, Pull, Runner};

/// All agents; replaced as a whole when the configuration is reloaded.
#[derive(Debug, Default)]
pub struct Agents {
    known: RwLock<Arc<Known>>,
}

#[derive(Debug, Default)]
struct Known {
    by_name: BTreeMap<AgentName, Arc<Entry>>,
    default: Option<AgentName>,
    loaded_at: Timestamp,
}

/// One agent and what follows from its settings.
#[derive(Debug)]
pub struct Entry {
    pub settings: Agent,
    pub policy: Policy,
    pub modes: Modes,
}

impl Entry {
    pub fn new(settings: Agent) -> Self {
        let millis = |d: Duration| u64::try_from(d.as_millis()).unwrap_or(u64::MAX);
        let policy = Policy {
            retry: settings.retry,
            max_attempts: settings.max_attempts,
            backoff_ms: millis(settings.backoff),
            lease_ms: millis(lease(&settings.runner)),
            answer_within_ms: millis(settings.answer_within),
            replies: settings.replies,
            takes_messages: takes_messages(&settings.runner),
        };
        let modes = Modes::of(&settings);
        Self { settings, policy, modes }
    }

    pub const fn name(&self) -> &AgentName {
        &self.settings.name
    }

    /// What workers have to keep to, where they do the work.
    pub const fn pull(&self) -> Option<&Pull> {
        match &self.settings.runner {
            Runner::Pull(pull) => Some(pull),
            Runner::Echo | Runner::Process(_) => None,
        }
    }

    /// The work is done in the commit that takes it in.
    pub const fn is_inline(&self) -> bool {
        matches!(self.settings.runner, Runner::Echo)
    }
}

fn takes_messages(runner: &Runner) -> bool {
    match runner {
        Runner::Echo => false,
        Runner::Process(process) => process.protocol == Protocol::Jsonl,
        // Whoever holds the task hears of it when it reports.
        Runner::Pull(_) => true,
    }
}

/// How long somebody at work may be silent.
const fn lease(runner: &Runner) -> Duration {
    match runner {
        Runner::Echo | Runner::Process(_) => LEASE,
        Runner::Pull(pull) => pull.lease,
    }
}

impl Agents {
    /// Replaces them all.
    pub fn replace(
        &self,
        agents: impl IntoIterator<Item = Agent>,
        default: Option<AgentName>,
        now: Timestamp,
    ) {
        let by_name: BTreeMap<_, _> =
            agents.into_iter().map(|agent| (agent.name.clone(), Arc::new(Entry::new(agent)))).collect();
        let only = (by_name.len() == 1).then(|| by_name.keys().next().cloned()).flatten();
        let known = Known { default: default.or(only), by_name, loaded_at: now };
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(known);
    }

    pub fn find(&self, name: &AgentName) -> Option<Arc<Entry>> {
        self.known().by_name.get(name).cloned()
    }

    /// The agent whose card is at the origin.
    pub fn find_default(&self) -> Option<Arc<Entry>> {
        let known = self.known();
        known.by_name.get(known.default.as_ref()?).cloned()
    }

    /// When these agents were configured.
    pub fn loaded_at(&self) -> Timestamp {
        self.known().loaded_at
    }

    pub fn list(&self) -> Vec<Arc<Entry>> {
        self.known().by_name.values().cloned().collect()
    }

    fn known(&self) -> Arc<Known> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }
}

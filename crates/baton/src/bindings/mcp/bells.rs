//! Doorbells: sessions hear that a task of theirs has changed, or that a queue has work. A bell says which resource it is about
//! and nothing else; what there is to see is read by the tools.
//!
//! Each listener has a set of what it is still to hear and a task of its own that says it. Who does not read keeps itself waiting.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use baton_core::ident::AgentName;
use baton_core::model::TaskState;
use baton_core::task::State;
use baton_core::time::Timestamp;
use baton_store::{Content, ListAllQuery};
use rmcp::model::{
    CustomNotification, ResourceUpdatedNotification, ResourceUpdatedNotificationParam, ServerNotification,
};
use rmcp::service::{Peer, SubscriptionSink};
use rmcp::{ErrorData, RoleServer};
use serde_json::json;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::handler::CHANNEL;
use super::resources::Wanted;
use super::rung::{Ready, Rung, SEEN};
use super::sessions::Presence;
use crate::service::Service;

/// Resources that one listener may subscribe to.
const EACH: usize = 256;

/// How long a listener may take to take one bell.
const WITHIN: Duration = Duration::from_secs(30);

/// Tasks that came together are rung for together.
const TOGETHER: Duration = Duration::from_millis(20);

/// The longest time between two looks at a queue.
const LOOK: Duration = Duration::from_mins(1);

/// How a listener is spoken to.
pub enum Line {
    /// A session; with channel messages, where its client takes them.
    Session {
        peer: Peer<RoleServer>,
        channel: bool,
        /// A session without a stream hears what it missed once it opens one.
        presence: Arc<Presence>,
    },
    /// The answer to `subscriptions/listen`.
    Stream(SubscriptionSink),
}

/// A listener.
pub struct Ringer {
    line: Line,
    /// What it is still to hear of: each resource once.
    pending: Mutex<BTreeSet<String>>,
    /// Something is being said that it has not taken yet, or it did not take what it was told last.
    speaking: AtomicBool,
    bell: Notify,
    wants: Mutex<HashMap<Wanted, CancellationToken>>,
    gone: CancellationToken,
}

/// Who listens to a queue, and for which of its tasks it was rung.
#[derive(Default)]
struct Queue {
    ringers: Vec<Arc<Ringer>>,
    /// Whose turn it is.
    turn: usize,
    rung: Rung,
}

/// All bells of the node.
pub struct Bells {
    service: Service,
    queues: Mutex<HashMap<AgentName, Queue>>,
}

impl Bells {
    pub fn new(service: Service) -> Self {
        Self { service, queues: Mutex::default() }
    }

    pub fn join(self: &Arc<Self>, line: Line) -> Arc<Ringer> {
        let ringer = Arc::new(Ringer {
            line,
            pending: Mutex::default(),
            speaking: AtomicBool::new(false),
            bell: Notify::new(),
            wants: Mutex::default(),
            gone: self.service.draining.child_token(),
        });
        tokio::spawn(Arc::clone(self).speak(Arc::clone(&ringer)));
        ringer
    }

    pub fn leave(&self, ringer: &Arc<Ringer>) {
        ringer.gone.cancel();
        for queue in self.queues().values_mut() {
            queue.ringers.retain(|known| !Arc::ptr_eq(known, ringer));
        }
    }

    pub fn subscribe(self: &Arc<Self>, ringer: &Arc<Ringer>, wanted: Wanted) -> Result<(), ErrorData> {
        let token = {
            let mut wants = lock(&ringer.wants);
            if wants.contains_key(&wanted) {
                return Ok(());
            }
            if wants.len() >= EACH {
                let what =
                    format!("a session may subscribe to {EACH} resources; unsubscribe from some first");
                return Err(ErrorData::invalid_params(what, None));
            }
            let token = ringer.gone.child_token();
            wants.insert(wanted.clone(), token.clone());
            token
        };
        match wanted {
            Wanted::Task(id) => {
                let watch = self.service.hub.watch(id);
                tokio::spawn(follow(Arc::clone(ringer), watch, Wanted::Task(id).uri(), token));
            }
            Wanted::Queue(agent) => {
                let mut queues = self.queues();
                let fresh = !queues.contains_key(&agent);
                queues.entry(agent.clone()).or_default().ringers.push(Arc::clone(ringer));
                drop(queues);
                if fresh {
                    tokio::spawn(Arc::clone(self).serve(agent));
                }
            }
        }
        Ok(())
    }

    pub fn unsubscribe(&self, ringer: &Arc<Ringer>, uri: &str) {
        let Some(wanted) = Wanted::parse(uri) else { return };
        if let Some(token) = lock(&ringer.wants).remove(&wanted) {
            token.cancel();
        }
        if let Wanted::Queue(agent) = &wanted
            && let Some(queue) = self.queues().get_mut(agent)
        {
            queue.ringers.retain(|known| !Arc::ptr_eq(known, ringer));
        }
    }

    /// Rings for one queue, as long as somebody listens to it.
    async fn serve(self: Arc<Self>, agent: AgentName) {
        let mut arrivals = self.service.hub.arrivals();
        loop {
            let wait = match self.sweep(&agent).await {
                Ok(Some(wait)) => wait.min(LOOK),
                Ok(None) => return,
                Err(why) => {
                    warn!(agent = %agent, error = %why, "could not look for work to ring for");
                    LOOK
                }
            };
            tokio::select! {
                changed = arrivals.changed() => if changed.is_err() { return },
                () = tokio::time::sleep(wait) => {}
                () = self.service.draining.cancelled() => return,
            }
            tokio::time::sleep(TOGETHER).await;
            arrivals.mark_unchanged();
        }
    }

    /// Rings for what waits and was not rung for yet, or long ago. Answers when to look again; none where nobody listens.
    async fn sweep(&self, agent: &AgentName) -> Result<Option<Duration>, baton_store::Error> {
        let now = self.service.now();
        let (ready, next) = self.waiting(agent, now).await?;
        let paused = self.service.controls.pauses(agent);
        let mut queues = self.queues();
        let Some(queue) = queues.get_mut(agent) else { return Ok(None) };
        queue.ringers.retain(|ringer| !ringer.is_gone());
        if queue.ringers.is_empty() {
            queues.remove(agent);
            return Ok(None);
        }
        let (bells, again) = if paused { (0, None) } else { queue.rung.due(ready, now) };
        for _ in 0..bells {
            queue.next().ring(Wanted::Queue(agent.clone()).uri());
        }
        let again = [again, next].into_iter().flatten().min();
        Ok(Some(again.map_or(LOOK, |at| at.since(now))))
    }

    /// The tasks that can be claimed, and when the next of the others can be.
    async fn waiting(
        &self,
        agent: &AgentName,
        now: Timestamp,
    ) -> Result<(Vec<Ready>, Option<Timestamp>), baton_store::Error> {
        let (mut ready, mut next) = (Vec::new(), None);
        for state in [TaskState::Submitted, TaskState::Working] {
            let query = ListAllQuery {
                agent: Some(agent.clone()),
                state: Some(state),
                after: None,
                size: SEEN,
                content: Content::default(),
            };
            for task in self.service.store.list_all(query).await?.tasks {
                match &task.task.state {
                    State::Ready { not_before: Some(at), .. } if *at > now => {
                        next = [next, Some(*at)].into_iter().flatten().min();
                    }
                    State::Ready { .. } => {
                        ready.push(Ready { id: task.task.id, attempt: task.task.attempt });
                    }
                    State::Running { .. }
                    | State::Interrupted { .. }
                    | State::Completed
                    | State::Failed { .. }
                    | State::Canceled
                    | State::Rejected
                    | State::Answered => {}
                }
            }
        }
        Ok((ready, next))
    }

    /// Says what is pending to a listener, one after the other, until it is gone. A queue's bell that it does not take is
    /// another's: there is work, whoever does it.
    async fn speak(self: Arc<Self>, ringer: Arc<Ringer>) {
        loop {
            tokio::select! {
                () = ringer.bell.notified() => {}
                () = ringer.gone.cancelled() => return,
            }
            loop {
                let Some(uri) = lock(&ringer.pending).pop_first() else { break };
                ringer.speaking.store(true, Ordering::Relaxed);
                let said = tokio::select! {
                    said = tokio::time::timeout(WITHIN, ringer.say(&uri)) => said,
                    () = ringer.gone.cancelled() => {
                        self.pass_on(&uri);
                        return;
                    }
                };
                match said {
                    Ok(Ok(())) => ringer.speaking.store(false, Ordering::Relaxed),
                    Ok(Err(why)) => {
                        debug!(error = %why, "a listener of MCP hears nothing any more");
                        self.leave(&ringer);
                        self.pass_on(&uri);
                        return;
                    }
                    // It will hear of the next change; what it missed it reads with that.
                    Err(_) => {
                        debug!(uri, "a listener of MCP does not read what it is told");
                        self.pass_on(&uri);
                    }
                }
            }
        }
    }

    fn pass_on(&self, uri: &str) {
        let Some(Wanted::Queue(agent)) = Wanted::parse(uri) else { return };
        if let Some(queue) = self.queues().get_mut(&agent)
            && queue.ringers.iter().any(|ringer| ringer.listens() && ringer.has_heard())
        {
            queue.next().ring(uri.to_owned());
        }
    }

    fn queues(&self) -> MutexGuard<'_, HashMap<AgentName, Queue>> {
        lock(&self.queues)
    }
}

impl Queue {
    /// Whose turn it is: the next that has taken what it was told, else the next that listens at all, else the next.
    fn next(&mut self) -> &Ringer {
        let count = self.ringers.len();
        let in_turn = || (1..=count).map(|by| (self.turn + by) % count);
        let first = |fits: fn(&Ringer) -> bool| in_turn().find(|at| fits(&self.ringers[*at]));
        let next = first(|ringer| ringer.listens() && ringer.has_heard()).or_else(|| first(Ringer::listens));
        self.turn = next.unwrap_or((self.turn + 1) % count);
        &self.ringers[self.turn]
    }
}

/// Rings for each change of a task.
async fn follow(
    ringer: Arc<Ringer>,
    mut watch: crate::service::hub::Watch,
    uri: String,
    over: CancellationToken,
) {
    loop {
        tokio::select! {
            () = watch.changed() => ringer.ring(uri.clone()),
            () = over.cancelled() => return,
        }
    }
}

impl Ringer {
    fn ring(&self, uri: String) {
        lock(&self.pending).insert(uri);
        self.bell.notify_one();
    }

    fn listens(&self) -> bool {
        match &self.line {
            Line::Session { presence, .. } => presence.listens(),
            Line::Stream(_) => true,
        }
    }

    fn is_gone(&self) -> bool {
        match &self.line {
            Line::Session { presence, .. } => presence.is_over() || self.gone.is_cancelled(),
            Line::Stream(_) => self.gone.is_cancelled(),
        }
    }

    /// Whether nothing is left to be said to it.
    fn has_heard(&self) -> bool {
        lock(&self.pending).is_empty() && !self.speaking.load(Ordering::Relaxed)
    }

    async fn say(&self, uri: &str) -> Result<(), String> {
        match &self.line {
            Line::Stream(sink) => sink.notify_resource_updated(uri).await.map_err(|why| why.to_string()),
            Line::Session { peer, channel, .. } => {
                let updated = ResourceUpdatedNotification::new(ResourceUpdatedNotificationParam::new(uri));
                let updated = ServerNotification::ResourceUpdatedNotification(updated);
                peer.send_notification(updated).await.map_err(|why| why.to_string())?;
                if !channel {
                    return Ok(());
                }
                let content = match Wanted::parse(uri) {
                    Some(Wanted::Queue(agent)) => {
                        format!(
                            "The queue of {agent} has work. Call claim_next with agent {agent} to take it."
                        )
                    }
                    Some(Wanted::Task(id)) => {
                        format!("Task {id} has changed. Call get_task to look at it.")
                    }
                    None => return Ok(()),
                };
                let said = json!({"content": content, "meta": {"uri": uri}});
                let note = CustomNotification::new(format!("notifications/{CHANNEL}"), Some(said));
                peer.send_notification(ServerNotification::CustomNotification(note))
                    .await
                    .map_err(|why| why.to_string())
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

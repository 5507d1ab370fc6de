//! The loops by which nodes hear of one another: what was gathered is told over a connection of its own, what others tell is
//! passed on, and what is watched is asked for, since what is told may be lost.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use baton_core::ident::TaskId;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_postgres::{AsyncMessage, Client};
use tracing::warn;

use super::failure::Failure;
use super::open::{Connected, connect};
use super::pool::{Ask as _, Shared};
use super::rows::{count, id, uuid};
use super::settings::Settings;
use super::tell::{Gathering, read};
use super::tls::Connector;
use crate::{Elsewhere, Observer};

/// How long changes are gathered after others were told: the first after a silence are told at once.
const GATHER: Duration = Duration::from_millis(8);

/// How often what is watched is asked for.
const POLL: Duration = Duration::from_millis(500);

/// The wait before a lost connection is made again.
const CALL_AGAIN: Duration = Duration::from_millis(250);

/// How often the server is asked whether it is still there, and how long its answer may take; and how often everything may
/// have changed where nothing is heard.
const PULSE: Duration = Duration::from_secs(1);
const PULSE_TAKES: Duration = Duration::from_secs(3);

/// How often kept counts are added up.
const ADD_UP: Duration = Duration::from_secs(1);

/// How often a node says that it is there.
const TOUCH: Duration = Duration::from_hours(1);

/// Own changes that are remembered until the next look at what is watched.
const OWN: usize = 10_000;

/// One channel for each schema.
const CHANNEL: &str = "-- store.channel
SELECT 'baton_' || oid, pg_backend_pid() FROM pg_namespace WHERE nspname = current_schema()";

const NOTIFY: &str = "-- store.notify
SELECT pg_notify($1, $2)";

/// A notification need not outlive a crash of the server: nobody waits for the disk.
const UNSYNCED: &str = "-- store.notify_unsynced
SET synchronous_commit = off";

const FEEL_PULSE: &str = "-- store.feel_pulse
SELECT 1";

const LIST_WATCHED: &str = "-- store.list_watched
SELECT id, seq FROM task WHERE id = ANY ($1)";

/// Where another node does it at that moment, nothing.
const ADD_UP_COUNTS: &str = "-- store.add_up_counts
WITH mine AS (SELECT pg_try_advisory_xact_lock(hashtext('baton.counts'), hashtext(current_schema())) AS locked),
gone AS (DELETE FROM task_count_delta WHERE (SELECT locked FROM mine) RETURNING scope, shown_state, n),
added AS (SELECT scope, shown_state, sum(n)::bigint AS n FROM gone GROUP BY scope, shown_state)
INSERT INTO task_count AS kept (scope, shown_state, n) SELECT scope, shown_state, n FROM added
ON CONFLICT (scope, shown_state) DO UPDATE SET n = kept.n + excluded.n";

/// What this node has to tell.
#[derive(Clone, Debug, Default)]
pub struct Teller(Arc<Telling>);

#[derive(Debug, Default)]
struct Telling {
    to_tell: Gathering,
    /// How far this node itself brought tasks since the last look at what is watched.
    own: Mutex<HashMap<TaskId, u64>>,
    /// Other nodes are heard.
    hears: AtomicBool,
}

impl Teller {
    pub fn tell(&self, change: Elsewhere) {
        self.tell_all(vec![change]);
    }

    pub fn tell_all(&self, changes: Vec<Elsewhere>) {
        let mut own = self.0.own.lock().unwrap_or_else(PoisonError::into_inner);
        for change in &changes {
            if let Elsewhere::Task { id, seq } = change
                && own.len() < OWN
            {
                own.insert(*id, *seq);
            }
        }
        drop(own);
        self.0.to_tell.add(changes);
    }

    fn take_own(&self) -> HashMap<TaskId, u64> {
        std::mem::take(&mut *self.0.own.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What the loops need.
pub struct Ears {
    pub connections: Shared,
    pub settings: Settings,
    pub tls: Connector,
    pub teller: Teller,
    pub observer: Arc<dyn Observer>,
}

/// The loops that tell and hear, as long as the store is open.
#[derive(Debug)]
pub struct Telephone(Vec<JoinHandle<()>>);

impl Telephone {
    pub fn start(ears: Ears) -> Self {
        let ears = Arc::new(ears);
        let talks = tokio::spawn(talk(Arc::clone(&ears)));
        Self(vec![talks, tokio::spawn(keep(ears))])
    }
}

impl Drop for Telephone {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

/// Tells and listens, over one connection that is made again where it is lost.
async fn talk(ears: Arc<Ears>) {
    let mut is_said = false;
    loop {
        let why = match connect(&ears.settings, &ears.tls).await {
            Ok(connected) => converse(&ears, connected).await,
            Err(why) => Err(why),
        };
        // What was under way may not have been told.
        ears.teller.0.to_tell.add([Elsewhere::Anything]);
        let heard = ears.teller.0.hears.swap(false, Ordering::Relaxed);
        is_said &= !heard;
        if let Err(why) = why
            && !std::mem::replace(&mut is_said, true)
        {
            warn!(error = %crate::Error::from(why), "nothing is heard of other nodes for now");
        }
        tokio::time::sleep(CALL_AGAIN).await;
    }
}

/// Until the connection is lost.
async fn converse(ears: &Ears, (client, mut connection): Connected) -> Result<(), Failure> {
    let (from, heard) = (AtomicI32::new(0), Gathering::default());
    let driving = async {
        while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(note) = message?
                && note.process_id() != from.load(Ordering::Relaxed)
            {
                heard.add(read(note.payload()));
            }
        }
        Ok::<(), Failure>(())
    };
    let talking = async {
        let (channel, own) = channel(&client).await?;
        from.store(own, Ordering::Relaxed);
        client.batch_execute(UNSYNCED).await?;
        if ears.settings.listens {
            client.batch_execute(&format!("LISTEN \"{channel}\"")).await?;
        }
        ears.teller.0.hears.store(ears.settings.listens, Ordering::Relaxed);
        // What was told before is missed.
        ears.observer.elsewhere(&[Elsewhere::Anything]);
        let mut pulse = tokio::time::interval(PULSE);
        pulse.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut told = Instant::now();
        loop {
            tokio::select! {
                () = ears.teller.0.to_tell.some() => tell(ears, &client, &channel, &mut told).await?,
                () = heard.some() => ears.observer.elsewhere(&heard.take().changes()),
                _ = pulse.tick() => feel_pulse(&client).await?,
            }
        }
    };
    tokio::select! {
        ended = driving => ended,
        ended = talking => ended,
    }
}

/// The channel, and who we are on it.
async fn channel(client: &Client) -> Result<(String, i32), Failure> {
    let row = client.query_one(CHANNEL, &[]).await?;
    Ok((row.try_get(0)?, row.try_get(1)?))
}

async fn feel_pulse(client: &Client) -> Result<(), Failure> {
    match tokio::time::timeout(PULSE_TAKES, client.query(FEEL_PULSE, &[])).await {
        Ok(answer) => Ok(answer.map(drop)?),
        Err(_) => Err(Failure::Lost("the server does not answer".to_owned())),
    }
}

/// `told`: when that was done last.
async fn tell(ears: &Ears, client: &Client, channel: &str, told: &mut Instant) -> Result<(), Failure> {
    tokio::time::sleep_until(*told + GATHER).await;
    for note in ears.teller.0.to_tell.take().spell() {
        client.query(NOTIFY, &[&channel, &note]).await?;
    }
    *told = Instant::now();
    Ok(())
}

/// Asks for what is watched, and adds up what is counted.
async fn keep(ears: Arc<Ears>) {
    let mut known: HashMap<TaskId, u64> = HashMap::new();
    let (mut added_up, mut touched, mut asked) = (Instant::now(), Instant::now(), Instant::now());
    loop {
        tokio::time::sleep(POLL).await;
        if let Err(why) = look(&ears, &mut known).await {
            warn!(error = %crate::Error::from(why), "what is watched could not be asked for");
        }
        if asked.elapsed() >= PULSE && !ears.teller.0.hears.load(Ordering::Relaxed) {
            asked = Instant::now();
            ears.observer.elsewhere(&[Elsewhere::Anything]);
        }
        if added_up.elapsed() >= ADD_UP {
            added_up = Instant::now();
            let added = ears.connections.query(ADD_UP_COUNTS, &[]).await;
            if let Err(why) = added {
                warn!(error = %crate::Error::from(why), "the counts of tasks could not be added up");
            }
        }
        if touched.elapsed() >= TOUCH {
            touched = Instant::now();
            if let (Ok(connection), Ok(marks)) = (ears.connections.get().await, ears.connections.marks()) {
                let _ = marks.touch(&connection).await;
            }
        }
    }
}

/// Tells the observer of what changed since the last look, but for what this node changed itself.
async fn look(ears: &Ears, known: &mut HashMap<TaskId, u64>) -> Result<(), Failure> {
    let watched = ears.observer.watched();
    let own = ears.teller.take_own();
    if watched.is_empty() {
        known.clear();
        return Ok(());
    }
    let ids: Vec<_> = watched.into_iter().map(uuid).collect();
    let rows = ears.connections.query(LIST_WATCHED, &[&ids]).await?;
    let found = rows.iter().map(|row| Ok((id(row, 0)?, count(row, 1)?))).collect::<Result<_, Failure>>()?;
    let changes = news(known, own, found);
    if !changes.is_empty() {
        ears.observer.elsewhere(&changes);
    }
    Ok(())
}

/// What is not known of what was found; from now on it is. `own`: how far this node brought tasks itself.
fn news(
    known: &mut HashMap<TaskId, u64>,
    own: HashMap<TaskId, u64>,
    found: Vec<(TaskId, u64)>,
) -> Vec<Elsewhere> {
    for (id, seq) in own {
        let known = known.entry(id).or_default();
        *known = seq.max(*known);
    }
    let mut next = HashMap::with_capacity(found.len());
    let mut changes = Vec::new();
    for (id, seq) in found {
        let before = known.get(&id).copied().unwrap_or_default();
        if before < seq {
            changes.push(Elsewhere::Task { id, seq });
        }
        next.insert(id, seq.max(before));
    }
    *known = next;
    changes
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn what_is_found_is_told_once_and_own_changes_never() {
        let task = |n| TaskId::new(Uuid::from_u128(n));
        let told = |n, seq| Elsewhere::Task { id: task(n), seq };
        let own = |n, seq| HashMap::from([(task(n), seq)]);
        let mut known = HashMap::new();
        let found = |first, second| vec![(task(1), first), (task(2), second)];
        assert_eq!(news(&mut known, own(2, 7), found(3, 7)), [told(1, 3)]);
        assert_eq!(news(&mut known, HashMap::new(), found(3, 7)), []);
        // Written down after what was found was read: not told the next time either.
        assert_eq!(news(&mut known, own(1, 4), found(3, 8)), [told(2, 8)]);
        assert_eq!(news(&mut known, HashMap::new(), found(4, 8)), []);
        // Another node went on from there.
        assert_eq!(news(&mut known, own(1, 5), found(6, 8)), [told(1, 6)]);
        // What is not watched any more is forgotten.
        assert_eq!(news(&mut known, own(3, 1), vec![(task(2), 8)]), []);
        assert_eq!(known.len(), 1);
    }
}

//! How many tasks of each agent ended lately: counted as they are committed, in memory, since the node began.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use baton_core::ident::AgentName;
use baton_core::task::Body;
use baton_core::time::Timestamp;
use baton_store::Committed;
use serde::Serialize;
use utoipa::ToSchema;

/// Minutes that are looked back.
const MINUTES: usize = 60;

const MINUTE_MS: i64 = 60_000;

/// Tasks that ended in a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Ended {
    /// Completed, rejected or canceled, or answered with a message.
    pub done: u64,
    pub failed: u64,
}

/// One count for each of the last minutes, by the minute it is of.
type Ring = [(i64, Ended); MINUTES];

/// The counts of all agents.
#[derive(Debug, Default)]
pub struct Pace(Mutex<HashMap<AgentName, Ring>>);

impl Pace {
    pub fn count(&self, commits: &[Committed]) {
        let mut rings = None;
        for commit in commits {
            let Some(last) = commit.events.last().filter(|event| event.body.is_terminal()) else { continue };
            let rings = rings.get_or_insert_with(|| self.0.lock().unwrap_or_else(PoisonError::into_inner));
            let agent = &commit.known.task().agent;
            if !rings.contains_key(agent) {
                rings.insert(agent.clone(), [(0, Ended::default()); MINUTES]);
            }
            let Some(ring) = rings.get_mut(agent) else { continue };
            let minute = last.at.as_millis().div_euclid(MINUTE_MS);
            let (of, ended) = &mut ring[place(minute)];
            if *of != minute {
                (*of, *ended) = (minute, Ended::default());
            }
            match last.body {
                Body::Failed { .. } => ended.failed += 1,
                _ => ended.done += 1,
            }
        }
    }

    /// What ended in the hour before `now`.
    pub fn last_hour(&self, agent: &AgentName, now: Timestamp) -> Ended {
        let rings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let minute = now.as_millis().div_euclid(MINUTE_MS);
        let recent = minute - i64::try_from(MINUTES).unwrap_or(i64::MAX)..=minute;
        let ring = rings.get(agent).into_iter().flatten().filter(|(of, _)| recent.contains(of));
        ring.fold(Ended::default(), |sum, (_, ended)| Ended {
            done: sum.done + ended.done,
            failed: sum.failed + ended.failed,
        })
    }
}

fn place(minute: i64) -> usize {
    usize::try_from(minute.rem_euclid(i64::try_from(MINUTES).unwrap_or(1))).unwrap_or(0)
}

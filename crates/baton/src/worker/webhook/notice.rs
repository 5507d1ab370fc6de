//! From a task's log to the notifications that are owed: changes of status, and artifacts once they are finished.
//!
//! An artifact that came in pieces is told whole, with its last piece: a receiver of webhooks gets no pieces to put
//! together. One that was never said to be finished is finished with its task.

use std::sync::Arc;

use baton_core::delivery::is_told;
use baton_core::model::{Artifact, ArtifactUpdate, StreamResponse, TaskObject};
use baton_core::task::{Body, Chunk, Event};
use baton_store::{By, Edition, Owed, Store};

use crate::service::follow;

/// Events that are read at a time.
const BATCH: usize = 256;

/// What one event is to be told as.
#[derive(Debug)]
pub struct Notice {
    pub event: Arc<Event>,
    /// Nothing more is owed up to here once it is told.
    pub settles: u64,
}

/// The events that are to be told, in order; and how far the log was looked at.
pub fn of(owed: &Owed) -> (Vec<Notice>, u64) {
    let seen = owed.events.last().map_or(owed.task.seq, |event| event.seq);
    let told: Vec<_> = owed.events.iter().filter(|event| is_due(event)).collect();
    let next = told.iter().skip(1).map(|event| event.seq - 1).chain([seen]);
    let notices = told.iter().zip(next).map(|(event, settles)| Notice { event: Arc::clone(event), settles });
    (notices.collect(), seen)
}

/// A piece that others follow is told with the last one.
fn is_due(event: &Event) -> bool {
    match &event.body {
        Body::Wrote { chunk } => chunk.last_chunk,
        _ => is_told(event),
    }
}

/// About how many KiB of artifacts are put together for this event.
pub fn weight(owed: &Owed, event: &Event) -> usize {
    let of = |wanted: &dyn Fn(&str) -> bool| -> u64 {
        owed.task.artifacts.iter().filter(|head| wanted(&head.id)).map(|head| head.bytes).sum()
    };
    let bytes = match &event.body {
        // The whole task is told.
        _ if owed.config.edition == Edition::V03 => of(&|_| true),
        Body::Wrote { chunk } => of(&|id| id == chunk.artifact.artifact_id),
        body if body.is_terminal() => of(&|_| true),
        _ => 0,
    };
    usize::try_from(bytes / 1024).unwrap_or(usize::MAX).saturating_add(1)
}

/// What is to be said, in the version that the receiver reads.
pub enum Said {
    V1(Box<StreamResponse>),
    /// The task as it stands, whatever happened to it.
    V03(Box<TaskObject>),
}

/// The bodies of one event, in order.
pub async fn bodies(store: &dyn Store, owed: &Owed, event: &Event) -> Result<Vec<Said>, baton_store::Error> {
    match owed.config.edition {
        Edition::V1 => {
            let bodies = responses(store, owed, event).await?;
            Ok(bodies.into_iter().map(|body| Said::V1(Box::new(body))).collect())
        }
        Edition::V03 => {
            let task = store.find(&By::Node, owed.task.id).await?;
            Ok(task.map(|task| Said::V03(Box::new(task.object(None, true)))).into_iter().collect())
        }
    }
}

async fn responses(
    store: &dyn Store,
    owed: &Owed,
    event: &Event,
) -> Result<Vec<StreamResponse>, baton_store::Error> {
    let update = |artifact| {
        StreamResponse::ArtifactUpdate(ArtifactUpdate {
            task_id: owed.task.id.to_string(),
            context_id: owed.task.context_id.to_string(),
            artifact,
            append: false,
            last_chunk: true,
            metadata: None,
        })
    };
    match &event.body {
        Body::Wrote { chunk } if !chunk.append => Ok(vec![update(Arc::clone(&chunk.artifact))]),
        Body::Wrote { chunk } => {
            let all = artifacts(store, owed, event.seq).await?;
            let whole =
                all.into_iter().find(|known| known.artifact.artifact_id == chunk.artifact.artifact_id);
            Ok(whole.map(|known| update(known.artifact)).into_iter().collect())
        }
        body => {
            let mut bodies = Vec::new();
            if body.is_terminal() && !owed.task.artifacts.is_empty() {
                let all = artifacts(store, owed, event.seq).await?;
                bodies.extend(all.into_iter().filter(|known| known.open).map(|known| update(known.artifact)));
            }
            bodies.extend(follow::item(owed.task.id, owed.task.context_id.as_str(), event));
            Ok(bodies)
        }
    }
}

struct Known {
    artifact: Arc<Artifact>,
    /// Its last piece was not said to be the last.
    open: bool,
}

/// The artifacts as of `seq`, in the order in which they appeared.
async fn artifacts(store: &dyn Store, owed: &Owed, seq: u64) -> Result<Vec<Known>, baton_store::Error> {
    let mut known = Vec::new();
    let (mut after, cursor) = (0, owed.config.cursor);
    // The first event is the submission, which has none.
    while cursor > 1 && after < cursor {
        let batch = store.events(owed.task.id, after, BATCH).await?;
        let Some(last) = batch.last() else { break };
        after = last.seq;
        batch.iter().filter(|event| event.seq <= cursor).for_each(|event| take(&mut known, event));
    }
    owed.events.iter().filter(|event| event.seq <= seq).for_each(|event| take(&mut known, event));
    Ok(known)
}

fn take(known: &mut Vec<Known>, event: &Event) {
    let Body::Wrote { chunk } = &event.body else { return };
    let Chunk { artifact, append, last_chunk } = &**chunk;
    let open = !last_chunk;
    match known.iter_mut().find(|known| known.artifact.artifact_id == artifact.artifact_id) {
        Some(known) if *append => {
            Arc::make_mut(&mut known.artifact).append(artifact);
            known.open = open;
        }
        Some(known) => *known = Known { artifact: Arc::clone(artifact), open },
        None => known.push(Known { artifact: Arc::clone(artifact), open }),
    }
}

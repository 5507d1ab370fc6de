//! One event stream for all pages: that something changed, and how much needs a person. What changed is asked for by who
//! shows it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use super::super::Doors;
use super::super::admin::needs;
use super::guard::Visitor;
use super::session::Session;

/// However much is committed, a page is told at most so often.
const PACE: Duration = Duration::from_secs(1);

/// A comment is written after so many paces of silence, so that both ends see a connection that is gone.
const QUIET_PACES: u32 = 15;

struct Feed {
    doors: Arc<Doors>,
    session: Session,
    commits: watch::Receiver<u64>,
    alarm: watch::Receiver<u64>,
    pace: tokio::time::Interval,
    first: bool,
}

pub async fn follow(State(doors): State<Arc<Doors>>, visitor: Visitor) -> Response {
    let mut pace = interval(PACE);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (commits, alarm) = (doors.service.hub.commits(), doors.service.alarm.subscribe());
    let feed = Feed { commits, alarm, session: visitor.session, pace, doors, first: true };
    let frames = stream::unfold(feed, |mut feed| async {
        let frame = feed.next().await?;
        Some((Ok::<_, Infallible>(frame), feed))
    });
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (headers, Body::from_stream(frames)).into_response()
}

impl Feed {
    /// The next frame; none where the stream is over: the session ended, or the node stops.
    async fn next(&mut self) -> Option<Bytes> {
        for _ in 0..QUIET_PACES {
            tokio::select! {
                biased;
                () = self.session.over.cancelled() => return None,
                () = self.doors.service.draining.cancelled() => return None,
                _ = self.pace.tick() => {}
            }
            if !self.doors.sessions.goes_on(&self.session, self.doors.service.now()) {
                return None;
            }
            let changed = self.commits.has_changed().ok()? | self.alarm.has_changed().ok()?;
            if std::mem::take(&mut self.first) || changed {
                self.commits.mark_unchanged();
                self.alarm.mark_unchanged();
                let needs = needs::count(&self.doors.service).await.ok()?.total();
                return Some(format!("event: changed\ndata: {{\"needs\":{needs}}}\n\n").into());
            }
        }
        Some(Bytes::from_static(b": still here\n\n"))
    }
}

//! Bodies that nobody read to their end. A client that writes all of its request before it reads would find its connection
//! broken, and never the answer; and so would its next request on the same connection.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http::header::EXPECT;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

/// Bytes that are read and thrown away, and for how long.
const DISCARD: u64 = 64 * 1024 * 1024;
const DISCARD_WITHIN: Duration = Duration::from_secs(5);

/// A body that leaves what was not read of it behind.
pub struct Watched {
    /// Taken when it is dropped.
    body: Option<Incoming>,
    rest: Arc<Mutex<Option<Incoming>>>,
}

/// What was left of a body, once its reader is done.
pub struct Unread(Arc<Mutex<Option<Incoming>>>);

/// Watches a body; nothing where nothing is to come of it, or where the client waits to be asked for it.
pub fn watch(body: Incoming, headers: &HeaderMap) -> Result<(Watched, Unread), Incoming> {
    if body.is_end_stream() || headers.contains_key(EXPECT) || body.size_hint().lower() > DISCARD {
        return Err(body);
    }
    let rest = Arc::default();
    Ok((Watched { body: Some(body), rest: Arc::clone(&rest) }, Unread(rest)))
}

impl Body for Watched {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.body {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(body) = self.body.take().filter(|body| !body.is_end_stream()) {
            *self.rest.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
        }
    }
}

impl Unread {
    /// Reads what is left, up to a bound.
    pub async fn discard(self) {
        let rest = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(body) = rest {
            // Past the bound the connection breaks after all.
            let _ = tokio::time::timeout(DISCARD_WITHIN, Box::pin(discard(body))).await;
        }
    }
}

async fn discard(mut body: Incoming) {
    let mut left = DISCARD;
    while let Some(Ok(frame)) = body.frame().await {
        let bytes = frame.data_ref().map_or(0, |data| data.len() as u64);
        match left.checked_sub(bytes) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

//! A body that can be ended from elsewhere, whether its reader reads or not: what is behind it is let go of at once. It does
//! not know what it carries.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use http_body::{Body, Frame};

/// Ends a body.
pub struct Cut(Weak<dyn End>);

/// A body until it is cut.
pub struct Cuttable<B>(Arc<Mutex<State<B>>>);

struct State<B> {
    body: Option<B>,
    /// Who waits for what comes next.
    reader: Option<Waker>,
}

trait End: Send + Sync {
    fn end(&self);
}

impl<B: Send> End for Mutex<State<B>> {
    fn end(&self) {
        let mut state = lock(self);
        let (body, reader) = (state.body.take(), state.reader.take());
        drop(state);
        drop(body);
        if let Some(reader) = reader {
            reader.wake();
        }
    }
}

impl Cut {
    pub fn new<B: Send + 'static>(body: B) -> (Self, Cuttable<B>) {
        let state = Arc::new(Mutex::new(State { body: Some(body), reader: None }));
        let end: Weak<dyn End> = Arc::downgrade(&state) as _;
        (Self(end), Cuttable(state))
    }

    /// Whether somebody still has the body.
    pub fn is_open(&self) -> bool {
        self.0.strong_count() > 0
    }

    pub fn cut(self) {
        if let Some(state) = self.0.upgrade() {
            state.end();
        }
    }
}

impl<B: Body + Unpin> Body for Cuttable<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut state = lock(&self.0);
        let Some(body) = &mut state.body else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(context);
        if polled.is_pending() {
            state.reader = Some(context.waker().clone());
        }
        polled
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use bytes::Bytes;
    use http_body_util::BodyExt as _;
    use tokio::sync::mpsc;

    use super::*;

    struct Written(mpsc::Receiver<Bytes>);

    impl Body for Written {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            self.0.poll_recv(context).map(|data| data.map(|data| Ok(Frame::data(data))))
        }
    }

    /// Nobody reads, and what writes has to wait; it hears of the end all the same.
    #[tokio::test]
    async fn what_is_behind_it_is_let_go_of() {
        let (sender, receiver) = mpsc::channel(1);
        let (cut, mut body) = Cut::new(Written(receiver));
        sender.send(Bytes::from_static(b"one")).await.unwrap();
        let (sent, ()) = tokio::join!(sender.send(Bytes::from_static(b"two")), async { cut.cut() });
        sent.unwrap_err();
        assert!(body.frame().await.is_none());
    }

    #[tokio::test]
    async fn who_waits_is_woken() {
        let (_sender, receiver) = mpsc::channel(1);
        let (cut, mut body) = Cut::new(Written(receiver));
        assert!(cut.is_open());
        let (next, ()) = tokio::join!(body.frame(), async { cut.cut() });
        assert!(next.is_none());
    }

    #[tokio::test]
    async fn a_body_that_is_gone_is_no_more_open() {
        let (sender, receiver) = mpsc::channel(1);
        let (cut, mut body) = Cut::new(Written(receiver));
        sender.send(Bytes::from_static(b"one")).await.unwrap();
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "one");
        drop(body);
        assert!(!cut.is_open());
        cut.cut();
        assert!(sender.is_closed());
    }
}

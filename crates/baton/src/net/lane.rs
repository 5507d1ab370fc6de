//! Where the calls of one connection of HTTP/2 run.
//!
//! One call at a time is answered in the connection's own task: in a task of its own it would be woken on another core and
//! would wake the connection's there again, and most clients of gRPC have one call at a time. Further calls beside it get
//! tasks, so that they share the cores.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_util::FutureExt as _;
use hyper::rt::Executor;

type Call = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Takes a connection's calls.
#[derive(Clone, Default)]
pub struct Lane(Arc<Mutex<Seat>>);

/// The seat for one call in the connection's task.
#[derive(Default)]
enum Seat {
    #[default]
    Free,
    Given(Call),
    Taken,
}

impl Lane {
    fn seat(&self) -> MutexGuard<'_, Seat> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call that came and was not taken yet.
    fn take(&self) -> Option<Call> {
        let mut seat = self.seat();
        match std::mem::replace(&mut *seat, Seat::Taken) {
            Seat::Given(call) => Some(call),
            other => {
                *seat = other;
                None
            }
        }
    }
}

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Lane {
    fn execute(&self, call: F) {
        let mut seat = self.seat();
        if matches!(*seat, Seat::Free) {
            // A panic ends this call, as it would in a task of its own, and not the connection with all its others.
            *seat = Seat::Given(Box::pin(AssertUnwindSafe(call).catch_unwind().map(drop)));
        } else {
            drop(seat);
            tokio::spawn(call);
        }
    }
}

/// A connection together with the call that runs in its task.
pub struct Driven<C> {
    pub connection: Pin<Box<C>>,
    lane: Lane,
    call: Option<Call>,
}

impl<C> Driven<C> {
    /// `connection` gives its calls to `lane`.
    pub fn new(connection: C, lane: Lane) -> Self {
        Self { connection: Box::pin(connection), lane, call: None }
    }
}

impl<C> Drop for Driven<C> {
    /// A call that was given and not taken holds the lane that holds it.
    fn drop(&mut self) {
        drop(self.lane.take());
    }
}

impl<C: Future> Future for Driven<C> {
    type Output = C::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<C::Output> {
        loop {
            if let Poll::Ready(ended) = self.connection.as_mut().poll(context) {
                return Poll::Ready(ended);
            }
            if self.call.is_none() {
                self.call = self.lane.take();
            }
            let Some(call) = &mut self.call else { return Poll::Pending };
            if call.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            // What it answered is the connection's to send.
            self.call = None;
            *self.lane.seat() = Seat::Free;
        }
    }
}

#[cfg(test)]
mod tests;

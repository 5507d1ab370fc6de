//! A task's events as server-sent events.

use std::convert::Infallible;

use axum::body::Body;
use axum::response::Response;
use baton_core::model::StreamResponse;
use baton_wire::fault::Fault;
use baton_wire::sse::{KEEP_ALIVE, Wrap};
use bytes::Bytes;
use futures_util::stream;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};

use super::a2a::splice::{self, Form, Pieces};
use super::stream::{Next, Open, Place};
use crate::access::Caller;
use crate::service::Service;
use crate::service::follow::Follow;

/// The answer that carries a task's events.
pub fn respond(service: &Service, follow: Follow, wrap: Wrap, caller: Option<(Caller, Place)>) -> Response {
    let open = Open::new(service, follow, caller);
    let frames = stream::unfold((open, wrap, None::<Box<Pieces>>), |(mut open, wrap, mut pieces)| async {
        // What is left of an item that is sent in pieces.
        if let Some(piece) = pieces.as_mut().and_then(Iterator::next) {
            return Some((Ok(piece), (open, wrap, pieces)));
        }
        let frame = match open.next().await? {
            Next::Item(seq, item) => {
                let until_input = open.until_input();
                let spell = |item: &StreamResponse| wrap.item(seq, item, until_input);
                let first;
                (first, pieces) = splice::item(item, Form::Json, spell).begin();
                first
            }
            Next::Quiet => Bytes::from_static(KEEP_ALIVE),
            Next::Refused(fault) => wrap.error(&fault),
            // To who reads, the connection is gone: it comes again with the id that it saw last.
            Next::Cut(_) => return None,
        };
        Some((Ok::<_, Infallible>(frame), (open, wrap, pieces)))
    });
    stream_of(Body::from_stream(frames))
}

/// A stream of nothing but why there is none, for clients that read no refusal elsewhere.
pub fn refuse(fault: &Fault, wrap: &Wrap) -> Response {
    stream_of(Body::from(wrap.error(fault)))
}

fn stream_of(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

//! Answers of gRPC: messages in frames, and the status in what follows them.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use baton_core::model::StreamResponse;
use baton_wire::fault::{Fault, Kind};
use bytes::Bytes;
use futures_util::stream;
use http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body::Frame;
use http_body_util::StreamBody;
use prost::Message as _;
use tonic::{Code, Status};

use crate::bindings::a2a::splice::{self, Form, Pieces, Spliced};
use crate::bindings::stream::{Next, Open};

const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");

/// A refusal: a status, and nothing before it.
pub fn refuse(fault: &Fault) -> Response {
    let mut response = status(fault).into_http::<Body>();
    let headers = response.headers_mut();
    if fault.kind == Kind::EncodingNotSupported {
        headers.insert("grpc-accept-encoding", HeaderValue::from_static("identity"));
    }
    headers.extend(fault.challenge().map(|challenge| (WWW_AUTHENTICATE, challenge)));
    response
}

/// One message and the status of success.
pub fn whole(message: Bytes) -> Response {
    answer(Body::new(Whole { message: Some(message), over: false }))
}

/// One message, in one piece or in several.
pub fn spliced(message: Spliced) -> Response {
    match message {
        Spliced::Whole(message) => whole(message),
        Spliced::Pieces(pieces) => {
            let frames = pieces.map(Frame::data).chain(std::iter::once_with(|| Frame::trailers(success())));
            answer(Body::new(StreamBody::new(stream::iter(frames.map(Ok::<_, Infallible>)))))
        }
    }
}

/// Items as they come, written with the number of their event and whether the stream ends at a question, then how the stream ended.
pub fn streamed(open: Open, write: fn(u64, &StreamResponse, bool) -> Bytes) -> Response {
    let frames = stream::unfold((Some(open), None::<Box<Pieces>>), move |(open, mut pieces)| async move {
        // What is left of an item that is sent in pieces.
        if let Some(piece) = pieces.as_mut().and_then(Iterator::next) {
            return Some((Ok(Frame::data(piece)), (open, pieces)));
        }
        let mut open = open?;
        let frame = loop {
            match open.next().await {
                Some(Next::Item(seq, item)) => {
                    let until_input = open.until_input();
                    let spell = |item: &StreamResponse| write(seq, item, until_input);
                    let first;
                    (first, pieces) = splice::item(item, Form::Frame, spell).begin();
                    break Frame::data(first);
                }
                // The connection's own pings tell a quiet stream from a dead one.
                Some(Next::Quiet) => {}
                Some(Next::Refused(fault) | Next::Cut(fault)) => {
                    let end = Frame::trailers(trailers(&status(&fault)));
                    return Some((Ok::<_, Infallible>(end), (None, None)));
                }
                None => return Some((Ok(Frame::trailers(success())), (None, None))),
            }
        };
        Some((Ok(frame), (Some(open), pieces)))
    });
    answer(Body::new(StreamBody::new(frames)))
}

fn answer(body: Body) -> Response {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, GRPC);
    response
}

fn status(fault: &Fault) -> Status {
    let status = fault.to_grpc();
    let details = status.encode_to_vec().into();
    Status::with_details(Code::from_i32(status.code), status.message, details)
}

fn trailers(status: &Status) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    match status.add_header(&mut trailers) {
        Ok(()) => trailers,
        Err(why) => {
            tracing::error!(error = %why, "a status cannot be written");
            with_code(HeaderValue::from(Code::Internal as i32))
        }
    }
}

fn success() -> HeaderMap {
    with_code(HeaderValue::from_static("0"))
}

fn with_code(code: HeaderValue) -> HeaderMap {
    HeaderMap::from_iter([(HeaderName::from_static("grpc-status"), code)])
}

/// A body of one message, and the trailers that say that all is well.
struct Whole {
    message: Option<Bytes>,
    over: bool,
}

impl http_body::Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(message) = self.message.take() {
            return Poll::Ready(Some(Ok(Frame::data(message))));
        }
        let over = std::mem::replace(&mut self.over, true);
        Poll::Ready((!over).then(|| Ok(Frame::trailers(success()))))
    }

    fn is_end_stream(&self) -> bool {
        self.over
    }
}

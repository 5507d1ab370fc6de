//! A stream of another agent's events, read as it comes.

use std::collections::VecDeque;
use std::time::Duration;

use baton_core::model::StreamResponse;
use baton_wire::client::{Binding, read_event, read_jsonrpc, read_rest};
use baton_wire::sse::{Event, Reader};
use http::header::CONTENT_TYPE;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use super::transport::{Call, read};
use super::{Address, Error, Transport};

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// What resumes the stream after this event, where the server said.
    pub id: Option<String>,
    pub response: StreamResponse,
}

/// An open stream. Dropping it ends the connection and nothing else.
#[derive(Debug)]
pub struct Events {
    url: String,
    binding: Binding,
    /// None once it has ended.
    body: Option<Incoming>,
    reader: Reader,
    ready: VecDeque<Result<Event, Error>>,
    /// What was answered in place of a stream.
    only: Option<StreamResponse>,
    silence: Duration,
}

impl Events {
    /// Asks for a stream and waits for its head: a server may wait with it until there is something to say.
    pub async fn open(
        transport: &Transport,
        to: &Address,
        call: Call<'_>,
        binding: Binding,
    ) -> Result<Self, Error> {
        let limits = transport.limits;
        let url = to.to_string();
        let response = transport.send(to, call, limits.send_within).await?;
        let status = response.status();
        let media = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media = media.unwrap_or_default().trim_start().to_ascii_lowercase();
        let mut events = Self {
            url,
            binding,
            body: None,
            reader: Reader::new(limits.event),
            ready: VecDeque::new(),
            only: None,
            silence: limits.silence,
        };
        if status.is_success() && media.starts_with("text/event-stream") {
            events.body = Some(response.into_body());
            return Ok(events);
        }
        let body =
            tokio::time::timeout(limits.answer_within, read(response, limits.answer, &events.url)).await;
        let late =
            |_| Error::Unreachable { url: events.url.clone(), why: "no whole answer in time".to_owned() };
        let body = body.map_err(late)??;
        let answer = match binding {
            Binding::JsonRpc => read_jsonrpc(status.as_u16(), &body),
            Binding::Rest => read_rest(status.as_u16(), &body),
        };
        // A server that does not stream may answer with the one thing there is to say.
        events.only = Some(answer.map_err(|failure| Error::from_failure(failure, &events.url))?);
        Ok(events)
    }

    /// The next event; `None` where the stream ends as streams do. Safe to drop before it is ready.
    pub async fn next(&mut self) -> Result<Option<Item>, Error> {
        if let Some(response) = self.only.take() {
            return Ok(Some(Item { id: None, response }));
        }
        loop {
            if let Some(event) = self.ready.pop_front() {
                return self.item(event?).map(Some);
            }
            let Some(body) = &mut self.body else { return Ok(None) };
            let frame = tokio::time::timeout(self.silence, body.frame()).await;
            let why = match frame {
                Ok(Some(Ok(frame))) => {
                    if let Some(chunk) = frame.data_ref() {
                        let url = &self.url;
                        let events = self.reader.feed(chunk);
                        self.ready.extend(
                            events.map(|event| event.map_err(|why| Error::unreadable(url, why.to_string()))),
                        );
                    }
                    continue;
                }
                Ok(None) => {
                    self.body = None;
                    continue;
                }
                Ok(Some(Err(why))) => format!("the stream broke: {why}"),
                Err(_) => format!("the stream was silent for {:?}", self.silence),
            };
            self.body = None;
            return Err(Error::Unreachable { url: self.url.clone(), why });
        }
    }

    /// How long the server asks to wait before the stream is resumed.
    pub const fn retry(&self) -> Option<Duration> {
        self.reader.retry()
    }

    fn item(&mut self, event: Event) -> Result<Item, Error> {
        let response = read_event(self.binding, &event.data).map_err(|failure| {
            self.body = None;
            Error::from_failure(failure, &self.url)
        })?;
        Ok(Item { id: Some(event.id).filter(|id| !id.is_empty()), response })
    }
}

//! A client of an event stream.

use std::collections::VecDeque;

use baton_wire::sse::{Event, Reader};
use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::Value;

use super::{Door, client, grpc, soon, text_of};

/// An open stream; dropping it disconnects.
#[derive(Debug)]
pub struct Stream {
    door: Door,
    path: String,
    body: Incoming,
    reader: Reader,
    /// What was read of gRPC and is no whole message yet.
    read: Bytes,
    waiting: VecDeque<Frame>,
    trailers: HeaderMap,
}

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    pub id: u64,
    /// The StreamResponse.
    pub value: Value,
}

impl Stream {
    #[track_caller]
    pub fn new(door: Door, mut response: Response<Incoming>) -> Self {
        assert_eq!(response.status(), 200);
        let kind = if door == Door::Grpc { "application/grpc" } else { "text/event-stream" };
        assert_eq!(client::header(response.headers(), "content-type"), Some(kind));
        if door != Door::Grpc {
            assert_eq!(client::header(response.headers(), "cache-control"), Some("no-cache"));
        }
        Self {
            door,
            path: response.extensions_mut().remove::<client::Path>().unwrap().0,
            body: response.into_body(),
            reader: Reader::new(80 * 1024 * 1024),
            read: Bytes::new(),
            waiting: VecDeque::new(),
            trailers: HeaderMap::new(),
        }
    }

    pub const fn door(&self) -> Door {
        self.door
    }

    /// The next bytes as they come; `None` at the end.
    pub async fn bytes(&mut self) -> Option<Bytes> {
        loop {
            let frame = soon(self.body.frame()).await?.expect("the stream is not cut");
            match frame.into_data() {
                Ok(bytes) => return Some(bytes),
                Err(frame) => self.trailers.extend(frame.into_trailers().unwrap_or_default()),
            }
        }
    }

    /// The next event; `None` at the end of the stream.
    pub async fn next(&mut self) -> Option<Frame> {
        while self.waiting.is_empty() {
            let bytes = self.bytes().await?;
            let frames = match self.door {
                Door::Grpc => self.messages(&bytes),
                Door::Rpc | Door::Rest => {
                    self.reader.feed(&bytes).map(|event| self.frame(&event.unwrap())).collect()
                }
            };
            self.waiting.extend(frames);
        }
        self.waiting.pop_front()
    }

    fn frame(&self, event: &Event) -> Frame {
        let mut value: Value = serde_json::from_str(&event.data).unwrap();
        if self.door == Door::Rpc {
            assert_eq!((&value["jsonrpc"], &value["id"]), (&"2.0".into(), &1.into()), "{value}");
            value = value["result"].take();
        }
        Frame { id: event.id.parse().unwrap(), value }
    }

    fn messages(&mut self, bytes: &[u8]) -> Vec<Frame> {
        self.read = [&self.read, bytes].concat().into();
        let mut frames = Vec::new();
        while let Some(message) = grpc::take(&mut self.read) {
            let mut value = grpc::to_json(&self.path, message);
            frames.push(Frame { id: grpc::event(&mut value), value });
        }
        frames
    }

    /// How a stream of gRPC ended: nothing where all is well, else the JSON of the status.
    pub async fn status(mut self) -> Option<Value> {
        while self.next().await.is_some() {}
        assert!(self.trailers.contains_key("grpc-status"), "a stream of gRPC ends with its status");
        grpc::error(&self.trailers)
    }

    /// The next event, in short.
    pub async fn line(&mut self) -> String {
        self.next().await.map_or_else(|| "end".to_owned(), |frame| frame.line())
    }

    /// Reads on until the event that reads `line`.
    pub async fn until(&mut self, line: &str) {
        loop {
            let now = self.line().await;
            assert_ne!(now, "end", "the stream ended before '{line}'");
            if now == line {
                return;
            }
        }
    }

    /// Everything to the end.
    pub async fn rest(mut self) -> Vec<Frame> {
        let mut frames = Vec::new();
        while let Some(frame) = self.next().await {
            frames.push(frame);
        }
        frames
    }

    /// Everything to the end, in short.
    pub async fn lines(self) -> Vec<String> {
        lines(&self.rest().await)
    }
}

/// Events in short.
pub fn lines(frames: &[Frame]) -> Vec<String> {
    frames.iter().map(Frame::line).collect()
}

impl Frame {
    /// `4 WORKING "so far so good"`, `5 out=Hello`, `6 out+= world.` (a dot ends the artifact), `1 task SUBMITTED`,
    /// `3 message Hi`.
    pub fn line(&self) -> String {
        let (id, value) = (self.id, &self.value);
        let state = |status: &Value| {
            let state = status["state"].as_str().unwrap().trim_start_matches("TASK_STATE_").to_owned();
            match status.get("message") {
                Some(message) => format!("{state} {:?}", text_of(message)),
                None => state,
            }
        };
        let members: Vec<_> = value.as_object().unwrap().keys().collect();
        assert_eq!(members.len(), 1, "an event is one of four: {value}");
        match members[0].as_str() {
            "task" => format!("{id} task {}", state(&value["task"]["status"])),
            "message" => format!("{id} message {}", text_of(&value["message"])),
            "statusUpdate" => format!("{id} {}", state(&value["statusUpdate"]["status"])),
            "artifactUpdate" => {
                let update = &value["artifactUpdate"];
                let sign = if update["append"] == true { "+=" } else { "=" };
                let dot = if update["lastChunk"] == true { "." } else { "" };
                let name = update["artifact"]["artifactId"].as_str().unwrap();
                format!("{id} {name}{sign}{}{dot}", text_of(&update["artifact"]))
            }
            other => panic!("no event of A2A: {other}"),
        }
    }
}

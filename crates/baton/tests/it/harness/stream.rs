//! A client of an event stream.

use std::collections::VecDeque;

use baton_wire::sse::{Event, Reader};
use bytes::Bytes;
use http::Response;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::Value;

use super::{Door, client, soon, text_of};

/// An open stream; dropping it disconnects.
#[derive(Debug)]
pub struct Stream {
    door: Door,
    body: Incoming,
    reader: Reader,
    waiting: VecDeque<Event>,
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
    pub fn new(door: Door, response: Response<Incoming>) -> Self {
        assert_eq!(response.status(), 200);
        assert_eq!(client::header(response.headers(), "content-type"), Some("text/event-stream"));
        assert_eq!(client::header(response.headers(), "cache-control"), Some("no-cache"));
        Self {
            door,
            body: response.into_body(),
            reader: Reader::new(80 * 1024 * 1024),
            waiting: VecDeque::new(),
        }
    }

    /// The next bytes as they come; `None` at the end.
    pub async fn bytes(&mut self) -> Option<Bytes> {
        loop {
            let frame = soon(self.body.frame()).await?.expect("the stream is not cut");
            if let Ok(bytes) = frame.into_data() {
                return Some(bytes);
            }
        }
    }

    /// The next event; `None` at the end of the stream.
    pub async fn next(&mut self) -> Option<Frame> {
        while self.waiting.is_empty() {
            let bytes = self.bytes().await?;
            self.waiting.extend(self.reader.feed(&bytes).map(Result::unwrap));
        }
        let event = self.waiting.pop_front()?;
        let mut value: Value = serde_json::from_str(&event.data).unwrap();
        if self.door == Door::Rpc {
            assert_eq!((&value["jsonrpc"], &value["id"]), (&"2.0".into(), &1.into()), "{value}");
            value = value["result"].take();
        }
        Some(Frame { id: event.id.parse().unwrap(), value })
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

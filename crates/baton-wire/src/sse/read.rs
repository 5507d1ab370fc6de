//! An incremental parser of event streams: bytes in as they come, whole events out.

use std::mem;
use std::time::Duration;

/// One event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The last id that the stream has named, with this event or before it; empty where there was none.
    pub id: String,
    /// The type, `message` where none was given.
    pub event: String,
    /// The lines of data, joined by line feeds.
    pub data: String,
}

/// Why a stream cannot be read on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("an event of the stream is larger than {limit} bytes")]
    TooLarge { limit: usize },
}

/// Reads one stream. An event that the end of the stream cuts off is dropped, as the standard demands.
#[derive(Debug)]
pub struct Reader {
    /// Bytes of one event, its fields and comments included.
    limit: usize,
    /// The unfinished line.
    line: Vec<u8>,
    /// Bytes of the lines of the unfinished event.
    seen: usize,
    data: Vec<u8>,
    event: String,
    last_event_id: String,
    retry: Option<Duration>,
    at_start: bool,
    after_cr: bool,
    failed: bool,
}

impl Reader {
    /// A reader that refuses events of more than `limit` bytes.
    pub const fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            seen: 0,
            data: Vec::new(),
            event: String::new(),
            last_event_id: String::new(),
            retry: None,
            at_start: true,
            after_cr: false,
            failed: false,
        }
    }

    /// Takes the next bytes of the stream, cut anywhere, and gives the events that they complete. An error is the
    /// last item of the stream: nothing more is read after it.
    pub fn feed(&mut self, chunk: &[u8]) -> impl Iterator<Item = Result<Event, Error>> + use<> {
        let mut items = Vec::new();
        if !self.failed
            && let Err(why) = self.take(chunk, &mut items)
        {
            self.failed = true;
            items.push(Err(why));
        }
        items.into_iter()
    }

    /// What goes into `Last-Event-ID` when the stream is resumed.
    pub fn last_event_id(&self) -> Option<&str> {
        Some(self.last_event_id.as_str()).filter(|id| !id.is_empty())
    }

    /// How long the server asks to wait before the stream is resumed.
    pub const fn retry(&self) -> Option<Duration> {
        self.retry
    }

    fn take(&mut self, chunk: &[u8], items: &mut Vec<Result<Event, Error>>) -> Result<(), Error> {
        let mut rest = chunk;
        if mem::take(&mut self.after_cr) {
            match rest.split_first() {
                Some((b'\n', after)) => rest = after,
                Some(_) => {}
                None => self.after_cr = true,
            }
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.grow(&rest[..end])?;
            let crlf = rest[end] == b'\r' && rest.get(end + 1) == Some(&b'\n');
            self.after_cr = rest[end] == b'\r' && end + 1 == rest.len();
            rest = &rest[end + 1 + usize::from(crlf)..];
            let mut line = mem::take(&mut self.line);
            items.extend(self.line_ended(&line).map(Ok));
            line.clear();
            self.line = line;
        }
        self.grow(rest)
    }

    fn grow(&mut self, piece: &[u8]) -> Result<(), Error> {
        if self.seen + self.line.len() + piece.len() > self.limit {
            return Err(Error::TooLarge { limit: self.limit });
        }
        self.line.extend_from_slice(piece);
        Ok(())
    }

    fn line_ended(&mut self, mut line: &[u8]) -> Option<Event> {
        if mem::take(&mut self.at_start) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch();
        }
        // Comments are not part of an event: a long silence full of them is no large event.
        if line[0] == b':' {
            return None;
        }
        self.seen += line.len();
        let (name, value) = match line.iter().position(|&byte| byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        self.field(name, value.strip_prefix(b" ").unwrap_or(value));
        None
    }

    fn field(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b"data" => {
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            b"event" => self.event = String::from_utf8_lossy(value).into_owned(),
            b"id" if !value.contains(&0) => self.last_event_id = String::from_utf8_lossy(value).into_owned(),
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let millis = std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok());
                self.retry = millis.map(Duration::from_millis).or(self.retry);
            }
            _ => {}
        }
    }

    fn dispatch(&mut self) -> Option<Event> {
        self.seen = 0;
        let event = mem::take(&mut self.event);
        let mut data = mem::take(&mut self.data);
        data.pop()?;
        let data = String::from_utf8(data)
            .unwrap_or_else(|why| String::from_utf8_lossy(why.as_bytes()).into_owned());
        let event = if event.is_empty() { "message".to_owned() } else { event };
        Some(Event { id: self.last_event_id.clone(), event, data })
    }
}

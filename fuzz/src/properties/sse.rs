//! An event stream: the first line is the reader's limit and the sizes in which the stream arrives, as in
//! `4096 1 7 300`; the rest is the stream.

use std::time::Duration;

use baton_wire::sse::{Error, Event, Reader, Wrap};

/// Bytes of an event that no limit here is above, so that also a large one is met.
const LIMIT_MAX: usize = 4096;

/// A byte that is no UTF-8 becomes U+FFFD, which has three.
const GROWTH: usize = 3;

#[derive(Debug, PartialEq)]
struct Heard {
    items: Vec<Result<Event, Error>>,
    last_event_id: Option<String>,
    retry: Option<Duration>,
}

/// However a stream is cut, the same is heard; no event is larger than the limit; after an error there is nothing.
pub fn holds(bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (head, stream) = bytes.split_at(end);
    let stream = stream.strip_prefix(b"\n").unwrap_or_default();
    let mut numbers = head.split(|byte| !byte.is_ascii_digit()).filter_map(|digits| {
        std::str::from_utf8(digits).ok()?.parse::<usize>().ok().filter(|number| *number > 0)
    });
    let limit = numbers.next().unwrap_or(LIMIT_MAX).min(LIMIT_MAX);
    let sizes: Vec<usize> = numbers.collect();

    let whole = hear(limit, [stream]);
    assert_eq!(hear(limit, stream.chunks(1)), whole, "byte by byte");
    assert_eq!(hear(limit, cut(stream, &sizes)), whole, "cut into {sizes:?}");
    is_bounded(limit, stream, &whole);
    written_again(&whole);
}

fn hear<'a>(limit: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> Heard {
    let mut reader = Reader::new(limit);
    let mut items = Vec::new();
    for chunk in chunks {
        items.extend(reader.feed(chunk));
        // A read that gives nothing is nothing.
        items.extend(reader.feed(b""));
    }
    Heard { items, last_event_id: reader.last_event_id().map(str::to_owned), retry: reader.retry() }
}

fn cut<'a>(mut stream: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    let mut chunks = Vec::new();
    for size in sizes {
        let (chunk, rest) = stream.split_at((*size).min(stream.len()));
        chunks.push(chunk);
        stream = rest;
    }
    chunks.push(stream);
    chunks
}

fn is_bounded(limit: usize, stream: &[u8], heard: &Heard) {
    let events = heard.items.iter().take_while(|item| item.is_ok()).count();
    assert!(heard.items.len() - events <= 1, "an error is the last item: {heard:?}");
    if events < heard.items.len() {
        assert!(stream.len() > limit, "no event of {} bytes is past {limit}", stream.len());
        assert_eq!(heard.items.last(), Some(&Err(Error::TooLarge { limit })));
    }
    for Event { id, event, data } in heard.items.iter().flatten() {
        assert!([id, event, data].iter().all(|field| field.len() <= limit * GROWTH), "{limit}: {heard:?}");
        assert!(!id.contains(['\n', '\r', '\0']) && !event.contains(['\n', '\r']) && !event.is_empty());
    }
}

/// Events that were heard, written as the standard has them, are heard again; and whatever we send is one event.
fn written_again(heard: &Heard) {
    let mut stream = String::new();
    let mut events = Vec::new();
    for event in heard.items.iter().flatten() {
        let data = event.data.replace('\n', "\ndata: ");
        stream += &["id: ", &event.id, "\nevent: ", &event.event, "\ndata: ", &data, "\n\n"].concat();
        events.push(Ok(event.clone()));

        let carried = Wrap::Bare.event(Some(7), &event.data);
        let read: Vec<_> =
            Reader::new(carried.len()).feed(&carried).map(|item| item.map(|event| event.data)).collect();
        let json = serde_json::to_string(&event.data).expect("text is JSON");
        assert_eq!(read, [Ok(json)]);
    }
    let again: Vec<_> = Reader::new(stream.len()).feed(stream.as_bytes()).collect();
    assert_eq!(again, events);
}

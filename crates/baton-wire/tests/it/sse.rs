//! Event streams, written and read.

use std::time::Duration;

use baton_core::json::Json;
use baton_core::model::{StatusUpdate, StreamResponse};
use baton_wire::fault::{Fault, Kind};
use baton_wire::jsonrpc::Id;
use baton_wire::sse::{Error, Event, KEEP_ALIVE, Reader, Wrap};

const LIMIT: usize = 1024;

fn read(stream: &[u8]) -> Vec<(String, String, String)> {
    let mut reader = Reader::new(LIMIT);
    let parts = |item: Result<Event, Error>| {
        let Event { id, event, data } = item.unwrap();
        (id, event, data)
    };
    reader.feed(stream).map(parts).collect()
}

fn message(id: &str, data: &str) -> (String, String, String) {
    (id.to_owned(), "message".to_owned(), data.to_owned())
}

#[test]
fn written_on_two_lines() {
    let item = StreamResponse::StatusUpdate(StatusUpdate { task_id: "t".to_owned(), ..Default::default() });
    let json_rpc = Wrap::JsonRpc(Id::number(3));
    let bare = Wrap::Bare.event(Some(12), &item);
    let wrapped = json_rpc.event(None, &item);
    let carried = Wrap::Bare.event(Some(1), &Json::parse("{\"a\":\n\"\u{2028}\"}").unwrap());
    let fault = Fault::new(Kind::Internal);
    let bytes =
        [&*bare, &*wrapped, KEEP_ALIVE, &*carried, &*Wrap::Bare.error(&fault), &*json_rpc.error(&fault)];
    insta::assert_snapshot!(String::from_utf8(bytes.concat()).unwrap());
}

#[test]
fn a_raw_value_with_line_breaks_stays_one_line() {
    let raw = serde_json::value::RawValue::from_string("{\n\"a\":\r\n1}".to_owned()).unwrap();
    assert_eq!(Wrap::Bare.event(None, &raw), "data: { \"a\":  1}\n\n");
}

#[test]
fn line_ends_fields_and_comments() {
    assert_eq!(
        read(b"data: a\n\ndata: b\r\n\r\ndata: c\r\rdata"),
        [message("", "a"), message("", "b"), message("", "c")]
    );
    assert_eq!(read(b":x\ndata: a\ndata:  b\ndata\ndata:c\n\n"), [message("", "a\n b\n\nc")]);
    assert_eq!(
        read(b"id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n"),
        [message("1", "a"), message("1", "b"), message("", "c")]
    );
    assert_eq!(read(b"id: 7\n\nevent: x\n\ndata:\n\n"), [message("7", "")]);
    assert_eq!(read(b"event: error\ndata: {}\n\n"), [(String::new(), "error".to_owned(), "{}".to_owned())]);
    assert_eq!(read(b"id: a\0b\nretry: 1x\nDATA: a\nfoo: bar\n:\ndata: a\n\n"), [message("", "a")]);
    assert_eq!(read("\u{feff}data: é\u{2028}\n\n".as_bytes()), [message("", "é\u{2028}")]);
    assert_eq!(read("data: a\n\n\u{feff}data: b\n\n".as_bytes()), [message("", "a")]);
    assert_eq!(read(b"data: \xff\n\n"), [message("", "\u{fffd}")]);
}

#[test]
fn an_unfinished_event_is_dropped() {
    assert!(read(b"data: a\n").is_empty());
    assert!(read(b"data: a").is_empty());
}

#[test]
fn cut_anywhere_it_reads_the_same() {
    let stream = "\u{feff}id: 1\r\ndata: 😀é\r\n\r\n:\rretry: 20\rdata: b\rdata\r\r\ndata: c\n\n".as_bytes();
    let whole = read(stream);
    assert_eq!(whole.len(), 3);
    for at in 0..=stream.len() {
        for then in at..=stream.len() {
            let mut reader = Reader::new(LIMIT);
            let mut events = Vec::new();
            for chunk in [&stream[..at], &stream[at..then], b"", &stream[then..]] {
                events.extend(reader.feed(chunk).map(Result::unwrap));
            }
            let events: Vec<_> =
                events.into_iter().map(|Event { id, event, data }| (id, event, data)).collect();
            assert_eq!(events, whole, "cut at {at} and {then}");
            assert_eq!(reader.last_event_id(), Some("1"));
            assert_eq!(reader.retry(), Some(Duration::from_millis(20)));
        }
    }
}

#[test]
fn an_event_past_the_limit_ends_the_stream() {
    let too_large = Err(Error::TooLarge { limit: LIMIT });
    for line in ["data: ".to_owned() + &"x".repeat(LIMIT), format!("data: {}\n", "x".repeat(100)).repeat(20)]
    {
        let mut reader = Reader::new(LIMIT);
        let items: Vec<_> = reader.feed(format!("data: a\n\n{line}\n\ndata: b\n\n").as_bytes()).collect();
        assert_eq!(items.len(), 2);
        assert_eq!(items[1], too_large);
        assert_eq!(reader.feed(b"data: c\n\n").count(), 0);
    }
    let mut reader = Reader::new(LIMIT);
    let quiet = ":\n".repeat(LIMIT) + "data: a\n\n";
    assert_eq!(reader.feed(quiet.as_bytes()).flatten().count(), 1);
    assert_eq!(reader.feed(&[b'x'; LIMIT + 1]).collect::<Vec<_>>(), [too_large]);
}

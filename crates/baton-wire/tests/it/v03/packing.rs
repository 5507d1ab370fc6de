//! Data that is no object goes in one and comes out of it, whatever it is.

use std::sync::Arc;

use baton_core::json::{Json, Object};
use baton_core::limits::JSON_DEPTH;
use baton_core::model::{Content, Message, Part, Role, StreamResponse};
use baton_wire::grpc::v0_3;
use baton_wire::response::encode;
use baton_wire::v03::{Event, Spelling, read};

const SPELLINGS: [Spelling; 3] = [Spelling::JsonRpc, Spelling::Rest, Spelling::RestSnakeCase];

fn said(data: &str, metadata: Option<&str>) -> StreamResponse {
    let metadata = metadata.map(|metadata| Object::parse(metadata).unwrap());
    let parts = vec![Part { metadata, ..Part::data(Json::parse(data).unwrap()) }];
    let message = Message { message_id: "m".to_owned(), role: Role::Agent, parts, ..Message::default() };
    StreamResponse::Message(Arc::new(message))
}

fn written(spelling: Spelling, item: &StreamResponse) -> String {
    String::from_utf8(encode(&Event { spelling, item, until_input: false }).to_vec()).unwrap()
}

fn data(item: &StreamResponse) -> (&str, Option<&str>) {
    let StreamResponse::Message(message) = item else { panic!("{item:?}") };
    let Content::Data(json) = &message.parts[0].content else { panic!("{item:?}") };
    (json.as_str(), message.parts[0].metadata.as_ref().map(Object::as_str))
}

/// An agent may say what is nested as deeply as anything may be: packed it is a level deeper, and is said all the same.
#[test]
fn the_deepest_data_can_still_be_packed() {
    let deep = "[".repeat(JSON_DEPTH) + &"]".repeat(JSON_DEPTH);
    let item = said(&deep, Some(r#"{"a":1}"#));
    for spelling in SPELLINGS {
        let text = written(spelling, &item);
        assert!(text.contains(&format!(r#"{{"value":{deep}}}"#)), "{text}");
    }
    let v0_3::pb::StreamResponse { payload } = v0_3::stream_item(1, &item, false);
    assert!(payload.is_some());
}

#[test]
fn what_looks_packed_is_packed_too() {
    for (inside, metadata, left) in [
        (r#"{"value":1}"#, r#"{"data_part_compat":true,"a":2}"#, Some(r#"{"a":2}"#)),
        (r#"{"value":{"value":[]}}"#, r#"{"data_part_compat":true}"#, None),
        // Nothing would be taken out of these.
        (r#"{"v":1}"#, r#"{"data_part_compat":true}"#, Some(r#"{"data_part_compat":true}"#)),
        (r#"{"value":1}"#, r#"{"data_part_compat":false}"#, Some(r#"{"data_part_compat":false}"#)),
    ] {
        for spelling in SPELLINGS {
            let read = read::read_event(spelling, &written(spelling, &said(inside, Some(metadata)))).unwrap();
            assert_eq!(data(&read), (inside, left));
        }
    }
}

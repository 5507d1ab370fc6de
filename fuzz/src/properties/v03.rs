//! One JSON text as anything that 0.3 says, in each of its spellings, and as an item of 1.0 that is to be said in 0.3.

use baton_core::limits::JSON_DEPTH;
use baton_core::model::StreamResponse;
use baton_wire::fault::Fault;
use baton_wire::jsonrpc as rpc;
use baton_wire::response::encode;
use baton_wire::sse::Wrap;
use baton_wire::v03::{Event, Spell, Spelled, Spelling, read};
use baton_wire::version::Version;

use super::{fault, jsonrpc, sayable};

const SPELLINGS: [Spelling; 3] = [Spelling::JsonRpc, Spelling::Rest, Spelling::RestSnakeCase];

/// What is read comes back from what is written; what is not read is a fault; a request can be said in 1.0.
pub fn holds(bytes: &[u8]) {
    if let Ok(request) = rpc::read(bytes) {
        match jsonrpc::call(&request, Some(Version::V0_3)) {
            Ok(call) => jsonrpc::is_carried(&call),
            Err(refused) => fault::is_sound(&refused),
        }
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for spelling in SPELLINGS {
        comes_back(spelling, text);
    }
    // What is nested to the limit is a level deeper where data is packed.
    if text.bytes().filter(|byte| matches!(byte, b'{' | b'[')).count() < JSON_DEPTH
        && let Ok(item) = serde_json::from_str::<StreamResponse>(text)
    {
        for spelling in SPELLINGS {
            is_said(spelling, &item);
        }
    }
}

/// Whatever kind of thing it is.
fn comes_back(spelling: Spelling, text: &str) {
    let written = |value: &dyn Fn() -> Vec<u8>| String::from_utf8(value()).expect("JSON is UTF-8");
    if let Some(message) = sound(read::read_message(spelling, text)) {
        let again = written(&|| spelled(spelling, &message));
        assert_eq!(
            read::read_message(spelling, &again).ok(),
            sayable::message(spelling, &message),
            "{again}"
        );
    }
    if let Some(task) = sound(read::read_task(spelling, text)) {
        let again = written(&|| spelled(spelling, &task));
        assert_eq!(read::read_task(spelling, &again).ok(), sayable::task(spelling, &task), "{again}");
    }
    if let Some(answer) = sound(read::read_answer(spelling, text)) {
        let again = written(&|| spelled(spelling, &answer));
        read::read_answer(spelling, &again).expect("an answer comes back as one");
    }
    if let Some(config) = sound(read::read_push_config(spelling, text)) {
        let again = written(&|| spelled(spelling, &config));
        assert_eq!(read::read_push_config(spelling, &again).as_ref(), Ok(&config), "{again}");
    }
    if let Some(item) = sound(read::read_event(spelling, text)) {
        is_said(spelling, &item);
    }
}

fn spelled(spelling: Spelling, value: &impl Spell) -> Vec<u8> {
    encode(&Spelled(spelling, value)).to_vec()
}

fn sound<T>(read: Result<T, Fault>) -> Option<T> {
    read.inspect_err(fault::is_sound).ok()
}

/// An item, where 0.3 can say it, is said on one line and comes back.
fn is_said(spelling: Spelling, item: &StreamResponse) {
    let Some(wanted) = sayable::item(spelling, item) else { return };
    for until_input in [false, true] {
        let line = encode(&Event { spelling, item, until_input });
        let text = std::str::from_utf8(&line).expect("JSON is UTF-8");
        assert!(!text.contains(['\n', '\r']), "one line: {text}");
        assert_eq!(read::read_event(spelling, text).as_ref(), Ok(&wanted), "{text}");
        let wrap = match spelling {
            Spelling::JsonRpc => Wrap::JsonRpcV03(rpc::Id::number(1)),
            Spelling::Rest | Spelling::RestSnakeCase => Wrap::BareV03(spelling),
        };
        let sent = wrap.item(7, item, until_input);
        let lines = std::str::from_utf8(&sent).expect("JSON is UTF-8").lines();
        assert_eq!(lines.count(), 3, "an id, the data, and the line that ends the event");
    }
}

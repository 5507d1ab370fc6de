//! What is written is read back, and nothing that is fed in makes a parser panic.

use baton_core::json::{Json, Object};
use baton_core::model::{Message, Part, Role};
use baton_wire::client::{self, Binding, RestRequest};
use baton_wire::jsonrpc::{self, Id};
use baton_wire::operation::Route;
use baton_wire::request::{
    Call, GetTaskRequest, ListTasksRequest, SendMessageConfiguration, SendMessageRequest,
};
use baton_wire::response::SendMessageResponse;
use baton_wire::sse::{Reader, Wrap};
use baton_wire::version::Version;
use http::Method;
use proptest::prelude::*;

use crate::{from_jsonrpc, from_rest};

pub fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<i128>().prop_map(|number| number.to_string()),
        any::<f64>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(|number| format!("{number:e}")),
        any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
    ];
    let nested = leaf.prop_recursive(4, 16, 4, |inner| {
        let entry = (any::<String>(), inner.clone())
            .prop_map(|(key, value)| format!("{}:{value}", serde_json::to_string(&key).unwrap()));
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec(entry, 0..4).prop_map(|entries| format!("{{{}}}", entries.join(","))),
        ]
    });
    nested.prop_map(|text| Json::parse(&text).unwrap())
}

pub fn object() -> impl Strategy<Value = Object> {
    json().prop_map(|json| Object::parse(&format!(r#"{{"k":{}}}"#, json.as_str())).unwrap())
}

pub fn nonempty() -> impl Strategy<Value = Option<String>> {
    proptest::option::of(any::<String>().prop_filter("not empty", |text| !text.is_empty()))
}

fn request() -> impl Strategy<Value = SendMessageRequest> {
    let part = prop_oneof![any::<String>().prop_map(Part::text), json().prop_map(Part::data)];
    let message = (nonempty(), nonempty(), prop::collection::vec(part, 1..4), proptest::option::of(object()));
    let message = message.prop_map(|(context_id, task_id, parts, metadata)| Message {
        message_id: "m".to_owned(),
        role: Role::User,
        context_id,
        task_id,
        parts,
        metadata,
        ..Message::default()
    });
    let rest = (proptest::option::of(0..i32::MAX), any::<bool>(), nonempty(), proptest::option::of(object()));
    (message, rest).prop_map(|(message, (history_length, return_immediately, tenant, metadata))| {
        let configuration =
            SendMessageConfiguration { history_length, return_immediately, ..Default::default() };
        SendMessageRequest { tenant, message, configuration, metadata }
    })
}

fn by_rest(call: &Call) -> Call {
    let RestRequest { method, target, body } = RestRequest::new(call);
    let body = body.unwrap_or_default();
    from_rest(&method, &target, std::str::from_utf8(&body).unwrap()).unwrap()
}

proptest! {
    #[test]
    fn a_message_is_read_back(request in request()) {
        let call = Call::SendMessage(Box::new(request));
        prop_assert_eq!(&from_jsonrpc(&client::jsonrpc_request(&Id::number(1), &call)).unwrap(), &call);
        // `v1/…` is a path of 0.3, whatever a tenant is called.
        prop_assume!(call.tenant() != Some("v1"));
        prop_assert_eq!(&by_rest(&call), &call);
    }

    #[test]
    fn any_id_fits_into_a_path(id in any::<String>(), length in proptest::option::of(0..i32::MAX)) {
        prop_assume!(!id.is_empty());
        let call = Call::GetTask(GetTaskRequest { id, history_length: length, tenant: None });
        prop_assert_eq!(&by_rest(&call), &call);
    }

    #[test]
    fn any_text_fits_into_a_query(context_id in nonempty(), page_token in nonempty()) {
        let call = Call::ListTasks(ListTasksRequest { context_id, page_token, ..Default::default() });
        prop_assert_eq!(&by_rest(&call), &call);
    }

    #[test]
    fn events_are_read_back_however_they_are_cut(items in prop::collection::vec(json(), 1..5), size in 1_usize..40) {
        let mut stream = Vec::new();
        for (item, seq) in items.iter().zip(1..) {
            stream.extend_from_slice(&Wrap::Bare.event(Some(seq), item));
            stream.extend_from_slice(baton_wire::sse::KEEP_ALIVE);
        }
        let mut reader = Reader::new(1 << 20);
        let events: Vec<_> = stream.chunks(size).flat_map(|chunk| reader.feed(chunk)).map(Result::unwrap).collect();
        prop_assert_eq!(events.len(), items.len());
        for (event, (item, seq)) in events.iter().zip(items.iter().zip(1_u64..)) {
            prop_assert_eq!(&event.data, item.as_str());
            prop_assert_eq!(&event.id, &seq.to_string());
        }
    }

    #[test]
    fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..200), text in any::<String>()) {
        for body in [&*bytes, text.as_bytes()] {
            _ = jsonrpc::read(body);
            _ = client::read_jsonrpc::<SendMessageResponse>(200, body);
            _ = client::read_rest::<SendMessageResponse>(500, body);
            _ = Reader::new(64).feed(body).count();
            _ = Version::asked([body], None);
        }
        _ = client::read_event(Binding::JsonRpc, &text);
        _ = Version::asked([], Some(&text));
        for method in [Method::GET, Method::POST] {
            _ = from_rest(&method, &text, &text);
            _ = from_rest(&method, &format!("tasks?{text}"), &text);
            _ = from_rest(&method, &format!("v1/tasks?{text}"), &text);
            _ = from_rest(&method, "v1/message:send", &text);
            _ = Route::parse(&method, &text);
        }
    }

    #[test]
    fn a_mutated_request_is_read_or_refused(request in request(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let call = Call::SendMessage(Box::new(request));
        let mut body = client::jsonrpc_request(&Id::number(1), &call).to_vec();
        let at = at.index(body.len());
        body[at] = byte;
        if let Err(fault) = from_jsonrpc(&body) {
            let rest = fault.to_rest();
            prop_assert!(serde_json::from_slice::<serde_json::Value>(&rest).is_ok());
        }
    }
}

//! gRPC: a byte that chooses the operation, and the message of a request, in either version; or, from `{` on, JSON that is
//! to be said in messages.

use std::fmt::Debug;

use baton_core::model::{Content, Message, Part, StreamResponse};
use baton_wire::grpc::{frame, v0_3, v1};
use baton_wire::jsonrpc as rpc;
use baton_wire::operation::Operation;
use baton_wire::request::{Call, SendMessageRequest};
use bytes::Bytes;
use prost::Message as _;

use super::{fault, jsonrpc};

/// Levels of JSON that any reader of protocol buffers can bear: each takes up to three of its hundred.
const DEPTH: usize = 25;

/// What a gRPC client says can be said in JSON too; what we say to one is read back; what is not read is a fault.
pub fn holds(bytes: &[u8]) {
    match bytes.split_first() {
        Some((b'{', _)) => is_said(bytes),
        Some((which, message)) => is_read(usize::from(*which), &Bytes::copy_from_slice(message)),
        None => {}
    }
}

fn is_read(which: usize, message: &Bytes) {
    let operation = Operation::ALL[which % Operation::ALL.len()];
    for read in [v1::read, v0_3::read] {
        match read(operation, message.clone()) {
            Ok(call) => jsonrpc::is_carried(&call),
            Err(refused) => fault::is_sound(&refused),
        }
    }
    match frame::read(message.clone()) {
        Ok(inside) => assert_eq!(inside.len() + frame::PREFIX, message.len()),
        Err(refused) => fault::is_sound(&refused),
    }
}

fn is_said(json: &[u8]) {
    if json.iter().filter(|byte| matches!(byte, b'{' | b'[')).count() > DEPTH {
        return;
    }
    if let Ok(item) = serde_json::from_slice::<StreamResponse>(json) {
        comes_back(&v1::stream_item(7, &item));
        comes_back(&v0_3::stream_item(7, &item, true));
    }
    if let Ok(request) = rpc::read(json)
        && let Ok(Call::SendMessage(request)) = jsonrpc::call(&request, None)
    {
        is_heard(&request);
    }
}

/// A message is in its frame what it was before.
fn comes_back<M: prost::Message + Default + PartialEq + Debug>(message: &M) {
    let inside = frame::read(frame::write(message)).expect("a frame of ours is whole");
    assert_eq!(M::decode(inside).as_ref(), Ok(message));
}

/// A message of a client arrives as in JSON, but for the spelling of numbers and the order of members.
fn is_heard(request: &SendMessageRequest) {
    let once = through(request);
    assert_eq!(plain(&once.message), plain(&request.message));
    assert_eq!(through(&once).message, once.message, "what has been through it once is settled");
}

fn through(request: &SendMessageRequest) -> SendMessageRequest {
    let message = Some((&request.message).into());
    let sent = v1::pb::SendMessageRequest { message, ..Default::default() };
    match v1::read(Operation::SendMessage, sent.encode_to_vec().into()) {
        Ok(Call::SendMessage(read)) => *read,
        other => panic!("{request:?} is read as {other:?}"),
    }
}

/// A message without the JSON that it carries.
fn plain(message: &Message) -> Message {
    let part = |part: &Part| {
        let content = match &part.content {
            Content::Data(_) => Content::Missing,
            content => content.clone(),
        };
        Part { content, metadata: None, ..part.clone() }
    };
    Message { parts: message.parts.iter().map(part).collect(), metadata: None, ..message.clone() }
}

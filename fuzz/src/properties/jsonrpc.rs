//! Bytes as the body of a JSON-RPC request, of either version: its method's name decides.

use baton_core::limits::JSON_DEPTH;
use baton_wire::client::{self, RestRequest};
use baton_wire::fault::Fault;
use baton_wire::jsonrpc::{self, Id, Request};
use baton_wire::operation::{Operation, Route};
use baton_wire::request::Call;
use baton_wire::response::Empty;
use baton_wire::version::Version;
use serde_json::value::RawValue;

use super::fault;

/// What is read is the same in every binding; what is not read is a fault, under an id that can be answered.
pub fn holds(bytes: &[u8]) {
    match jsonrpc::read(bytes) {
        Ok(request) => {
            is_answerable(&request.id);
            match call(&request, None) {
                Ok(call) => is_carried(&call),
                Err(fault) => fault::is_sound(&fault),
            }
        }
        Err(rejected) => {
            is_answerable(&rejected.id);
            fault::is_sound(&rejected.fault);
        }
    }
}

/// The call of a request.
pub fn call(request: &Request<'_>, asked: Option<Version>) -> Result<Call, Fault> {
    Call::from_params(Operation::from_method(asked, &request.method)?, request.params)
}

/// An answer under this id is JSON, and carries the id as it was written.
fn is_answerable(id: &Id) {
    #[derive(serde::Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
    }
    let answer = jsonrpc::result(id, &Empty {});
    let Answer { id: written } = serde_json::from_slice(&answer).expect("an answer is JSON");
    assert_eq!(written.get(), id.as_str());
}

/// Written by our client and read by our server, in both bindings of 1.0, a call stays what it was.
pub fn is_carried(call: &Call) {
    let body = client::jsonrpc_request(&Id::number(1), call);
    // What is nested to the limit in one binding may be a level past it in another.
    if body.iter().filter(|byte| matches!(byte, b'{' | b'[')).count() > JSON_DEPTH {
        return;
    }
    let request = jsonrpc::read(&body).expect("what we write is read");
    assert_eq!(self::call(&request, None).as_ref(), Ok(call), "over JSON-RPC");
    // As the first segment of a path these two are no tenants.
    if call.tenant().is_none_or(|tenant| !matches!(tenant, "v1" | "tasks")) {
        let RestRequest { method, target, body } = RestRequest::new(call);
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let read = Route::parse(&method, path)
            .and_then(|route| Call::from_rest(route, query, &body.unwrap_or_default()));
        assert_eq!(read.as_ref(), Ok(call), "over REST: {method} {target}");
    }
}

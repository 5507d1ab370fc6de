//! The wire, seen from outside: golden texts, tables of errors, properties.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod client;
mod fault;
mod generated;
mod golden;
mod grpc;
mod jsonrpc;
mod lenient;
mod operation;
mod properties;
mod sse;
mod v03;
mod version;
mod violations;

use baton_wire::fault::{Fault, Kind};
use baton_wire::jsonrpc as rpc;
use baton_wire::operation::{Operation, Route};
use baton_wire::request::{Call, SendMessageRequest};
use http::Method;

/// Reads a JSON-RPC body as a server does.
fn from_jsonrpc(body: &[u8]) -> Result<Call, Fault> {
    let request = rpc::read(body).map_err(|rejected| *rejected.fault)?;
    Call::from_params(Operation::from_method(None, &request.method)?, request.params)
}

/// Reads a REST request as a server does.
fn from_rest(method: &Method, target: &str, body: &str) -> Result<Call, Fault> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    Call::from_rest(Route::parse(method, path)?, query, body.as_bytes())
}

/// Reads the parameters of SendMessage.
fn send(params: &str) -> Result<SendMessageRequest, Fault> {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{params}}}"#);
    match from_jsonrpc(body.as_bytes())? {
        Call::SendMessage(request) => Ok(*request),
        other => panic!("read {other:?}"),
    }
}

/// `field: description` of the one violation that a fault has.
fn violation(fault: &Fault) -> String {
    assert_eq!(fault.kind, Kind::InvalidParams, "{fault:?}");
    let [violation] = &*fault.violations else { panic!("{fault:?}") };
    format!("{}: {}", violation.field, violation.description)
}

//! Faults: each is a line of the one table, in the JSON of every binding and in gRPC's status, and short.

use baton_wire::client::{self, Failure, RemoteError};
use baton_wire::fault::{Fault, Kind};
use baton_wire::jsonrpc::{self, Id};
use baton_wire::response::Empty;
use serde_json::Value;

/// Bytes of a fault's JSON: what a caller sent is repeated in part at most.
const FAULT_BYTES: usize = 8 * 1024;

/// What holds for every fault, whatever was wrong.
pub fn is_sound(fault: &Fault) {
    assert!(Kind::ALL.contains(&fault.kind), "{fault:?} is of the table");
    assert!(fault.violations.is_empty() || fault.kind == Kind::InvalidParams, "{fault:?}");
    assert!(fault.violations.iter().all(|violation| !violation.description.is_empty()), "{fault:?}");
    over_rest(fault);
    over_jsonrpc(fault);
    let status = fault.to_grpc();
    assert_eq!((status.code, &*status.message), (fault.kind.row().grpc.number(), &*fault.message()));
}

fn over_rest(fault: &Fault) {
    let row = fault.kind.row();
    for body in [fault.to_rest(), fault.to_rest_v03()] {
        assert!(body.len() <= FAULT_BYTES, "{} bytes: {fault:?}", body.len());
        let json: Value = serde_json::from_slice(&body).expect("a fault is JSON");
        let error = &json["error"];
        assert_eq!(error["code"], row.http.as_u16());
        assert_eq!(error["status"], row.grpc.as_str());
        assert_eq!(error["message"], *fault.message());
        assert_eq!(error["details"][0]["reason"], row.reason);
        assert!(json.get("code").is_none_or(|code| *code == row.code), "{json}");
        same(fault, client::read_rest::<Empty>(row.http.as_u16(), &fault.to_rest()));
    }
}

fn over_jsonrpc(fault: &Fault) {
    let body = jsonrpc::error(&Id::NULL, fault);
    assert!(body.len() <= FAULT_BYTES, "{} bytes: {fault:?}", body.len());
    let json: Value = serde_json::from_slice(&body).expect("a fault is JSON");
    assert_eq!(json["error"]["code"], fault.kind.row().code);
    assert_eq!(json["error"]["data"][0]["reason"], fault.kind.row().reason);
    same(fault, client::read_jsonrpc::<Empty>(fault.jsonrpc_http_status().as_u16(), &body));
}

/// Our client understands what our server says.
fn same(fault: &Fault, read: Result<Empty, Failure>) {
    let Err(Failure::Remote(remote)) = read else { panic!("{fault:?} is read as {read:?}") };
    let RemoteError { kind, message, violations, .. } = *remote;
    assert_eq!((kind, message), (Some(fault.kind), fault.message().into_owned()));
    assert_eq!(violations, fault.violations);
}

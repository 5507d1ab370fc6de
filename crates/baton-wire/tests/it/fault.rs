//! The fault table, and what faults look like in each binding.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::time::Duration;

use baton_core::model::Violation;
use baton_wire::fault::{Fault, Kind};
use baton_wire::jsonrpc::{self, Id};

#[test]
fn the_table() {
    let mut table = String::new();
    for kind in Kind::ALL {
        let row = kind.row();
        let over_jsonrpc = Fault::new(kind).jsonrpc_http_status().as_u16();
        writeln!(
            table,
            "{:<31} {} {} {:>6} {:>2} {:<19} {:<16} {:<34} {}",
            format!("{kind:?}"),
            row.http.as_u16(),
            over_jsonrpc,
            row.code,
            row.grpc.number(),
            row.grpc.as_str(),
            row.domain,
            row.reason,
            row.text
        )
        .unwrap();
    }
    insta::assert_snapshot!(table);
}

#[test]
fn reasons_and_codes_lead_back() {
    let reasons: HashSet<_> = Kind::ALL.iter().map(|kind| kind.row().reason).collect();
    assert_eq!(reasons.len(), Kind::ALL.len());
    for kind in Kind::ALL {
        assert_eq!(Kind::from_reason(kind.row().reason), Some(kind));
        let by_code = Kind::from_code(kind.row().code);
        assert_eq!(by_code, (kind.row().code != -32000).then_some(kind));
    }
}

#[test]
fn in_both_bindings() {
    let faults = [
        Fault::task_not_found("made \"up\"\n"),
        Fault::from(Violation::new("message.parts", "at least one part is required")),
        Fault::new(Kind::Unavailable).with_retry_after(Duration::from_millis(1500)),
        Fault::new(Kind::UnsupportedOperation).with_message("Streaming is not supported"),
        Fault::new(Kind::InvalidParams)
            .with_violation(Violation::new("pageSize", "must be between 1 and 100, got 0"))
            .with_violation(Violation::new("historyLength", "must be zero or more, got -1")),
    ];
    let mut out = String::new();
    for fault in faults {
        let rest = fault.to_rest();
        let rpc = jsonrpc::error(&Id::number(7), &fault);
        for body in [rest, rpc] {
            writeln!(out, "{}", std::str::from_utf8(&body).unwrap()).unwrap();
        }
    }
    insta::assert_snapshot!(out);
}

#[test]
fn headers_go_with_the_fault() {
    let headers = |fault: Fault| {
        let text = |(name, value): (http::HeaderName, http::HeaderValue)| {
            format!("{name}: {}", value.to_str().unwrap())
        };
        fault.headers().map(text).collect::<Vec<_>>()
    };
    assert_eq!(headers(Fault::method_not_allowed("GET, POST")), ["allow: GET, POST"]);
    let busy = Fault::new(Kind::RateLimited).with_retry_after(Duration::from_millis(1));
    assert_eq!(headers(busy), ["retry-after: 1"]);
    assert!(headers(Fault::new(Kind::Internal)).is_empty());
}

#[test]
fn nothing_but_the_callers_own_id_differs() {
    let body = |id: &str| Fault::task_not_found(id).to_rest();
    let of = |id: &str| String::from_utf8(body(id).to_vec()).unwrap().replace(id, "ID");
    assert_eq!(of("0199f0a2-7c1e-7d3a-8f00-0a0b0c0d0e0f"), of("nonsense"));
    assert!(body(&"é".repeat(1_000_000)).len() < 1000, "an endless id is not repeated whole");
}

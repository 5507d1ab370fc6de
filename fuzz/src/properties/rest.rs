//! A REST request of either version: `METHOD target` on the first line, the body after it.

use baton_wire::operation::Route;
use baton_wire::request::Call;
use baton_wire::v03::read::rest_spelling;
use baton_wire::version::Version;
use http::Method;

use super::{fault, jsonrpc};

/// What is read is the same in every binding; what is not read is a fault.
pub fn holds(bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (head, body) = bytes.split_at(end);
    let body = body.strip_prefix(b"\n").unwrap_or_default();
    let Ok(head) = std::str::from_utf8(head) else { return };
    let (method, target) = head.split_once(' ').unwrap_or(("GET", head));
    let Ok(method) = Method::from_bytes(method.as_bytes()) else { return };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));

    // How a client of 0.3 wants its answer is read from its request, whatever that is.
    assert!(rest_spelling(body).is_rest());

    let asked = Version::asked([body], Some(query));
    if let Err(refused) = &asked {
        fault::is_sound(refused);
    }
    let route = Route::parse(&method, path).and_then(|route| route.asked(asked.ok().flatten()));
    match route.and_then(|route| Call::from_rest(route, query, body)) {
        Ok(call) => jsonrpc::is_carried(&call),
        Err(refused) => {
            // A header value that could not be written would panic here.
            assert!(refused.headers().count() <= 2, "{refused:?}");
            fault::is_sound(&refused);
        }
    }
}

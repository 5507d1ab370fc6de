//! One event on two lines: `id:` and `data:`, since widespread clients trip over anything else.

use bytes::Bytes;
use serde::Serialize;

use crate::fault::Fault;
use crate::jsonrpc::{self, Id};
use crate::response::write;

/// A comment between two events. One line without an empty line after it: some clients take that for an event.
pub const KEEP_ALIVE: &[u8] = b":\n";

/// How the items of a stream are wrapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrap {
    /// REST: the item itself.
    Bare,
    /// The result of an answer to the request with this id.
    JsonRpc(Id),
}

impl Wrap {
    /// One item of a stream, a `StreamResponse` or its JSON, with its sequence number.
    pub fn event(&self, seq: Option<u64>, item: &impl Serialize) -> Bytes {
        let mut out = Vec::with_capacity(1024);
        if let Some(seq) = seq {
            out.extend_from_slice(format!("id: {seq}\n").as_bytes());
        }
        line(&mut out, |out| match self {
            Self::Bare => write(out, item),
            Self::JsonRpc(id) => jsonrpc::write_result(out, id, item),
        });
        out.into()
    }

    /// The end of a stream that went wrong.
    pub fn error(&self, fault: &Fault) -> Bytes {
        let mut out = Vec::with_capacity(512);
        line(&mut out, |out| match self {
            Self::Bare => out.extend_from_slice(&fault.to_rest()),
            Self::JsonRpc(id) => jsonrpc::write_error(out, id, fault),
        });
        out.into()
    }
}

fn line(out: &mut Vec<u8>, data: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(b"data: ");
    let start = out.len();
    data(out);
    // A raw line break in JSON is insignificant white space; here it would end the field.
    for byte in &mut out[start..] {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    out.extend_from_slice(b"\n\n");
}

//! One event on two lines: `id:` and `data:`, since widespread clients trip over anything else.

use baton_core::model::StreamResponse;
use bytes::Bytes;
use serde::Serialize;

use crate::fault::Fault;
use crate::jsonrpc::{self, Id};
use crate::response::write;
use crate::v03;
use crate::v03::Spelling;

/// A comment between two events. One line without an empty line after it: some clients take that for an event.
pub const KEEP_ALIVE: &[u8] = b":\n";

/// How the items of a stream are wrapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrap {
    /// REST: the item itself.
    Bare,
    /// The result of an answer to the request with this id.
    JsonRpc(Id),
    /// REST of 0.3, in one of its spellings: as of 1.0, but an error is an event of that type.
    BareV03(Spelling),
    /// JSON-RPC of 0.3.
    JsonRpcV03(Id),
}

impl Wrap {
    /// One item of a stream with its sequence number, spelled as the version has it. `until_input` says that the stream
    /// ends where the task waits for input, which 0.3 says with that event.
    pub fn item(&self, seq: u64, item: &StreamResponse, until_input: bool) -> Bytes {
        let event = |spelling| v03::Event { spelling, item, until_input };
        match self {
            Self::Bare | Self::JsonRpc(_) => self.event(Some(seq), item),
            Self::BareV03(spelling) => self.event(Some(seq), &event(*spelling)),
            Self::JsonRpcV03(_) => self.event(Some(seq), &event(Spelling::JsonRpc)),
        }
    }

    /// Any value as one event of the stream.
    pub fn event(&self, seq: Option<u64>, item: &impl Serialize) -> Bytes {
        let mut out = Vec::with_capacity(1024);
        if let Some(seq) = seq {
            out.extend_from_slice(format!("id: {seq}\n").as_bytes());
        }
        line(&mut out, |out| match self {
            Self::Bare | Self::BareV03(_) => write(out, item),
            Self::JsonRpc(id) | Self::JsonRpcV03(id) => jsonrpc::write_result(out, id, item),
        });
        out.into()
    }

    /// The end of a stream that went wrong.
    pub fn error(&self, fault: &Fault) -> Bytes {
        let mut out = Vec::with_capacity(512);
        if matches!(self, Self::BareV03(_)) {
            out.extend_from_slice(b"event: error\n");
        }
        line(&mut out, |out| match self {
            Self::Bare => out.extend_from_slice(&fault.to_rest()),
            Self::BareV03(_) => out.extend_from_slice(&fault.to_rest_v03()),
            Self::JsonRpc(id) | Self::JsonRpcV03(id) => jsonrpc::write_error(out, id, fault),
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

//! The frame of a gRPC message: a flag, a length in four bytes, and the message.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use prost::Message;

use crate::fault::{Fault, Kind};

/// Bytes before a message.
pub const PREFIX: usize = 5;

/// The one message of a request's body.
pub fn read(mut body: Bytes) -> Result<Bytes, Fault> {
    let broken =
        |why: &str| Fault::new(Kind::InvalidRequest).with_message(format!("Invalid gRPC frame: {why}"));
    if body.len() < PREFIX {
        return Err(broken("the request has no message"));
    }
    match body.get_u8() {
        0 => {}
        1 => return Err(Fault::new(Kind::EncodingNotSupported)),
        _ => return Err(broken("its flag is neither 0 nor 1")),
    }
    let length = body.get_u32() as usize;
    match body.len().cmp(&length) {
        std::cmp::Ordering::Equal => Ok(body),
        std::cmp::Ordering::Less => Err(broken("the message is shorter than it says")),
        std::cmp::Ordering::Greater => Err(broken("the request has more than one message")),
    }
}

/// A message in its frame, in one piece.
pub fn write(message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let mut out = BytesMut::with_capacity(PREFIX + length);
    out.put_u8(0);
    out.put_u32(u32::try_from(length).expect("a task's content is bounded far below 4 GiB"));
    message.encode(&mut out).expect("a BytesMut takes every byte");
    out.freeze()
}

/// Decodes a message.
pub(super) fn decode<M: Message + Default>(message: Bytes) -> Result<M, Fault> {
    M::decode(message).map_err(|why| {
        // What prost says names our fields, not the sender's bytes.
        Fault::new(Kind::Parse).with_message(format!("Invalid protocol buffer: {why}"))
    })
}

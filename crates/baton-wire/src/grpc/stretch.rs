//! Messages whose large fields are not in them: a message is encoded with something short in place of each, and what is
//! sent around them gets the lengths that it will have.

use std::ops::Range;

use bytes::{BufMut as _, Bytes, BytesMut};

use super::frame::PREFIX;

/// A field of bytes or text that will be longer than it is in the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hole {
    /// Where its short content stands in the frame.
    pub at: Range<usize>,
    /// How many bytes it will have.
    pub len: usize,
}

/// What stands before the first hole of a frame, between each and the next, and after the last. The holes are those of one
/// message in its frame, in order.
pub fn stretch(frame: &[u8], holes: &[Hole]) -> Vec<Bytes> {
    let mut texts = Texts::default();
    texts.last.put_slice(&frame[..1]);
    let inner = fields(frame, PREFIX..frame.len(), holes);
    texts.last.put_u32(u32::try_from(inner.len).expect("a task's content is bounded far below 4 GiB"));
    texts.add(inner);
    texts.done.push(texts.last.freeze());
    texts.done
}

/// Texts with a hole between each and the next, and how long all is together.
#[derive(Default)]
struct Texts {
    done: Vec<Bytes>,
    last: BytesMut,
    len: usize,
}

impl Texts {
    fn put(&mut self, bytes: &[u8]) {
        self.last.put_slice(bytes);
        self.len += bytes.len();
    }

    fn put_length(&mut self, length: usize) {
        prost::encode_length_delimiter(length, &mut self.last).expect("a BytesMut takes every byte");
        self.len += prost::length_delimiter_len(length);
    }

    fn hole(&mut self, len: usize) {
        self.done.push(std::mem::take(&mut self.last).freeze());
        self.len += len;
    }

    fn add(&mut self, inner: Self) {
        self.len += inner.len;
        let mut texts = inner.done.into_iter();
        let Some(first) = texts.next() else { return self.last.put_slice(&inner.last) };
        self.last.put_slice(&first);
        self.done.push(std::mem::take(&mut self.last).freeze());
        self.done.extend(texts);
        self.last = inner.last;
    }
}

/// The fields of a message that is at `all`.
fn fields(frame: &[u8], all: Range<usize>, mut holes: &[Hole]) -> Texts {
    let mut texts = Texts::default();
    let (mut copied, mut at) = (all.start, all.start);
    while let Some(next) = holes.first() {
        let key = varint(frame, &mut at);
        let length_at = at;
        match key & 7 {
            0 => drop(varint(frame, &mut at)),
            1 => at += 8,
            5 => at += 4,
            2 => {
                let length = varint(frame, &mut at);
                let value = at..at + length;
                at = value.end;
                let inside = holes.iter().take_while(|hole| hole.at.start < value.end).count();
                if inside == 0 {
                    continue;
                }
                texts.put(&frame[copied..length_at]);
                copied = value.end;
                if next.at == value {
                    texts.put_length(next.len);
                    texts.hole(next.len);
                } else {
                    let inner = fields(frame, value, &holes[..inside]);
                    texts.put_length(inner.len);
                    texts.add(inner);
                }
                holes = &holes[inside..];
            }
            _ => unreachable!("there are no groups in what prost has written"),
        }
    }
    texts.put(&frame[copied..all.end]);
    texts
}

/// The number at `at`, which then stands after it.
fn varint(frame: &[u8], at: &mut usize) -> usize {
    let mut rest = &frame[*at..];
    let before = rest.len();
    let number = prost::decode_length_delimiter(&mut rest).expect("prost has written it");
    *at += before - rest.len();
    number
}

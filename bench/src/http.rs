//! Owns the smallest reader of HTTP/1.1 answers that a closed loop needs. It does no IO.

use memchr::memmem;

/// An answer that is larger than this is not one of ours.
pub const ANSWER_LIMIT: usize = 64 * 1024 * 1024;

/// One complete answer at the start of a buffer.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    pub status: u16,
    /// Where the body starts in the buffer.
    pub body_start: usize,
    /// Where the body ends, chunk framing not counted as body when it is a single chunk.
    pub body_end: usize,
    /// Where the next answer starts.
    pub end: usize,
}

/// The answer at the start of `buffer`; `None` means that more bytes are needed.
pub fn parse(buffer: &[u8]) -> Result<Option<Answer>, String> {
    let Some(head_end) = memmem::find(buffer, b"\r\n\r\n") else {
        return if buffer.len() > ANSWER_LIMIT { Err("endless answer head".into()) } else { Ok(None) };
    };
    let head = &buffer[..head_end];
    let body_start = head_end + 4;
    let status = parse_status(head)?;
    match framing(head)? {
        Framing::Length(length) => {
            let end = body_start + length;
            if length > ANSWER_LIMIT {
                return Err(format!("answer of {length} bytes"));
            }
            Ok((buffer.len() >= end).then_some(Answer { status, body_start, body_end: end, end }))
        }
        // Good enough for us: JSON text never contains the closing chunk's line break sequence.
        Framing::Chunked => Ok(memmem::find(&buffer[body_start..], b"\r\n0\r\n\r\n").map(|at| Answer {
            status,
            body_start,
            body_end: body_start + at,
            end: body_start + at + 7,
        })),
    }
}

enum Framing {
    Length(usize),
    Chunked,
}

fn parse_status(head: &[u8]) -> Result<u16, String> {
    if !head.starts_with(b"HTTP/1.1 ") {
        return Err(format!("not HTTP/1.1: {:?}", String::from_utf8_lossy(&head[..head.len().min(60)])));
    }
    head.get(9..12)
        .and_then(|digits| std::str::from_utf8(digits).ok())
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(|| "no status in the answer".to_owned())
}

fn framing(head: &[u8]) -> Result<Framing, String> {
    for line in head.split(|byte| *byte == b'\n').skip(1) {
        let Some(colon) = memchr::memchr(b':', line) else { continue };
        let value = line[colon + 1..].trim_ascii();
        if line[..colon].eq_ignore_ascii_case(b"content-length") {
            return std::str::from_utf8(value)
                .ok()
                .and_then(|digits| digits.parse().ok())
                .map(Framing::Length)
                .ok_or_else(|| "content-length is no number".to_owned());
        }
        if line[..colon].eq_ignore_ascii_case(b"transfer-encoding") && value.eq_ignore_ascii_case(b"chunked")
        {
            return Ok(Framing::Chunked);
        }
    }
    Err("an answer without content-length".into())
}

/// Where a request goes.
#[derive(Debug, Clone)]
pub struct Door {
    pub host: String,
    pub path: String,
    /// Shown as a bearer token.
    pub token: Option<String>,
}

/// A JSON POST as both the load generator and the one-at-a-time client write it.
pub fn write_post(door: &Door, body: &[u8], out: &mut Vec<u8>) {
    use std::io::Write as _;
    // Writing to a Vec cannot fail.
    let _ = write!(
        out,
        "POST {} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\na2a-version: 1.0\r\n\
         content-length: {}\r\n",
        door.path,
        door.host,
        body.len()
    );
    if let Some(token) = &door.token {
        let _ = write!(out, "authorization: Bearer {token}\r\n");
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body);
}

pub fn write_get(door: &Door, out: &mut Vec<u8>) {
    use std::io::Write as _;
    let _ = write!(out, "GET {} HTTP/1.1\r\nhost: {}\r\n\r\n", door.path, door.host);
}

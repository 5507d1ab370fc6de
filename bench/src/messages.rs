//! Owns the A2A requests that the bench sends and how their answers are recognised.

use memchr::memmem::{Finder, find};
use serde_json::{Value, json};

use crate::http::{self, Door};
use crate::load::Exchange;

/// Every request's number is written as this many hexadecimal digits, so that lengths never change.
const DIGITS: usize = 16;
pub const TEXT: &str = "Please echo this line back, number ";

/// What a right answer looks like, besides repeating the request's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// The request itself, echoed.
    Echo,
    /// A completed Task whose artifact repeats the text.
    CompletedTask,
}

/// Blocking SendMessage, each with a number of its own in its text.
#[derive(Debug)]
pub struct Send {
    plain: Vec<Piece>,
    /// The request that names its conversation; every second one when there are `contexts`.
    in_context: Vec<Piece>,
    contexts: u64,
    text: Finder<'static>,
    expect: Expect,
}

/// A stretch of a request: what is always the same, or what changes with its number.
#[derive(Debug)]
enum Piece {
    Bytes(Vec<u8>),
    Number,
    Context,
}

impl Send {
    pub fn new(door: &Door, expect: Expect) -> Self {
        Self {
            plain: cut(&send_request(door, false)),
            in_context: Vec::new(),
            contexts: 0,
            text: Finder::new(TEXT),
            expect,
        }
    }

    /// Every second request belongs to one of `contexts` conversations named by [`context_name`].
    pub fn with_contexts(door: &Door, contexts: u64) -> Self {
        let in_context = cut(&send_request(door, true));
        Self { in_context, contexts, ..Self::new(door, Expect::CompletedTask) }
    }
}

/// The contextId of one of the filled conversations.
pub fn context_name(number: u64) -> String {
    format!("bench-{number:0DIGITS$x}")
}

/// A request with runs of `N` where its number goes and of `C` where its context's number goes.
fn send_request(door: &Door, in_context: bool) -> Vec<u8> {
    let number = "N".repeat(DIGITS);
    let mut message = json!({
        "messageId": number, "role": "ROLE_USER", "parts": [{"text": format!("{TEXT}{number}")}],
    });
    if in_context {
        message["contextId"] = json!(format!("bench-{}", "C".repeat(DIGITS)));
    }
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}});
    let mut whole = Vec::new();
    http::write_post(door, body.to_string().as_bytes(), &mut whole);
    whole
}

fn cut(whole: &[u8]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut bytes = Vec::new();
    let mut at = 0;
    while at < whole.len() {
        let piece = match whole.get(at..at + DIGITS) {
            Some(run) if run.iter().all(|byte| *byte == b'N') => Piece::Number,
            Some(run) if run.iter().all(|byte| *byte == b'C') => Piece::Context,
            _ => {
                bytes.push(whole[at]);
                at += 1;
                continue;
            }
        };
        pieces.push(Piece::Bytes(std::mem::take(&mut bytes)));
        pieces.push(piece);
        at += DIGITS;
    }
    pieces.push(Piece::Bytes(bytes));
    pieces
}

impl Exchange for Send {
    fn write(&self, number: u64, out: &mut Vec<u8>) {
        let in_context = self.contexts > 0 && number.is_multiple_of(2);
        for piece in if in_context { &self.in_context } else { &self.plain } {
            match piece {
                Piece::Bytes(bytes) => out.extend_from_slice(bytes),
                Piece::Number => out.extend_from_slice(&hexadecimal(number)),
                Piece::Context => out.extend_from_slice(&hexadecimal((number / 2) % self.contexts)),
            }
        }
    }

    fn accepts(&self, number: u64, body: &[u8]) -> bool {
        let digits = hexadecimal(number);
        let repeats = self
            .text
            .find_iter(body)
            .any(|at| body[at + TEXT.len()..].get(..DIGITS) == Some(digits.as_slice()));
        repeats && (self.expect == Expect::Echo || is_completed(body))
    }
}

/// GetTask of known tasks, in turn.
#[derive(Debug)]
pub struct Get {
    door: Door,
    ids: Vec<String>,
    expect: Expect,
}

impl Get {
    pub fn new(door: &Door, ids: Vec<String>, expect: Expect) -> Self {
        Self { door: door.clone(), ids, expect }
    }

    fn id(&self, number: u64) -> &str {
        // Neighbouring numbers must not mean neighbouring rows.
        &self.ids[(number.wrapping_mul(7_919) % self.ids.len() as u64) as usize]
    }
}

impl Exchange for Get {
    fn write(&self, number: u64, out: &mut Vec<u8>) {
        let id = self.id(number);
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{{"id":"{id}"}}}}"#);
        http::write_post(&self.door, body.as_bytes(), out);
    }

    fn accepts(&self, number: u64, body: &[u8]) -> bool {
        find(body, self.id(number).as_bytes()).is_some()
            && (self.expect == Expect::Echo || is_completed(body))
    }
}

fn is_completed(body: &[u8]) -> bool {
    find(body, b"\"TASK_STATE_COMPLETED\"").is_some() && find(body, b"\"artifacts\"").is_some()
}

pub fn hexadecimal(number: u64) -> [u8; DIGITS] {
    const TABLE: &[u8; 16] = b"0123456789abcdef";
    let mut digits = [b'0'; DIGITS];
    for (index, digit) in digits.iter_mut().enumerate() {
        *digit = TABLE[((number >> (60 - 4 * index)) & 15) as usize];
    }
    digits
}

/// A SendMessage, to be returned from at once where that is wanted.
pub fn send_body(number: u64, at_once: bool) -> String {
    let configuration = if at_once { r#","configuration":{"returnImmediately":true}"# } else { "" };
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{"message":{{"messageId":"m-{number}","role":"ROLE_USER","parts":[{{"text":"{TEXT}{number}"}}]}}{configuration}}}}}"#
    )
}

/// The `params` of one blocking SendMessage at concurrency 1.
pub fn send_params(number: u64, context: Option<&str>) -> Value {
    let mut message = json!({
        "messageId": format!("turn-{number}"), "role": "ROLE_USER", "parts": [{"text": format!("{TEXT}{number}")}],
    });
    if let Some(context) = context {
        message["contextId"] = json!(context);
    }
    json!({"message": message})
}

/// The Task in a SendMessage result, when it is completed and repeats `number`'s text.
pub fn completed_task(result: &Value, number: u64) -> Option<&Value> {
    let task = result.get("task")?;
    let text = task.pointer("/artifacts/0/parts/0/text")?.as_str()?;
    let state = task.pointer("/status/state")?.as_str()?;
    (state == "TASK_STATE_COMPLETED" && text.ends_with(&format!("number {number}"))).then_some(task)
}

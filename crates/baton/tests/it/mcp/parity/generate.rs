//! Requests of all kinds, good and bad ones.

use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::select;
use proptest::{collection, option};
use serde_json::{Value, json};

#[derive(Clone, Debug)]
pub enum Step {
    Create(Box<Create>),
    More(More),
    Play(Play),
}

#[derive(Clone, Debug)]
pub struct Create {
    pub agent: &'static str,
    pub parts: Value,
    pub message_id: String,
    pub context: Context,
    pub key: Option<String>,
    pub priority: Value,
    pub not_before: Value,
    pub deadline: Value,
    pub metadata: Value,
    pub modes: Vec<&'static str>,
}

impl Create {
    /// How much of it may be wrong. A door that finds two faults names one of them.
    pub fn doubts(&self) -> usize {
        let few = |text: &str| !text.is_empty() && text.len() < 100;
        let good = [
            matches!(self.agent, "clerk" | "echo"),
            is_good(&self.parts),
            few(&self.message_id),
            !matches!(&self.context, Context::Named(name) if name != "talk"),
            self.key.as_deref().is_none_or(few),
            self.priority.is_null() || self.priority.as_i64().is_some_and(|n| (-100..=100).contains(&n)),
            is_ahead(&self.not_before),
            is_ahead(&self.deadline) && (self.not_before.is_null() || self.deadline.is_null()),
            !self.modes.contains(&"nonsense") && !self.modes.contains(&"image/png"),
        ];
        good.into_iter().filter(|good| !good).count()
    }
}

impl More {
    pub fn doubts(&self) -> usize {
        usize::from(!is_good(&self.parts)) + usize::from(self.message_id.len() != 3)
    }
}

fn is_good(parts: &Value) -> bool {
    let parts = parts.as_array().map_or(&[][..], Vec::as_slice);
    let bad =
        |part: &Value| part.as_object().is_none_or(serde_json::Map::is_empty) || part["raw"] == "not base64!";
    !parts.is_empty() && !parts.iter().any(bad) && parts[0]["text"] != "" && parts[0]["text"] != "a\u{0}b"
}

fn is_ahead(time: &Value) -> bool {
    time.is_null() || time.as_str().is_some_and(|time| time.starts_with("202"))
}

#[derive(Clone, Debug)]
pub enum Context {
    None,
    Named(String),
    /// That of an earlier task.
    Of(usize),
}

/// A message for a task that is there.
#[derive(Clone, Debug)]
pub struct More {
    pub task: usize,
    pub message_id: String,
    pub parts: Value,
}

/// A worker claims a task and says this of it.
#[derive(Clone, Debug)]
pub struct Play {
    pub task: usize,
    pub verb: &'static str,
    pub said: Value,
}

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => create().prop_map(|create| Step::Create(Box::new(create))),
        2 => more().prop_map(Step::More),
        3 => play().prop_map(Step::Play),
    ];
    collection::vec(step, 2..9)
}

fn create() -> impl Strategy<Value = Create> {
    let agent = prop_oneof![
        12 => Just("clerk"),
        3 => Just("echo"),
        1 => select(vec!["script", "nobody", "NOBODY"]),
    ];
    let times = (priority(), time(), time());
    (agent, parts(), message_id(), context(), key(), times, metadata(), modes()).prop_map(
        |(agent, parts, message_id, context, key, (priority, not_before, deadline), metadata, modes)| {
            Create { agent, parts, message_id, context, key, priority, not_before, deadline, metadata, modes }
        },
    )
}

fn more() -> impl Strategy<Value = More> {
    (0_usize..9, message_id(), parts()).prop_map(|(task, message_id, parts)| More { task, message_id, parts })
}

fn play() -> impl Strategy<Value = Play> {
    let said = select(vec![
        ("complete", json!({"result": "It is done"})),
        ("complete", json!({"parts": [{"data": {"n": 42}}]})),
        ("ask", json!({"question": "Which one?"})),
        ("fail", json!({"reason": "It cannot be done"})),
        ("fail", json!({"reason": "Not now", "retryable": true})),
        ("release", json!({})),
        ("reject", json!({"reason": "Not mine"})),
        ("progress", json!({"message": "Half of it"})),
    ]);
    (0_usize..9, said).prop_map(|(task, (verb, said))| Play { task, verb, said })
}

/// Mostly good ones.
fn parts() -> impl Strategy<Value = Value> {
    let good = select(vec![
        json!([{"text": "Look at it"}]),
        json!([{"text": "Look at it"}, {"text": "and at that"}]),
        json!([{"data": {"n": 42, "deep": {"list": [1, null, "x"]}}}]),
        json!([{"text": "a file", "metadata": {"a": 1}}, {"raw": "aGVsbG8=", "mediaType": "text/plain", "filename": "a.txt"}]),
        json!([{"url": "https://example.com/a.txt", "mediaType": "text/plain"}]),
        json!([{"text": ""}]),
    ]);
    let bad =
        select(vec![json!([]), json!([{}]), json!([{"raw": "not base64!"}]), json!([{"text": "a\u{0}b"}])]);
    prop_oneof![14 => good, 1 => bad]
}

/// Few, so that some come again.
fn message_id() -> impl Strategy<Value = String> {
    prop_oneof![20 => (0_u8..6).prop_map(|n| format!("m-{n}")), 1 => Just(String::new()), 1 => Just("x".repeat(5_000))]
}

fn context() -> impl Strategy<Value = Context> {
    prop_oneof![
        6 => Just(Context::None),
        4 => Just(Context::Named("talk".to_owned())),
        1 => select(vec!["", "a talk with spaces", "a\tb"]).prop_map(|name| Context::Named(name.to_owned())),
        1 => Just(Context::Named("c".repeat(2_000))),
        4 => (0_usize..9).prop_map(Context::Of),
    ]
}

fn key() -> impl Strategy<Value = Option<String>> {
    let key = prop_oneof![12 => (0_u8..3).prop_map(|n| format!("k-{n}")), 1 => Just("k".repeat(5_000)), 1 => Just(String::new())];
    option::weighted(0.4, key)
}

fn priority() -> impl Strategy<Value = Value> {
    prop_oneof![
        8 => Just(Value::Null),
        6 => (-100_i32..=100).prop_map(|n| json!(n)),
        1 => select(vec![json!(101), json!(-101), json!(1.5), json!("high"), json!(100_000), json!(true)]),
    ]
}

fn time() -> impl Strategy<Value = Value> {
    prop_oneof![
        10 => Just(Value::Null),
        3 => any::<bool>().prop_map(|later| {
            // Within the year ahead, and so the same at each run.
            let at = baton::clock::Clock::default().now().after(std::time::Duration::from_hours(if later { 48 } else { 24 }));
            json!(at.to_string())
        }),
        1 => select(vec![
            json!("2001-01-01T00:00:00Z"), json!("tomorrow"), json!(""), json!(5), json!("9999-01-01T00:00:00Z"),
        ]),
    ]
}

fn metadata() -> impl Strategy<Value = Value> {
    select(vec![
        json!({}),
        json!({}),
        json!({}),
        json!({"trace": "abc", "n": 42}),
        json!({"baton/priority": 7}),
        json!({"batons": []}),
    ])
}

fn modes() -> impl Strategy<Value = Vec<&'static str>> {
    select(vec![
        vec![],
        vec![],
        vec!["text/plain"],
        vec!["text/plain", "application/json"],
        vec!["image/png"],
        vec!["nonsense"],
    ])
}

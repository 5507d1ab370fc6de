//! How times, sizes and states are said to a person.

use std::time::Duration;

use baton_core::model::TaskState;
use baton_core::time::Timestamp;
use maud::{Markup, html};

/// About how long, in one unit.
pub fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// How long exactly something took.
pub fn took(time: Duration) -> String {
    let (seconds, millis) = (time.as_secs(), time.subsec_millis());
    match seconds {
        0 => format!("{millis} ms"),
        1..60 => format!("{seconds}.{} s", millis / 100),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// A time as it is told: how long ago, or in how long. The exact one is behind it.
pub fn when(at: Timestamp, now: Timestamp) -> Markup {
    let text = if at > now {
        format!("in {}", span(at.since(now)))
    } else {
        match now.since(at) {
            ago if ago < Duration::from_secs(2) => "just now".to_owned(),
            ago => format!("{} ago", span(ago)),
        }
    };
    time(at, &text)
}

/// How long something has lasted.
pub fn lasting(since: Timestamp, now: Timestamp) -> Markup {
    time(since, &span(now.since(since)))
}

/// The time of day (UTC), with the date where that is another day.
pub fn clock(at: Timestamp, now: Timestamp) -> Markup {
    let (exact, today) = (at.to_string(), now.to_string());
    let same = exact.get(..10) == today.get(..10);
    let text = if same { exact.get(11..19) } else { exact.get(5..16) };
    time(at, &text.unwrap_or(&exact).replace('T', " "))
}

fn time(at: Timestamp, text: &str) -> Markup {
    let exact = at.to_string();
    html! { time datetime=(exact) title=(exact) { (text) } }
}

/// Bytes as people count them.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["bytes", "KiB", "MiB", "GiB"];
    let mut unit = 0;
    let mut tenths = count.saturating_mul(10);
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1_024;
        unit += 1;
    }
    match unit {
        0 if count == 1 => "1 byte".to_owned(),
        0 => format!("{count} bytes"),
        _ if tenths >= 1_000 => format!("{} {}", tenths / 10, UNITS[unit]),
        _ => format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit]),
    }
}

/// `1 task`, `2 tasks`, `1,234 tasks`.
pub fn count(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// A number with a comma at each thousand.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The chip of a task's state.
pub fn chip(state: TaskState) -> Markup {
    let (class, word) = state_words(state);
    html! { span class={ "chip " (class) } { (word) } }
}

pub const fn state_words(state: TaskState) -> (&'static str, &'static str) {
    match state {
        TaskState::Submitted => ("off", "queued"),
        TaskState::Working => ("run", "working"),
        TaskState::InputRequired => ("wait", "asks"),
        TaskState::AuthRequired => ("wait", "permission"),
        TaskState::Completed => ("ok", "completed"),
        TaskState::Failed => ("bad", "failed"),
        TaskState::Canceled => ("off", "canceled"),
        TaskState::Rejected => ("bad", "rejected"),
        TaskState::Unspecified => ("off", "message"),
    }
}

/// Why a task failed or how an attempt ended, as a half sentence.
pub fn outcome(word: &str) -> &str {
    match word {
        "failed" => "the agent said that it could not do it",
        "crashed" => "the agent's process ended without an answer",
        "transient" => "the agent asked for another try",
        "deadline" => "it took longer than it may",
        "stalled" => "the agent was silent for too long",
        "exhausted_steps" => "it used up its steps",
        "exhausted_tokens" => "it used up its tokens",
        "loop_detected" => "the agent went round in circles",
        "invalid_agent_response" => "the agent broke its protocol",
        "unanswered" => "nobody answered its question in time",
        "lease_lapsed" => "its worker was not heard of any more",
        "node_died" => "the node died while it worked",
        "agent_gone" => "the agent is not configured any more",
        "completed" => "completed",
        "replied" => "answered with a message",
        "rejected" => "rejected",
        "canceled" => "canceled",
        "released" => "given back",
        "holder_gone" => "the agent went away while its question waited",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_one_unit() {
        for (seconds, text) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3_599, "59 min"),
            (3_600, "1 h"),
            (172_799, "47 h"),
            (172_800, "2 days"),
        ] {
            assert_eq!(span(Duration::from_secs(seconds)), text);
        }
        assert_eq!(took(Duration::from_millis(221_400)), "3 min 41 s");
        let now = Timestamp::parse("2026-05-01T12:00:00Z").unwrap();
        let shown = when(Timestamp::parse("2026-05-01T11:48:00Z").unwrap(), now).into_string();
        assert_eq!(
            shown,
            r#"<time datetime="2026-05-01T11:48:00.000Z" title="2026-05-01T11:48:00.000Z">12 min ago</time>"#
        );
        assert!(when(now.after(Duration::from_hours(23)), now).into_string().contains("in 23 h"));
        assert!(
            clock(Timestamp::parse("2026-04-30T09:41:07Z").unwrap(), now)
                .into_string()
                .contains(">04-30 09:41<")
        );
        assert!(clock(now, now).into_string().contains(">12:00:00<"));
    }

    #[test]
    fn numbers_have_units() {
        for (number, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1_023, "1023 bytes"),
            (3_277, "3.2 KiB"),
            (1_048_576, "1.0 MiB"),
            (209_715_200, "200 MiB"),
        ] {
            assert_eq!(bytes(number), text);
        }
        assert_eq!(count(1_234_567, "task", "tasks"), "1,234,567 tasks");
        assert_eq!(count(1, "task", "tasks"), "1 task");
    }
}

//! What happened to a task, line by line.

use baton_core::time::Timestamp;
use maud::{Markup, html};

use super::super::super::admin::log::{Entry, Log};
use super::super::{text, words};

/// `owner`: who handed the task in.
pub fn render(log: &Log, owner: &str, now: Timestamp) -> Markup {
    let mut lines: Vec<(Timestamp, Markup)> = Vec::new();
    let mut writing: Option<(&str, usize, usize)> = None;
    for (at, entry) in log.events.iter().enumerate() {
        // Pieces of one artifact that follow each other are one line.
        let begun = writing.filter(|(name, _, _)| entry.artifact.as_deref() == Some(name));
        if let (Some((name, line, before)), Some(bytes)) = (begun, entry.bytes) {
            lines[line] = (entry.at, wrote(name, before + bytes));
            writing = Some((name, line, before + bytes));
            continue;
        }
        writing = entry.artifact.as_deref().zip(entry.bytes).map(|(name, bytes)| (name, lines.len(), bytes));
        lines.push((entry.at, sentence(entry, owner, log.events.get(at + 1))));
    }
    html! {
        h2 { "Timeline" }
        @if lines.is_empty() {
            p.quiet { "The task ended more than seven days ago: its events are gone, what was said and written stays." }
        } @else {
            @if log.events.first().is_some_and(|first| first.sequence > 1) {
                p.faint { "The newest " (log.events.len()) " events." }
            }
            ol.line {
                @for (at, line) in &lines {
                    li { span.faint { (words::clock(*at, now)) } span { (line) } }
                }
            }
        }
    }
}

fn wrote(name: &str, bytes: usize) -> Markup {
    html! { (text::theirs(name)) " +" (words::bytes(bytes as u64)) }
}

fn sentence(entry: &Entry, owner: &str, next: Option<&Entry>) -> Markup {
    let why = entry.outcome.map(words::outcome).unwrap_or_default();
    match entry.kind {
        "submitted" => html! { "Handed in by " b { (text::theirs(owner)) } },
        "claimed" => html! { "Attempt " (entry.attempt.unwrap_or_default()) " began" },
        "progressed" if entry.message.is_some() => html! { "Said how it goes" },
        "progressed" => html! { "Went on" },
        "wrote" => wrote(entry.artifact.as_deref().unwrap_or_default(), entry.bytes.unwrap_or_default()),
        "used" => html! { "Said what it used" },
        "interrupted" => html! { "Asked its owner" },
        "messaged" => html! { "Got another message" },
        "resumed" => html! { "Got its answer" },
        "holder_gone" => html! { "Its process went away; the question stays" },
        "requeued" => html! {
            "The attempt ended: " (why)
            @if let Some(at) = entry.not_before.filter(|at| next.is_none() && *at > entry.at) {
                "; another begins in " (words::span(at.since(entry.at)))
            }
        },
        "cancel_requested" => html! { "Was told to stop" },
        "completed" => html! { "Completed" },
        "failed" => html! { "Failed: " (why) },
        "canceled" => html! { "Canceled" },
        "rejected" => html! { "Rejected by the agent" },
        "answered" => html! { "Answered with a message" },
        other => html! { (other) },
    }
}

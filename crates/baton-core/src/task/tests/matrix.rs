//! Every state against every input, as one table to be read by people.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::fixture::*;
use super::rows::{holder_columns, other_columns, rows};
use crate::task::{Attempt, HolderKind, Input, Interruption, State, Step, Task, step};
use crate::time::Timestamp;

#[test]
fn transition_matrix() {
    let mut table =
        String::from("Accepted inputs one a line, refused ones by refusal. Times count from the input.\n");
    for (name, life) in rows() {
        write_row(&mut table, name, &life);
    }
    insta::assert_snapshot!(table);
}

fn write_row(table: &mut String, name: &str, life: &Life) {
    let task = life.task();
    writeln!(table, "\n{name}: {}", spell(task, at(life.now))).unwrap();
    let mut refused: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let columns = holder_columns(task.attempt).into_iter().chain(other_columns());
    for (input_name, input, now) in columns {
        match step(task, &input, at(now)) {
            Ok(done) => writeln!(table, "  {input_name:<32} {}", cell(task, &done, at(now))).unwrap(),
            Err(refusal) => refused.entry(format!("{refusal:?}")).or_default().push(input_name),
        }
    }
    for number in [task.attempt.wrapping_sub(1), task.attempt + 1] {
        for (input_name, input, now) in holder_columns(number) {
            let refusal = step(task, &input, at(now)).expect_err(input_name);
            let names = refused.entry(format!("{refusal:?}")).or_default();
            if !names.contains(&"any report of another attempt") {
                names.push("any report of another attempt");
            }
        }
    }
    for (refusal, names) in refused {
        writeln!(table, "  refused as {refusal}: {}", names.join("; ")).unwrap();
    }
}

fn cell(before: &Task, done: &Step, now: Timestamp) -> String {
    let same_state = spell(before, now) == spell(&done.task, now);
    if done.events.is_empty() {
        return match (same_state, before.shown == done.task.shown) {
            (false, _) => spell(&done.task, now),
            (true, true) => "nothing".into(),
            (true, false) => "is shown from now on".into(),
        };
    }
    let kinds: Vec<_> = done.events.iter().map(|event| event.body.kind()).collect();
    let after = if same_state { "same".into() } else { spell(&done.task, now) };
    let said = done.events.last().and_then(|event| event.body.status_message());
    let said = said.map_or(String::new(), |message| format!(" {:?}", message.joined_text()));
    format!("[{}] {after}{said}", kinds.join(", "))
}

fn spell(task: &Task, now: Timestamp) -> String {
    let shown = task.state.shown().as_str().trim_start_matches("TASK_STATE_").to_lowercase();
    let cancel = if task.cancel_requested && !task.state.is_terminal() { ", cancel requested" } else { "" };
    let counted = format!("{cancel}, counted {}", task.counted);
    match &task.state {
        State::Ready { not_before: None, .. } => format!("ready ({shown}){counted}"),
        State::Ready { not_before: Some(due), .. } => {
            format!("ready in {} ({shown}){counted}", span(*due, now))
        }
        State::Running { attempt } => format!("running {}{counted}", spell_attempt(attempt, now)),
        State::Interrupted { kind, attempt, until } => {
            let kind = match kind {
                Interruption::Input => "input",
                Interruption::Auth => "auth",
            };
            let holder = attempt.as_ref().map_or("nobody".into(), |attempt| spell_attempt(attempt, now));
            format!("interrupted for {kind} by {holder} until {}{counted}", span(*until, now))
        }
        State::Failed { reason, dead_letter } => {
            format!("failed: {}{}", reason.as_str(), if *dead_letter { ", dead letter" } else { "" })
        }
        State::Completed | State::Canceled | State::Rejected => shown,
        State::Answered => "answered".into(),
    }
}

fn spell_attempt(attempt: &Attempt, now: Timestamp) -> String {
    let holder = match attempt.holder.kind {
        HolderKind::Node => "node",
        HolderKind::Worker => "worker",
    };
    let lease =
        attempt.lease_until.map_or(String::new(), |until| format!(" leased for {}", span(until, now)));
    format!("#{} {holder}{lease}", attempt.number)
}

#[expect(clippy::cast_precision_loss, reason = "seconds for people")]
fn span(until: Timestamp, now: Timestamp) -> String {
    format!("{}s", (until.as_millis() - now.as_millis()) as f64 / 1000.0)
}

/// A compile-time list: a new input must be added to the columns.
#[test]
fn every_input_has_a_column() {
    let mut seen = [false; 19];
    for (_, input, _) in holder_columns(1).into_iter().chain(other_columns()) {
        seen[place(&input)] = true;
    }
    assert_eq!(seen, [true; 19]);
}

const fn place(input: &Input) -> usize {
    match input {
        Input::Claimed { .. } => 0,
        Input::Renewed { .. } => 1,
        Input::Progressed { .. } => 2,
        Input::Wrote { .. } => 3,
        Input::Used { .. } => 4,
        Input::Replied { .. } => 5,
        Input::Asked { .. } => 6,
        Input::Messaged { .. } => 7,
        Input::Completed { .. } => 8,
        Input::Failed { .. } => 9,
        Input::Released { .. } => 10,
        Input::Rejected { .. } => 11,
        Input::CancelRequested => 12,
        Input::CancelConfirmed { .. } => 13,
        Input::LeaseLapsed { .. } => 14,
        Input::HolderGone { .. } => 15,
        Input::DeadlinePassed => 16,
        Input::GrantRevoked => 17,
        Input::Shown => 18,
    }
}

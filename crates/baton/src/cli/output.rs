//! Writing to the two standard streams. Nothing here panics when nobody reads, and nothing that an agent says can drive
//! a terminal.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write as _};

use serde::Serialize;

pub use crate::plain::harmless;
use crate::plain::is_harmful;

/// Text of a result, as it is; made harmless where a terminal would act on it.
pub fn text(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let text = if out.is_terminal() { harmless(text) } else { Cow::Borrowed(text) };
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// One line of a result.
pub fn line(line: &str) -> io::Result<()> {
    text(&format!("{line}\n"))
}

/// One result as JSON on one line. JSON escapes C0 by itself; the rest is escaped too, so that it stays JSON.
pub fn json(value: &impl Serialize) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let mut text = serde_json::to_string(value)?;
    if out.is_terminal() {
        text = escaped(&text);
    }
    text.push('\n');
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// One line of progress. Lost when nobody reads: it is not the result.
pub fn note(line: &str) {
    drop(writeln!(io::stderr().lock(), "{}", harmless(line)));
}

/// A question at the terminal, the cursor left behind it.
pub fn prompt(text: &str) {
    let mut out = io::stderr().lock();
    drop(write!(out, "{}", harmless(text)).and_then(|()| out.flush()));
}

/// Somebody else's text where it must not begin another line.
pub fn one_line(text: &str) -> String {
    text.replace(['\n', '\t'], " ")
}

/// Rows under a head, in columns.
pub fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> io::Result<()> {
    let width = |at: usize| {
        let cells = rows.iter().map(|row| row[at].chars().count());
        cells.chain([head[at].len()]).max().unwrap_or_default()
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let spell = |row: [&str; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{:width$}", one_line(cell)));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    let mut out = spell(head);
    for row in rows {
        out.push_str(&spell(std::array::from_fn(|at| row[at].as_str())));
    }
    text(&out)
}

fn escaped(json: &str) -> String {
    json.chars()
        .map(|c| if is_harmful(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_stays_json() {
        assert_eq!(escaped("\"\u{9b}\u{7f}\""), "\"\\u009b\\u007f\"");
    }
}

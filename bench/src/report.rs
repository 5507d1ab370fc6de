//! Owns what was measured and how it is shown: the table on standard output and the JSON file.

use std::path::Path;

use serde::Serialize;

use crate::load::Round;
use crate::options::Options;
use crate::{Result, disk, stats};

/// What a value must reach to be good.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bar {
    AtLeast(f64),
    AtMost(f64),
}

impl Bar {
    fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtLeast(bar) => value >= bar,
            Self::AtMost(bar) => value <= bar,
        }
    }

    fn describe(self) -> String {
        match self {
            Self::AtLeast(bar) => format!(">= {bar}"),
            Self::AtMost(bar) => format!("<= {bar}"),
        }
    }
}

#[derive(Debug, Serialize)]
pub struct Row {
    section: &'static str,
    what: String,
    value: f64,
    unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    bar: Option<Bar>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missed: Option<bool>,
    /// For people: spread, percentiles, counts.
    detail: String,
}

#[derive(Debug, Serialize)]
struct Failure {
    section: &'static str,
    text: String,
}

#[derive(Debug, Serialize)]
pub struct Report {
    cores: usize,
    connections: usize,
    load_threads: usize,
    rounds: usize,
    round_seconds: f64,
    scratch_in_memory: bool,
    rows: Vec<Row>,
    failures: Vec<Failure>,
}

impl Report {
    pub fn new(options: &Options) -> Self {
        Self {
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            connections: options.connections,
            load_threads: options.threads,
            rounds: options.rounds,
            round_seconds: options.round.as_secs_f64(),
            scratch_in_memory: disk::is_in_memory(&options.scratch),
            rows: Vec::new(),
            failures: Vec::new(),
        }
    }

    /// A value without a bar.
    pub fn note(
        &mut self,
        section: &'static str,
        what: &str,
        value: f64,
        unit: &'static str,
        detail: String,
    ) {
        self.rows.push(Row { section, what: what.into(), value, unit, bar: None, missed: None, detail });
    }

    /// A value that must meet a bar.
    pub fn hold(
        &mut self,
        section: &'static str,
        what: &str,
        (value, unit): (f64, &'static str),
        bar: Bar,
        detail: String,
    ) {
        let missed = Some(!bar.is_met(value));
        self.rows.push(Row { section, what: what.into(), value, unit, bar: Some(bar), missed, detail });
    }

    pub fn fail(&mut self, section: &'static str, text: &str) {
        eprintln!("   FAILED: {text}");
        self.failures.push(Failure { section, text: text.into() });
    }

    /// The throughput of one server over its rounds.
    pub fn throughput(&mut self, section: &'static str, name: &str, rounds: &[Round]) {
        let rates: Vec<f64> = rounds.iter().map(Round::per_second).collect();
        let latencies: Vec<f64> = rounds.iter().flat_map(|round| round.latencies.iter().copied()).collect();
        let detail = format!(
            "rounds {:.0}..{:.0}; answer p50 {:.2} ms, p99 {:.2} ms; {:.0} µs of its CPU each",
            stats::smallest(&rates),
            stats::largest(&rates),
            stats::percentile(&latencies, 0.50),
            stats::percentile(&latencies, 0.99),
            stats::median(&rounds.iter().map(Round::cpu_micros).collect::<Vec<_>>()),
        );
        self.note(section, name, stats::median(&rates), "req/s", detail);
    }

    /// The ratio of two servers' medians; the spread is that of rounds side by side.
    pub fn ratio(
        &mut self,
        section: &'static str,
        what: &str,
        (over, under): (&[Round], &[Round]),
        bar: Option<Bar>,
    ) {
        let over: Vec<f64> = over.iter().map(Round::per_second).collect();
        let under: Vec<f64> = under.iter().map(Round::per_second).collect();
        let pairs: Vec<f64> = over.iter().zip(&under).map(|(over, under)| over / under).collect();
        let value = stats::median(&over) / stats::median(&under);
        let detail =
            format!("rounds side by side {:.3}..{:.3}", stats::smallest(&pairs), stats::largest(&pairs));
        match bar {
            Some(bar) => self.hold(section, what, (value, "x"), bar, detail),
            None => self.note(section, what, value, "x", detail),
        }
    }

    pub fn has_failures(&self) -> bool {
        !self.failures.is_empty()
    }

    pub fn has_missed_bars(&self) -> bool {
        self.rows.iter().any(|row| row.missed == Some(true))
    }

    pub fn print(&self) {
        println!(
            "{} cores, {} connections on {} load threads, {} rounds of {} s per server, interleaved",
            self.cores, self.connections, self.load_threads, self.rounds, self.round_seconds
        );
        if self.scratch_in_memory {
            println!("WARNING: the scratch folder lies in memory, so commits cost nothing; see --scratch");
        }
        let width = self.rows.iter().map(|row| row.what.len()).max().unwrap_or(0);
        let mut section = "";
        for row in &self.rows {
            if row.section != section {
                section = row.section;
                println!("\n{section}");
            }
            let bar = row.bar.map(Bar::describe).unwrap_or_default();
            let mark = match row.missed {
                Some(true) => "MISSED",
                Some(false) => "ok",
                None => "",
            };
            let number = precise(row.value);
            println!(
                "  {:width$}  {number:>10} {:<7} {bar:<8} {mark:<6}  {}",
                row.what, row.unit, row.detail
            );
        }
        for failure in &self.failures {
            println!("\nFAILED {}: {}", failure.section, failure.text);
        }
    }

    pub fn write_json(&self, file: &Path) -> Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(std::fs::write(file, text)?)
    }
}

/// Enough digits to compare, no more.
fn precise(value: f64) -> String {
    match value.abs() {
        large if large >= 1_000.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}

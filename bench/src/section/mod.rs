//! Owns the list of sections, each a question with bars, and the interleaving of rounds that they share.

mod bearer;
mod files;
mod get;
mod grpc;
mod jsonl;
mod memory;
mod million;
mod postgres;
mod queue;
mod send;
mod start;
pub mod streams;
mod webhooks;

use std::time::Duration;

use crate::Result;
use crate::load::{self, Limits, Round, Target};
use crate::options::Options;
use crate::report::Report;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    Send,
    Bearer,
    Files,
    Get,
    Grpc,
    Jsonl,
    Million,
    Memory,
    Postgres,
    Queue,
    Start,
    Streams,
    Webhooks,
}

impl Section {
    pub const ALL: [Self; 13] = [
        Self::Send,
        Self::Bearer,
        Self::Files,
        Self::Get,
        Self::Grpc,
        Self::Jsonl,
        Self::Million,
        Self::Memory,
        Self::Postgres,
        Self::Queue,
        Self::Start,
        Self::Streams,
        Self::Webhooks,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Bearer => "bearer",
            Self::Files => "files",
            Self::Get => "get",
            Self::Grpc => "grpc",
            Self::Jsonl => "jsonl",
            Self::Million => "million",
            Self::Memory => "memory",
            Self::Postgres => "postgres",
            Self::Queue => "queue",
            Self::Start => "start",
            Self::Streams => "streams",
            Self::Webhooks => "webhooks",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|section| section.name() == name)
    }

    pub fn run(self, options: &Options, report: &mut Report) -> Result<()> {
        match self {
            Self::Send => send::run(options, report),
            Self::Bearer => bearer::run(options, report),
            Self::Files => files::run(options, report),
            Self::Get => get::run(options, report),
            Self::Grpc => grpc::run(options, report),
            Self::Jsonl => jsonl::run(options, report),
            Self::Million => million::run(options, report),
            Self::Memory => memory::run(options, report),
            Self::Postgres => postgres::run(options, report),
            Self::Queue => queue::run(options, report),
            Self::Start => start::run(options, report),
            Self::Streams => streams::run(options, report),
            Self::Webhooks => webhooks::run(options, report),
        }
    }
}

/// Before anything is counted, every server gets this long under load.
const WARM_UP: Duration = Duration::from_secs(1);

/// A B C A B C …: one result per target, each with its rounds in order.
fn interleave(targets: &[Target], options: &Options) -> Result<Vec<Vec<Round>>> {
    for target in targets {
        let limits = Limits { time: WARM_UP, ..round_limits(options) };
        load::run(target, limits)?;
    }
    let mut results: Vec<Vec<Round>> = targets.iter().map(|_| Vec::new()).collect();
    for _ in 0..options.rounds {
        for (target, rounds) in targets.iter().zip(&mut results) {
            rounds.push(one_round(target, options)?);
        }
    }
    Ok(results)
}

fn one_round(target: &Target, options: &Options) -> Result<Round> {
    let round = load::run(target, round_limits(options))?;
    eprintln!("   {:<12} {:>8.0} req/s", target.name, round.per_second());
    Ok(round)
}

fn round_limits(options: &Options) -> Limits {
    Limits { connections: options.connections, threads: options.threads, time: options.round, count: None }
}

//! `baton card verify`.

use baton_core::model::AgentCard;
use serde::Serialize;

use super::source;
use crate::cli::access::Access;
use crate::cli::{Exit, Failure, Global, output};
use crate::federation::signature::{Form, Verdict, verify};
use crate::keys::{Jwk, Jwks};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The card: an agent's URL, a file, or `-` for standard input
    #[arg(value_name = "URL|FILE")]
    card: String,
    /// Public keys that you trust, as a JWKS in a file or at a URL (repeatable)
    #[arg(long, value_name = "FILE|URL")]
    jwks: Vec<String>,
    /// One public key that you trust, as a PEM or JWK file (repeatable); without a `kid` it answers to any
    #[arg(long, value_name = "FILE")]
    key: Vec<String>,
    #[command(flatten)]
    access: Access,
}

#[derive(Serialize)]
struct Outcome<'a> {
    verified: bool,
    signatures: Vec<Shown<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<&'a str>,
    algorithm: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    covers: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

pub async fn run(global: &Global, args: Args) -> Result<Exit, Failure> {
    if args.jwks.is_empty() && args.key.is_empty() {
        return Err(Failure::usage(
            "whom to trust is yours to say: give --jwks or --key. The address of keys that a card names itself \
             (jku) is never followed, since a forger would name his own",
        ));
    }
    let options = args.access.options()?;
    let mut trusted: Vec<Jwk> = Vec::new();
    for from in args.jwks.iter().chain(&args.key) {
        let text = source::keys(from, &options).await?;
        let keys = Jwks::parse(&text).map_err(|why| Failure::usage(format!("cannot use {from}: {why}")))?;
        trusted.extend(keys.keys);
    }
    let card = source::card(&args.card, &options).await?;
    let unreadable = |why: String| Failure::failed(format!("{} is no card: {why}", args.card));
    serde_json::from_str::<AgentCard>(card.as_str()).map_err(|why| unreadable(why.to_string()))?;
    let verdicts = verify(card.as_str(), &trusted).map_err(|why| unreadable(why.to_string()))?;
    show(global, &verdicts)
}

fn show(global: &Global, verdicts: &[Verdict]) -> Result<Exit, Failure> {
    let verified = verdicts.iter().any(|verdict| verdict.proof.is_ok());
    if global.json {
        output::json(&Outcome { verified, signatures: verdicts.iter().map(Shown::of).collect() })?;
    } else {
        for verdict in verdicts {
            output::line(&spell(verdict))?;
        }
    }
    if verdicts.is_empty() {
        return Err(Failure::failed("the card is not signed"));
    }
    if !verified {
        return Err(Failure::failed("no signature of the card proves anything with these keys"));
    }
    if !verdicts.iter().any(|verdict| verdict.proof == Ok(Form::Whole)) {
        output::note("what the card says beyond A2A 1.0 is not covered");
    }
    Ok(Exit::Done)
}

fn spell(verdict: &Verdict) -> String {
    let kid = verdict.kid.as_deref().unwrap_or("nobody");
    let algorithm = if verdict.algorithm.is_empty() { "a signature" } else { &verdict.algorithm };
    match &verdict.proof {
        Ok(form) => format!("{algorithm} by {kid}: covers {}", form.words()),
        Err(doubt) => format!("{algorithm} by {kid}: proves nothing: {doubt}"),
    }
}

impl<'a> Shown<'a> {
    fn of(verdict: &'a Verdict) -> Self {
        let covers = verdict.proof.as_ref().ok().map(|form| match form {
            Form::Whole => "whole",
            Form::V1 => "v1",
            Form::V1Terse => "v1-nonempty",
        });
        Self {
            kid: verdict.kid.as_deref(),
            algorithm: &verdict.algorithm,
            covers,
            problem: verdict.proof.as_ref().err().map(ToString::to_string),
        }
    }
}

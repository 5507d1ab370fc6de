//! `[limits]`: the limits of DESIGN §10 that a file may change.

use std::time::Duration;

use baton_store::Rate;
use serde::Deserialize;
use toml::Spanned;

use super::error::Problem;
use super::settings;
use super::value::{Size, Span, parse_rate};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    body: Option<Spanned<Size>>,
    streams_per_grant: Option<Spanned<usize>>,
    streams_local: Option<Spanned<usize>>,
    send_wait: Option<Spanned<Span>>,
    rate_per_address: Option<Spanned<String>>,
    failures_per_address: Option<Spanned<String>>,
}

/// Smallest body limit: below it an ordinary message is refused.
pub const BODY_MIN: u64 = 1024;

/// Largest body limit: a body is held in memory as a whole.
const BODY_MAX: u64 = 256 * 1024 * 1024;

/// Shortest wait of a blocking send: below it hardly any task settles in time, and clients would have to ask again for all.
const SEND_WAIT_MIN: Duration = Duration::from_millis(100);

/// Longest wait of a blocking send: a day is longer than any proxy keeps a silent connection.
const SEND_WAIT_MAX: Duration = Duration::from_hours(24);

impl Limits {
    pub(super) fn resolve(self) -> Result<settings::Limits, Problem> {
        let mut limits = settings::Limits::default();
        if let Some(body) = self.body {
            let Size(bytes) = *body.get_ref();
            if !(BODY_MIN..=BODY_MAX).contains(&bytes) {
                return Err(Problem::at(body.span(), "`body` is a size from \"1KiB\" to \"256MiB\""));
            }
            limits.body = usize::try_from(bytes).unwrap_or(usize::MAX);
        }
        for (given, name, limit) in [
            (self.streams_per_grant, "streams_per_grant", &mut limits.streams_per_grant),
            (self.streams_local, "streams_local", &mut limits.streams_local),
        ] {
            let Some(given) = given else { continue };
            if *given.get_ref() == 0 {
                return Err(Problem::at(
                    given.span(),
                    format!("`{name}` is a number of streams, at least 1"),
                ));
            }
            *limit = given.into_inner();
        }
        if let Some(wait) = self.send_wait {
            let Span(span) = *wait.get_ref();
            if !(SEND_WAIT_MIN..=SEND_WAIT_MAX).contains(&span) {
                return Err(Problem::at(wait.span(), "`send_wait` is a duration from \"100ms\" to \"24h\""));
            }
            limits.send_wait = span;
        }
        for (given, name, limit) in [
            (self.rate_per_address, "rate_per_address", &mut limits.rate_per_address),
            (self.failures_per_address, "failures_per_address", &mut limits.failures_per_address),
        ] {
            if let Some(given) = given {
                *limit = rate(given.get_ref()).map_err(|what| {
                    Problem::at(
                        given.span(),
                        format!("`{name}`: {what}; \"off\" where there is to be no limit"),
                    )
                })?;
            }
        }
        Ok(limits)
    }
}

/// A rate, or `off`. Twice its requests may come at once: clients come in bursts.
fn rate(text: &str) -> Result<Option<Rate>, String> {
    if text == "off" {
        return Ok(None);
    }
    let (requests, per) = parse_rate(text)?;
    if requests == 0 {
        return Err(format!("`{text}` would let nobody in"));
    }
    Ok(Some(Rate { requests, per, burst: requests.saturating_mul(2) }))
}

//! What the operator writes of a grant to be made, and what that comes to.

use std::time::Duration;

use baton_core::ident::AgentName;
use baton_core::time::Timestamp;
use baton_store::{GrantLimits, Per, Rate, Verb};
use serde::Deserialize;
use utoipa::ToSchema;

use super::super::{Error, Service};
use crate::config::{BODY_MIN, Size, instead, parse_duration, parse_rate};

/// Bytes of a label.
const LABEL: usize = 200;

/// Requests of a rate, and of a burst: more than any node answers.
const REQUESTS: u32 = 1_000_000;

/// The longest life of a grant that ends, in days: a hundred years. Who wants more leaves its end out.
const LIFE_DAYS: u64 = 36_525;

/// A grant as it is asked for.
#[derive(Clone, Debug, Default)]
pub struct WantedGrant {
    pub label: String,
    pub agents: Vec<String>,
    pub verbs: Vec<String>,
    pub limits: WantedLimits,
    /// A duration such as `30d`, or a time of RFC 3339; none where it does not end by itself.
    pub expires: Option<String>,
}

/// Limits as they are asked for; none where there is no limit.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WantedLimits {
    /// Such as `10/s` or `600/m`.
    pub rate: Option<String>,
    /// Requests that may come at once; as many as in the rate's second or minute where it is not said.
    pub burst: Option<u32>,
    pub open_tasks: Option<u32>,
    pub tasks_per_day: Option<u32>,
    /// Such as `512KiB`, or a number of bytes.
    #[schema(value_type = Option<String>)]
    pub body: Option<Size>,
}

/// A grant that could be made.
#[derive(Clone, Debug)]
pub struct Draft {
    pub label: String,
    pub agents: Vec<AgentName>,
    pub verbs: Vec<Verb>,
    pub limits: GrantLimits,
    pub expires_at: Option<Timestamp>,
}

impl Service {
    /// Checks what is asked for. Nothing is made.
    pub fn draft_grant(&self, wanted: WantedGrant) -> Result<Draft, Error> {
        let WantedGrant { label, agents, verbs, limits, expires } = wanted;
        if label.is_empty() || label.len() > LABEL || label.chars().any(char::is_control) {
            return Err(Error::invalid("label", format!("has 1 to {LABEL} bytes and no control characters")));
        }
        let empty =
            |field| Error::invalid(field, "is empty, and an empty scope means nothing: name at least one");
        if agents.is_empty() {
            return Err(empty("agents"));
        }
        if verbs.is_empty() {
            return Err(empty("verbs"));
        }
        let mut names = Vec::with_capacity(agents.len());
        for (at, agent) in agents.iter().enumerate() {
            let name =
                self.known_agent(agent).map_err(|what| Error::invalid(&format!("agents[{at}]"), what))?;
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let mut allowed = Vec::with_capacity(verbs.len());
        for (at, verb) in verbs.iter().enumerate() {
            let verb = known_verb(verb).map_err(|what| Error::invalid(&format!("verbs[{at}]"), what))?;
            if !allowed.contains(&verb) {
                allowed.push(verb);
            }
        }
        let limits = limits.check()?;
        let expires_at = expires.as_deref().map(|text| expiry(text, self.now())).transpose();
        let expires_at = expires_at.map_err(|what| Error::invalid("expires", what))?;
        Ok(Draft { label, agents: names, verbs: allowed, limits, expires_at })
    }

    fn known_agent(&self, text: &str) -> Result<AgentName, String> {
        let all = self.agents.list();
        let known: Vec<&str> = all.iter().map(|agent| agent.name().as_str()).collect();
        match all.iter().find(|agent| agent.name().as_str() == text) {
            Some(agent) => Ok(agent.name().clone()),
            None => Err(format!("there is no agent `{text}` on this node; {}", instead(text, &known))),
        }
    }
}

pub fn known_verb(text: &str) -> Result<Verb, String> {
    let known = Verb::ALL.map(Verb::as_str);
    Verb::parse(text)
        .ok_or_else(|| format!("`{text}` is nothing that can be allowed; {}", instead(text, &known)))
}

impl WantedLimits {
    fn check(self) -> Result<GrantLimits, Error> {
        let Self { rate, burst, open_tasks, tasks_per_day, body } = self;
        let rate = rate.as_deref().map(|text| read_rate(text, burst)).transpose()?;
        if burst.is_some() && rate.is_none() {
            return Err(Error::invalid("limits.burst", "belongs to a rate: give `rate` as well"));
        }
        for (field, tasks) in [("limits.openTasks", open_tasks), ("limits.tasksPerDay", tasks_per_day)] {
            if tasks == Some(0) {
                let what = "is at least 1; who is to hand in nothing gets no verb `send`";
                return Err(Error::invalid(field, what));
            }
        }
        let body = body.map(|Size(bytes)| bytes);
        if body.is_some_and(|bytes| bytes < BODY_MIN) {
            return Err(Error::invalid("limits.body", "is a size of at least \"1KiB\""));
        }
        Ok(GrantLimits { rate, open_tasks, tasks_per_day, body })
    }
}

fn read_rate(text: &str, burst: Option<u32>) -> Result<Rate, Error> {
    let (requests, per) = parse_rate(text).map_err(|what| Error::invalid("limits.rate", what))?;
    let burst = burst.unwrap_or(requests);
    for (field, number) in [("limits.rate", requests), ("limits.burst", burst)] {
        if !(1..=REQUESTS).contains(&number) {
            return Err(Error::invalid(field, format!("is a number of requests from 1 to {REQUESTS}")));
        }
    }
    Ok(Rate { requests, per, burst })
}

/// When a grant ends: after a time, or at one.
fn expiry(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    let at = match (Timestamp::parse(text), parse_duration(text)) {
        (Some(at), _) => at,
        (None, Ok(span)) => now.after(span),
        (None, Err(_)) => {
            return Err(format!(
                "`{text}` is neither a duration such as \"30d\" nor a time such as \"2027-01-31T00:00:00Z\""
            ));
        }
    };
    let last = now.after(Duration::from_hours(24 * LIFE_DAYS));
    if at <= now || at > last {
        return Err(format!("`{text}` is not in the next hundred years; leave it out where there is no end"));
    }
    Ok(at)
}

/// A rate as it is written, without its burst.
pub fn spell_rate(rate: &Rate) -> String {
    let per = match rate.per {
        Per::Second => "s",
        Per::Minute => "m",
    };
    format!("{}/{per}", rate.requests)
}

//! `[agents.NAME]`: what tasks are handed to; and `--agent NAME=COMMAND`, the short form.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use baton_core::ident::AgentName;
use baton_core::limits::{ANSWER_WITHIN, ATTEMPTS, BACKOFF};
use serde::Deserialize;
use toml::Spanned;

use super::card::{self, Card, Extension, Provider, Skill};
use super::error::Problem;
use super::node::public_url;
use super::runner::{self, Lookup, Retry, Runner};
use super::settings::{self, Protocol};
use super::value::Span;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Agent {
    title: Option<Spanned<String>>,
    description: Option<Spanned<String>>,
    version: Option<Spanned<String>>,
    publish: bool,
    card: Card,
    skills: Vec<Skill>,
    extensions: Vec<Extension>,
    provider: Option<Provider>,
    documentation_url: Option<Spanned<String>>,
    icon_url: Option<Spanned<String>>,
    input_modes: Option<Spanned<Vec<Spanned<String>>>>,
    output_modes: Option<Spanned<Vec<Spanned<String>>>>,
    runner: Option<Spanned<Runner>>,
    retry: Option<Spanned<Retry>>,
    max_attempts: Option<Spanned<u32>>,
    backoff: Option<Span>,
    answer_within: Option<Spanned<Span>>,
    budget: Option<Spanned<Budget>>,
    replies: bool,
    streaming: Option<bool>,
    push: Option<bool>,
    extended_card: Option<bool>,
}

/// How many tasks may be begun in a while.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Budget {
    tasks: u32,
    per: Span,
}

/// The shortest and the longest window of a budget: a window is a line in the store, and one that never ends is a stop.
const WINDOWS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_hours(31 * 24);

/// Most attempts at one task that a file may ask for: with the backoff at its limit they take a day.
const ATTEMPTS_MAX: u32 = 100;

impl Agent {
    /// `cards`: what is said for all agents.
    pub(super) fn resolve(
        self,
        name: AgentName,
        cards: Card,
        environment: Lookup,
    ) -> Result<settings::Agent, Problem> {
        let Some(runner) = self.runner else {
            let what = format!(
                "agent `{name}` has no runner; add for example runner = {{ kind = \"process\", command = [\"./{name}.sh\"] }}"
            );
            return Err(Problem::new(what));
        };
        let at = runner.span();
        let runner = runner.into_inner();
        let retry = retry(self.retry.as_ref(), runner.retry)?;
        let runner = runner.resolve(environment).map_err(|problem| problem.or_at(at))?;
        let mut agent = plain(name, runner);
        let said = |key, text: Option<Spanned<String>>| text.map(|text| card::said(key, text)).transpose();
        agent.title = said("title", self.title)?.unwrap_or(agent.title);
        agent.description = said("description", self.description)?.unwrap_or(agent.description);
        agent.version = said("version", self.version)?.unwrap_or(agent.version);
        agent.publish = self.publish;
        agent.card = self.card.over(cards);
        agent.skills = self.skills.into_iter().map(Skill::resolve).collect::<Result<_, _>>()?;
        agent.extensions = self.extensions.into_iter().map(Extension::resolve).collect::<Result<_, _>>()?;
        agent.provider = self.provider.map(Provider::resolve).transpose()?;
        agent.documentation_url = self.documentation_url.map(link).transpose()?;
        agent.icon_url = self.icon_url.map(link).transpose()?;
        agent.input_modes = card::some_modes("input_modes", self.input_modes)?.unwrap_or(agent.input_modes);
        agent.output_modes =
            card::some_modes("output_modes", self.output_modes)?.unwrap_or(agent.output_modes);
        agent.retry = retry;
        agent.max_attempts = attempts(self.max_attempts)?.unwrap_or(agent.max_attempts);
        agent.backoff = self.backoff.map_or(agent.backoff, |span| span.0);
        agent.answer_within = answer_within(self.answer_within)?.unwrap_or(agent.answer_within);
        agent.budget = budget(self.budget, &agent.runner)?;
        agent.replies = self.replies;
        agent.streaming = self.streaming.unwrap_or(agent.streaming);
        agent.push = self.push.unwrap_or(agent.push);
        let more = agent.skills.iter().any(|skill| skill.to != settings::Audience::Everyone);
        agent.extended_card = self.extended_card.unwrap_or(more);
        Ok(agent)
    }
}

/// An agent of which nothing is said but its name and its runner.
fn plain(name: AgentName, runner: settings::Runner) -> settings::Agent {
    // The usual ones by name, since some clients look for nothing else.
    let structured = ["text/plain", "application/json", "*/*"].map(str::to_owned).to_vec();
    let text = vec!["text/plain".to_owned()];
    let (description, modes) = match &runner {
        settings::Runner::Echo => ("Answers every message with what it got".to_owned(), structured),
        settings::Runner::Process(process) => {
            let modes = match process.protocol {
                Protocol::Text => text,
                Protocol::Jsonl => structured,
            };
            (format!("The agent {name}"), modes)
        }
        settings::Runner::Pull(_) => (format!("The agent {name}"), structured),
    };
    settings::Agent {
        title: name.to_string(),
        name,
        description,
        version: "1.0.0".to_owned(),
        publish: false,
        card: settings::Card::default(),
        skills: Vec::new(),
        extensions: Vec::new(),
        provider: None,
        documentation_url: None,
        icon_url: None,
        input_modes: modes.clone(),
        output_modes: modes,
        runner,
        retry: true,
        max_attempts: ATTEMPTS,
        backoff: BACKOFF,
        answer_within: ANSWER_WITHIN,
        budget: None,
        replies: false,
        streaming: true,
        push: true,
        extended_card: false,
    }
}

/// The agent that is there when nothing is configured. Its card is no secret.
pub fn echo() -> settings::Agent {
    let name = AgentName::parse("echo").expect("a valid name");
    settings::Agent { publish: true, ..plain(name, settings::Runner::Echo) }
}

/// Reads `NAME=COMMAND …`.
pub fn from_flag(text: &str) -> Result<settings::Agent, String> {
    let wrong = |why: &str| format!("--agent '{text}': {why}; write for example --agent 'upper=tr a-z A-Z'");
    let (name, line) = text.split_once('=').ok_or_else(|| wrong("there is no `=` after the name"))?;
    let name = AgentName::parse(name.trim()).map_err(|why| wrong(&why.to_string()))?;
    let command = runner::split(line).map_err(|why| wrong(&why))?;
    if command.first().is_none_or(String::is_empty) {
        return Err(wrong("there is no command after the `=`"));
    }
    Ok(plain(name, runner::text_process(command)))
}

/// Adds agents of the file and of the flags; no name may come twice.
pub fn add(agents: &mut BTreeMap<AgentName, settings::Agent>, agent: settings::Agent) -> Result<(), String> {
    let name = agent.name.clone();
    match agents.insert(name.clone(), agent) {
        None => Ok(()),
        Some(_) => Err(format!("--agent: there is an agent `{name}` already; take another name")),
    }
}

fn retry(agent: Option<&Spanned<Retry>>, runner: Option<Retry>) -> Result<bool, Problem> {
    match (agent, runner) {
        (Some(agent), Some(runner)) if *agent.get_ref() != runner => {
            let what = "`retry` is said here and in the runner, and not the same; keep one of them";
            Err(Problem::at(agent.span(), what))
        }
        (Some(agent), _) => Ok(*agent.get_ref() == Retry::Auto),
        (None, runner) => Ok(runner != Some(Retry::Never)),
    }
}

fn link(url: Spanned<String>) -> Result<String, Problem> {
    public_url(url.get_ref()).map_err(|what| Problem::at(url.span(), what))?;
    Ok(url.into_inner())
}

fn attempts(given: Option<Spanned<u32>>) -> Result<Option<u32>, Problem> {
    match given {
        Some(given) if !(1..=ATTEMPTS_MAX).contains(given.get_ref()) => {
            Err(Problem::at(given.span(), format!("`max_attempts` is a number from 1 to {ATTEMPTS_MAX}")))
        }
        given => Ok(given.map(Spanned::into_inner)),
    }
}

fn budget(
    given: Option<Spanned<Budget>>,
    runner: &settings::Runner,
) -> Result<Option<baton_store::Budget>, Problem> {
    let Some(given) = given else { return Ok(None) };
    let Budget { tasks, per: Span(per) } = *given.get_ref();
    if *runner == settings::Runner::Echo {
        let what = "an echo agent answers at once and has no budget; remove `budget`";
        return Err(Problem::at(given.span(), what));
    }
    if tasks == 0 || !WINDOWS.contains(&per) {
        let what = "`budget` is a number of tasks, at least 1, and a duration from \"1s\" to \"31d\"; write for \
                    example budget = { tasks = 100, per = \"1h\" }";
        return Err(Problem::at(given.span(), what));
    }
    Ok(Some(baton_store::Budget { claims: tasks, per }))
}

fn answer_within(given: Option<Spanned<Span>>) -> Result<Option<Duration>, Problem> {
    match given {
        Some(given) if given.get_ref().0.is_zero() => {
            Err(Problem::at(given.span(), "`answer_within` is a duration above zero, such as \"24h\""))
        }
        given => Ok(given.map(|given| given.into_inner().0)),
    }
}

//! `[agents.NAME]`: what tasks are handed to; and `--agent NAME=COMMAND`, the short form.

use std::collections::BTreeMap;
use std::time::Duration;

use baton_core::ident::AgentName;
use baton_core::limits::{ANSWER_WITHIN, ATTEMPTS, BACKOFF};
use baton_core::model::{AgentProvider, AgentSkill};
use serde::Deserialize;
use toml::Spanned;

use super::error::Problem;
use super::node::public_url;
use super::runner::{self, Lookup, Retry, Runner};
use super::settings::{self, Protocol};
use super::value::Span;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Agent {
    title: Option<String>,
    description: Option<String>,
    version: Option<String>,
    publish: bool,
    skills: Vec<Skill>,
    provider: Option<Provider>,
    documentation_url: Option<Spanned<String>>,
    icon_url: Option<Spanned<String>>,
    input_modes: Option<Vec<String>>,
    output_modes: Option<Vec<String>>,
    runner: Option<Spanned<Runner>>,
    retry: Option<Spanned<Retry>>,
    max_attempts: Option<Spanned<u32>>,
    backoff: Option<Span>,
    answer_within: Option<Spanned<Span>>,
    replies: bool,
    streaming: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Skill {
    id: String,
    name: String,
    description: String,
    tags: Vec<String>,
    #[serde(default)]
    examples: Vec<String>,
    #[serde(default)]
    input_modes: Vec<String>,
    #[serde(default)]
    output_modes: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Provider {
    organization: String,
    url: String,
}

/// Most attempts at one task that a file may ask for: with the backoff at its limit they take a day.
const ATTEMPTS_MAX: u32 = 100;

impl Agent {
    pub(super) fn resolve(self, name: AgentName, environment: Lookup) -> Result<settings::Agent, Problem> {
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
        agent.title = self.title.unwrap_or(agent.title);
        agent.description = self.description.unwrap_or(agent.description);
        agent.version = self.version.unwrap_or(agent.version);
        agent.publish = self.publish;
        if !self.skills.is_empty() {
            agent.skills = self.skills.into_iter().map(Skill::resolve).collect();
        }
        agent.provider =
            self.provider.map(|Provider { organization, url }| AgentProvider { url, organization });
        agent.documentation_url = self.documentation_url.map(link).transpose()?;
        agent.icon_url = self.icon_url.map(link).transpose()?;
        agent.input_modes = self.input_modes.unwrap_or(agent.input_modes);
        agent.output_modes = self.output_modes.unwrap_or(agent.output_modes);
        agent.retry = retry;
        agent.max_attempts = attempts(self.max_attempts)?.unwrap_or(agent.max_attempts);
        agent.backoff = self.backoff.map_or(agent.backoff, |span| span.0);
        agent.answer_within = answer_within(self.answer_within)?.unwrap_or(agent.answer_within);
        agent.replies = self.replies;
        agent.streaming = self.streaming.unwrap_or(agent.streaming);
        Ok(agent)
    }
}

/// An agent of which nothing is said but its name and its runner.
fn plain(name: AgentName, runner: settings::Runner) -> settings::Agent {
    let structured =
        ["text/plain", "application/json", "application/octet-stream"].map(str::to_owned).to_vec();
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
    };
    settings::Agent {
        title: name.to_string(),
        name,
        description,
        version: "1.0.0".to_owned(),
        publish: false,
        skills: Vec::new(),
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
        replies: false,
        streaming: true,
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

fn answer_within(given: Option<Spanned<Span>>) -> Result<Option<Duration>, Problem> {
    match given {
        Some(given) if given.get_ref().0.is_zero() => {
            Err(Problem::at(given.span(), "`answer_within` is a duration above zero, such as \"24h\""))
        }
        given => Ok(given.map(|given| given.into_inner().0)),
    }
}

impl Skill {
    fn resolve(self) -> AgentSkill {
        AgentSkill {
            id: self.id,
            name: self.name,
            description: self.description,
            tags: self.tags,
            examples: self.examples,
            input_modes: self.input_modes,
            output_modes: self.output_modes,
            ..AgentSkill::default()
        }
    }
}

//! What a node under test is made of.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use baton::config::settings::{
    Agent, Auth, Card, Console, Limits, Listen, Net, Node, Process, Protocol, Retention, Rlimits, Runner,
    Settings, StoreAt,
};
use baton_core::ident::AgentName;

/// Agents that the test plays.
pub const SCRIPTED: &[&str] = &["script", "text", "talker", "mute"];

pub fn settings(folder: &Path) -> Settings {
    let node = Node {
        public_url: None,
        data_dir: folder.join("data"),
        listen: vec![Listen::Http(([127, 0, 0, 1], 0).into())],
        default_agent: Some(AgentName::parse("echo").unwrap()),
        dev: true,
        secret_key: None,
        store: StoreAt::Sqlite,
    };
    let mut agents = vec![Agent { publish: true, ..agent("echo", Runner::Echo) }];
    for name in SCRIPTED {
        let protocol = if *name == "text" { Protocol::Text } else { Protocol::Jsonl };
        agents.push(agent(name, Runner::Process(process(protocol))));
    }
    let agents = agents.into_iter().map(|agent| (agent.name.clone(), agent)).collect();
    // Tests come without credentials as often as they like; those that are about it say how often that is.
    let limits = Limits { failures_per_address: None, ..Limits::default() };
    let (net, auth, console) = (Net::default(), Auth::default(), Console::default());
    Settings { file: None, node, net, auth, console, limits, retention: Retention::default(), agents }
}

fn agent(name: &str, runner: Runner) -> Agent {
    Agent {
        name: AgentName::parse(name).unwrap(),
        title: name.to_owned(),
        description: format!("The agent {name}"),
        version: "1".to_owned(),
        publish: false,
        card: Card::default(),
        skills: Vec::new(),
        extensions: Vec::new(),
        provider: None,
        documentation_url: None,
        icon_url: None,
        input_modes: vec!["text/plain".to_owned(), "*/*".to_owned()],
        output_modes: vec!["text/plain".to_owned(), "*/*".to_owned()],
        runner,
        retry: true,
        max_attempts: 5,
        backoff: Duration::ZERO,
        answer_within: Duration::from_hours(24),
        budget: None,
        replies: name == "talker",
        streaming: name != "mute",
        push: true,
        extended_card: false,
    }
}

/// What an agent is said to be; its lane is the test's own.
fn process(protocol: Protocol) -> Process {
    Process {
        command: vec!["false".to_owned()],
        dir: None,
        env: BTreeMap::new(),
        user: None,
        protocol,
        concurrency: 64,
        deadline: None,
        stall: None,
        ready_within: Duration::from_secs(10),
        idle: Duration::from_mins(1),
        rlimits: Rlimits::default(),
    }
}

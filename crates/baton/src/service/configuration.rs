//! The configuration in force, for a person to read: every value, and no secret.

use std::path::Path;
use std::time::Duration;

use baton_store::{Per, Rate};
use serde::Serialize;
use utoipa::ToSchema;

use crate::config::settings::{
    Agent, Auth, ClaimRule, Destination, Limits, NamePattern, Net, Node, Process, ProxyHeader, Runner,
    Settings,
};

/// A section of the configuration.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = SettingsSection)]
pub struct Section {
    /// As it is called in a file.
    pub name: String,
    pub entries: Vec<Entry>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = SettingsEntry)]
pub struct Entry {
    pub key: &'static str,
    pub value: String,
}

fn entry(key: &'static str, value: impl Into<String>) -> Entry {
    Entry { key, value: value.into() }
}

/// What is said where nothing is.
const NONE: &str = "none";

/// Every section, in the order of a file. A setting that is not named here does not compile.
pub fn sections(settings: &Settings) -> Vec<Section> {
    let Settings { file, node, net, auth, limits, agents } = settings;
    let mut all = vec![
        Section { name: "node".to_owned(), entries: of_node(file.as_deref(), node) },
        Section { name: "net".to_owned(), entries: of_net(net) },
        Section { name: "auth".to_owned(), entries: of_auth(auth) },
        Section { name: "limits".to_owned(), entries: of_limits(limits) },
    ];
    all.extend(
        agents
            .values()
            .map(|agent| Section { name: format!("agents.{}", agent.name), entries: of_agent(agent) }),
    );
    all
}

fn of_node(file: Option<&Path>, node: &Node) -> Vec<Entry> {
    let Node { public_url, data_dir, listen, default_agent, dev, secret_key } = node;
    let listen: Vec<_> = listen.iter().map(ToString::to_string).collect();
    vec![
        entry("file", file.map_or("none: flags and defaults".to_owned(), |file| file.display().to_string())),
        entry("public_url", public_url.as_deref().unwrap_or("that of the first listener")),
        entry("data_dir", data_dir.display().to_string()),
        entry("listen", listen.join(", ")),
        entry(
            "default_agent",
            default_agent.as_ref().map_or("the only one, if there is one", |name| name.as_str()),
        ),
        entry("dev", yes(*dev)),
        entry(
            "secret_key",
            if secret_key.is_some() {
                "from the environment; not shown"
            } else {
                "in a file of the data folder; not shown"
            },
        ),
    ]
}

fn of_net(net: &Net) -> Vec<Entry> {
    let Net { allow, trusted_proxies, proxy_header } = net;
    let allow = allow.iter().map(|destination| match destination {
        Destination::Network(network) => format!("{}/{}", network.address, network.prefix),
        Destination::Host(host) => host.clone(),
    });
    let proxies = trusted_proxies.iter().map(|network| format!("{}/{}", network.address, network.prefix));
    let header = match proxy_header {
        ProxyHeader::XForwardedFor => "X-Forwarded-For",
        ProxyHeader::Forwarded => "Forwarded",
    };
    vec![
        entry("allow", listed(allow)),
        entry("trusted_proxies", listed(proxies)),
        entry("proxy_header", header),
    ]
}

fn of_auth(auth: &Auth) -> Vec<Entry> {
    let Auth { tokens, client_credentials, access_token_lifetime, client_ca, certificates, users, issuers } =
        auth;
    let certificates = certificates.iter().map(|rule| match &rule.name {
        NamePattern::Dns(name) | NamePattern::Uri(name) | NamePattern::Spiffe(name) => {
            format!("{name} → {}", rule.grant)
        }
    });
    let users = users.iter().map(|rule| {
        let number = |what: &str, id: Option<u32>| id.map(|id| format!("{what} {id} ")).unwrap_or_default();
        format!("{}{}→ {}", number("uid", rule.uid), number("gid", rule.gid), rule.grant)
    });
    let claims = |rule: &ClaimRule| format!("{} → {}", rule.path.join("."), rule.grant);
    let issuers = issuers.iter().map(|issuer| {
        let rules: Vec<_> = issuer.rules.iter().map(claims).collect();
        format!("{} for {} ({})", issuer.url, issuer.audience.join(", "), rules.join(", "))
    });
    vec![
        entry("tokens", yes(*tokens)),
        entry("client_credentials", yes(*client_credentials)),
        entry("access_token_lifetime", span(*access_token_lifetime)),
        entry("client_ca", listed(client_ca.iter().map(|file| file.display().to_string()))),
        entry("certificates", listed(certificates)),
        entry("users", listed(users)),
        entry("issuers", listed(issuers)),
    ]
}

fn of_limits(limits: &Limits) -> Vec<Entry> {
    let Limits {
        body,
        streams_per_grant,
        streams_local,
        send_wait,
        cancel_wait,
        rate_per_address,
        failures_per_address,
    } = limits;
    vec![
        entry("body", format!("{body} bytes")),
        entry("streams_per_grant", streams_per_grant.to_string()),
        entry("streams_local", streams_local.to_string()),
        entry("send_wait", span(*send_wait)),
        entry("cancel_wait", span(*cancel_wait)),
        entry("rate_per_address", rate(rate_per_address.as_ref())),
        entry("failures_per_address", rate(failures_per_address.as_ref())),
    ]
}

fn of_agent(agent: &Agent) -> Vec<Entry> {
    let mut entries = vec![
        entry("title", agent.title.clone()),
        entry("description", agent.description.clone()),
        entry("version", agent.version.clone()),
        entry("publish", yes(agent.publish)),
        entry("runner", agent.runner.kind()),
    ];
    if let Runner::Process(process) = &agent.runner {
        entries.extend(of_process(process));
    }
    entries.extend([
        entry("retry", if agent.retry { "transient" } else { "never" }),
        entry("max_attempts", agent.max_attempts.to_string()),
        entry("backoff", span(agent.backoff)),
        entry("answer_within", span(agent.answer_within)),
        entry("replies", yes(agent.replies)),
        entry("streaming", yes(agent.streaming)),
        entry("push", yes(agent.push)),
        entry("extended_card", yes(agent.extended_card)),
        entry("input_modes", listed(agent.input_modes.iter().cloned())),
        entry("output_modes", listed(agent.output_modes.iter().cloned())),
        entry("skills", listed(agent.skills.iter().map(|skill| skill.card.id.clone()))),
    ]);
    entries
}

fn of_process(process: &Process) -> Vec<Entry> {
    // Values of the environment may be secrets: only their names are shown.
    let names = process.env.keys().cloned();
    vec![
        entry("command", shell_words::join(&process.command)),
        entry(
            "dir",
            process.dir.as_ref().map_or("the node's own".to_owned(), |dir| dir.display().to_string()),
        ),
        entry("env", listed(names)),
        entry("user", process.user.as_deref().unwrap_or("the node's own")),
        entry("concurrency", process.concurrency.to_string()),
        entry("deadline", process.deadline.map_or(NONE.to_owned(), span)),
        entry("stall", process.stall.map_or(NONE.to_owned(), span)),
        entry("idle", span(process.idle)),
    ]
}

fn listed(values: impl Iterator<Item = String>) -> String {
    let values: Vec<_> = values.collect();
    if values.is_empty() { NONE.to_owned() } else { values.join(", ") }
}

const fn yes(on: bool) -> &'static str {
    if on { "yes" } else { "no" }
}

fn rate(rate: Option<&Rate>) -> String {
    let Some(Rate { requests, per, burst }) = rate else { return "no limit".to_owned() };
    let per = match per {
        Per::Second => "second",
        Per::Minute => "minute",
    };
    format!("{requests} a {per}, {burst} at once")
}

/// A duration in its largest whole unit.
fn span(time: Duration) -> String {
    let millis = time.as_millis();
    for (unit, size) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)] {
        if millis >= size && millis.is_multiple_of(size) {
            return format!("{}{unit}", millis / size);
        }
    }
    format!("{millis}ms")
}

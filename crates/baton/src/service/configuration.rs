//! The configuration in force, for a person to read: every value, and no secret.

use std::path::Path;
use std::time::Duration;

use baton_store::{Budget, Rate};
use serde::Serialize;
use utoipa::ToSchema;

use super::grants::spell_rate;
use crate::access::NamePattern;
use crate::config::settings::{
    Agent, Audience, Auth, Card, CertificateRule, Claim, ClaimRule, ClaimTest, Compat, Console, Destination,
    Issuer, Limits, Net, Node, Oidc, Process, Protocol, ProxyHeader, Pull, Retention, Rlimits, Runner,
    Settings, Skill, StoreAt, UserRule,
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

/// What holds once a node that was started with `started` has read `read`: the rest waits for its next start.
pub fn in_force(started: &Settings, read: &Settings) -> Settings {
    let node = Node { default_agent: read.node.default_agent.clone(), ..started.node.clone() };
    let limits = Limits {
        rate_per_address: started.limits.rate_per_address,
        failures_per_address: started.limits.failures_per_address,
        ..read.limits.clone()
    };
    let (net, auth, console) = (started.net.clone(), started.auth.clone(), started.console.clone());
    Settings {
        file: started.file.clone(),
        node,
        net,
        auth,
        console,
        limits,
        retention: started.retention,
        agents: read.agents.clone(),
    }
}

/// The sections beside those of agents in which two settings are not the same.
pub fn differing(one: &Settings, other: &Settings) -> Vec<&'static str> {
    let sections = [
        ("[node]", one.node != other.node),
        ("[net]", one.net != other.net),
        ("[auth]", one.auth != other.auth),
        ("[console]", one.console != other.console),
        ("[limits]", one.limits != other.limits),
        ("[retention]", one.retention != other.retention),
    ];
    sections.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

/// Every section, in the order of a file. A setting that is not named here does not compile.
pub fn sections(settings: &Settings) -> Vec<Section> {
    let Settings { file, node, net, auth, console, limits, retention, agents } = settings;
    let mut all = vec![
        Section { name: "node".to_owned(), entries: of_node(file.as_deref(), node) },
        Section { name: "net".to_owned(), entries: of_net(net) },
        Section { name: "auth".to_owned(), entries: of_auth(auth) },
        Section { name: "console".to_owned(), entries: of_console(console) },
        Section { name: "limits".to_owned(), entries: of_limits(limits) },
        Section { name: "retention".to_owned(), entries: of_retention(*retention) },
    ];
    all.extend(
        agents
            .values()
            .map(|agent| Section { name: format!("agents.{}", agent.name), entries: of_agent(agent) }),
    );
    all
}

fn of_node(file: Option<&Path>, node: &Node) -> Vec<Entry> {
    let Node { public_url, data_dir, listen, default_agent, dev, secret_key, store } = node;
    let listen: Vec<_> = listen.iter().map(ToString::to_string).collect();
    vec![
        entry("file", file.map_or("none: flags and defaults".to_owned(), |file| file.display().to_string())),
        entry("public_url", public_url.as_deref().unwrap_or("that of the first listener")),
        entry("data_dir", data_dir.display().to_string()),
        entry(
            "store",
            match store {
                StoreAt::Sqlite => "sqlite",
                StoreAt::Postgres(_) => "PostgreSQL; its URL is not shown",
            },
        ),
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
    let Auth {
        tokens,
        client_credentials,
        authorization_code,
        registration,
        access_token_lifetime,
        client_ca,
        certificates,
        users,
        issuers,
    } = auth;
    let users = users.iter().map(|UserRule { uid, gid, grant }| {
        let number = |what: &str, id: &Option<u32>| id.map(|id| format!("{what} {id} ")).unwrap_or_default();
        format!("{}{}→ {grant}", number("uid", uid), number("gid", gid))
    });
    vec![
        entry("tokens", yes(*tokens)),
        entry("client_credentials", yes(*client_credentials)),
        entry("authorization_code", yes(*authorization_code)),
        entry("registration", yes(*registration)),
        entry("access_token_lifetime", span(*access_token_lifetime)),
        entry("client_ca", listed(client_ca.iter().map(|file| file.display().to_string()))),
        entry("certificates", listed(certificates.iter().map(of_certificate))),
        entry("users", listed(users)),
        entry("issuers", listed(issuers.iter().map(of_issuer))),
    ]
}

fn of_certificate(CertificateRule { name, grant }: &CertificateRule) -> String {
    let (kind, name) = match name {
        NamePattern::Dns(name) => ("dns", name),
        NamePattern::Uri(name) => ("uri", name),
        NamePattern::Spiffe(name) => ("spiffe", name),
    };
    format!("{kind} {name} → {grant}")
}

fn of_issuer(Issuer { url, audience, algorithms, rules }: &Issuer) -> String {
    let rule = |ClaimRule { claim, grant }: &ClaimRule| format!("{} → {grant}", of_claim(claim));
    let rules: Vec<_> = rules.iter().map(rule).collect();
    format!("{url} for {} by {} ({})", audience.join(", "), spelled(algorithms), rules.join(", "))
}

fn spelled(algorithms: &[jsonwebtoken::Algorithm]) -> String {
    listed(algorithms.iter().map(|algorithm| format!("{algorithm:?}")))
}

fn of_claim(Claim { path, test }: &Claim) -> String {
    let test = match test {
        ClaimTest::Equals(value) => format!("is {value}"),
        ClaimTest::Contains(value) => format!("contains {value}"),
        ClaimTest::OneOf(values) => format!("is one of {}", serde_json::json!(values)),
    };
    format!("{} {test}", path.join("."))
}

fn of_console(console: &Console) -> Vec<Entry> {
    let Console { oidc } = console;
    let Some(oidc) = oidc else { return vec![entry("oidc", "none: by the link of `baton login` only")] };
    let Oidc { issuer, client_id, client_secret, scopes, algorithms, operators } = &**oidc;
    let operators =
        if operators.is_empty() { "nobody".to_owned() } else { listed(operators.iter().map(of_claim)) };
    vec![
        entry("oidc.issuer", issuer),
        entry("oidc.client_id", client_id),
        entry(
            "oidc.client_secret",
            if client_secret.is_some() { "there is one; not shown" } else { "none: a public client" },
        ),
        entry("oidc.scopes", scopes.join(" ")),
        entry("oidc.algorithms", spelled(algorithms)),
        entry("oidc.operators", operators),
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

fn of_retention(Retention { age, tasks }: Retention) -> Vec<Entry> {
    let forever = || "without end".to_owned();
    vec![
        entry("age", age.map_or_else(forever, span)),
        entry("tasks", tasks.map_or_else(forever, |tasks| format!("{tasks} of each agent"))),
    ]
}

fn of_pull(Pull { concurrency, lease }: &Pull) -> Vec<Entry> {
    let most = concurrency.map_or_else(|| NONE.to_owned(), |most| most.to_string());
    vec![entry("concurrency", most), entry("lease", span(*lease))]
}

fn of_agent(agent: &Agent) -> Vec<Entry> {
    let Agent {
        name: _,
        title,
        description,
        version,
        publish,
        card: Card { compat, environment },
        skills,
        extensions,
        provider,
        documentation_url,
        icon_url,
        input_modes,
        output_modes,
        runner,
        retry,
        max_attempts,
        backoff,
        answer_within,
        budget,
        replies,
        streaming,
        push,
        extended_card,
    } = agent;
    let mut entries = vec![
        entry("title", title),
        entry("description", description),
        entry("version", version),
        entry("publish", yes(*publish)),
        entry("runner", runner.kind()),
    ];
    match runner {
        Runner::Echo => {}
        Runner::Process(process) => entries.extend(of_process(process)),
        Runner::Pull(pull) => entries.extend(of_pull(pull)),
    }
    let compat = match compat {
        Compat::Both => "1.0 and 0.3",
        Compat::V1 => "1.0",
    };
    let provider = provider.as_ref().map(|provider| provider.organization.as_str());
    entries.extend([
        entry("retry", if *retry { "transient" } else { "never" }),
        entry("max_attempts", max_attempts.to_string()),
        entry("backoff", span(*backoff)),
        entry("answer_within", span(*answer_within)),
        entry("budget", budget.map_or_else(|| NONE.to_owned(), of_budget)),
        entry("replies", yes(*replies)),
        entry("streaming", yes(*streaming)),
        entry("push", yes(*push)),
        entry("extended_card", yes(*extended_card)),
        entry("input_modes", listed(input_modes.iter().cloned())),
        entry("output_modes", listed(output_modes.iter().cloned())),
        entry("skills", listed(skills.iter().map(of_skill))),
        entry("extensions", listed(extensions.iter().map(|extension| extension.uri.clone()))),
        entry("provider", provider.unwrap_or(NONE)),
        entry("documentation_url", documentation_url.as_deref().unwrap_or(NONE)),
        entry("icon_url", icon_url.as_deref().unwrap_or(NONE)),
        entry("card.compat", compat),
        entry("card.environment", yes(*environment)),
    ]);
    entries
}

fn of_budget(Budget { claims, per }: Budget) -> String {
    format!("{claims} tasks in {}", span(per))
}

fn of_skill(Skill { card, to }: &Skill) -> String {
    match to {
        Audience::Everyone => card.id.clone(),
        Audience::Extended => format!("{} for callers", card.id),
        Audience::Grants(grants) => format!("{} for {}", card.id, grants.join(" and ")),
    }
}

fn of_process(process: &Process) -> Vec<Entry> {
    let Process {
        command,
        dir,
        env,
        user,
        protocol,
        concurrency,
        deadline,
        stall,
        ready_within,
        idle,
        rlimits: Rlimits { memory, file_size, files, processes, cpu_seconds },
    } = process;
    let own = "the node's own";
    let protocol = match protocol {
        Protocol::Text => "text",
        Protocol::Jsonl => "jsonl",
    };
    let number = |most: &Option<u64>| most.map_or(own.to_owned(), |most| most.to_string());
    let bytes = |most: &Option<u64>| most.map_or(own.to_owned(), |most| format!("{most} bytes"));
    vec![
        entry("command", shell_words::join(command)),
        entry("dir", dir.as_ref().map_or(own.to_owned(), |dir| dir.display().to_string())),
        // Values of the environment may be secrets: only their names are shown.
        entry("env", listed(env.keys().cloned())),
        entry("user", user.as_deref().unwrap_or(own)),
        entry("protocol", protocol),
        entry("concurrency", concurrency.to_string()),
        entry("deadline", deadline.map_or(NONE.to_owned(), span)),
        entry("stall", stall.map_or(NONE.to_owned(), span)),
        entry("ready_within", span(*ready_within)),
        entry("idle", span(*idle)),
        entry("rlimits.memory", bytes(memory)),
        entry("rlimits.file_size", bytes(file_size)),
        entry("rlimits.files", number(files)),
        entry("rlimits.processes", number(processes)),
        entry("rlimits.cpu_seconds", number(cpu_seconds)),
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
    rate.map_or("no limit".to_owned(), |rate| format!("{}, {} at once", spell_rate(rate), rate.burst))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            file: None,
            node: Node {
                public_url: None,
                data_dir: "data".into(),
                listen: Vec::new(),
                default_agent: None,
                dev: false,
                secret_key: None,
                store: StoreAt::Sqlite,
            },
            net: Net::default(),
            auth: Auth::default(),
            console: Console::default(),
            limits: Limits::default(),
            retention: Retention::default(),
            agents: std::collections::BTreeMap::new(),
        }
    }

    /// What is shown after a reload is what holds, not what the file says.
    #[test]
    fn a_reload_takes_what_a_running_node_can_change() {
        let (started, mut read) = (settings(), settings());
        read.node.dev = !started.node.dev;
        read.auth.tokens = !started.auth.tokens;
        read.limits.body = 7;
        read.limits.rate_per_address = None;
        let held = in_force(&started, &read);
        assert_eq!((held.node.dev, held.auth.tokens), (started.node.dev, started.auth.tokens));
        assert_eq!(held.limits.body, 7);
        assert_eq!(held.limits.rate_per_address, started.limits.rate_per_address);
        assert_eq!(differing(&held, &read), ["[node]", "[auth]", "[limits]"]);
        assert!(differing(&held, &held).is_empty());
    }
}

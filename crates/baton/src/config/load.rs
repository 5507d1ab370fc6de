//! From file, environment and flags to [`Settings`].

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use baton_core::ident::AgentName;

use super::error::{Error, Problem};
use super::file::{File, Source};
use super::flags::Flags;
use super::settings::{
    Agent, Auth, Console, Destination, Limits, Listen, Net, Node, Retention, SecretKey, Settings, StoreAt,
};
use super::{agents, card, listen, net, node, suggest};

/// The file that is read where no other is named.
pub const FILE: &str = "baton.toml";

/// Where data is kept where nothing else is said.
pub const DATA_DIR: &str = "./baton-data";

/// Where a node listens where nothing else is said.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8420);

/// The key that seals secrets at rest, where it is not to be a file.
const SECRET_KEY: &str = "BATON_SECRET_KEY";

/// Reads the file, if there is one, and resolves every setting.
pub fn load(flags: &Flags) -> Result<Settings, Error> {
    let default = Path::new(FILE);
    let path = flags.config.as_deref().or_else(|| default.exists().then_some(default));
    match path {
        Some(path) => with_file(path, flags),
        None => without_file(flags),
    }
}

/// The data folder that commands look for a node in: what is said, else what the file in this folder says.
pub fn data_dir(said: Option<&Path>) -> PathBuf {
    let from_file = || {
        let file = Source::read(Path::new(FILE)).ok()?.parse().ok()?;
        file.node.data_dir
    };
    said.map(Path::to_owned).or_else(from_file).unwrap_or_else(|| DATA_DIR.into())
}

fn with_file(path: &Path, flags: &Flags) -> Result<Settings, Error> {
    let source = Source::read(path)?;
    let file = source.parse()?;
    let place = |problem: Problem| source.locate(problem);
    let store = flagged_store(flags)?.or(file.node.store().map_err(place)?).unwrap_or_default();
    let File { node: raw, net: raw_net, auth, console, limits, retention, card, agents: raw_agents } = file;

    let mut agents = resolve_agents(raw_agents, card).map_err(place)?;
    add_flagged(&mut agents, flags)?;
    if agents.is_empty() {
        let what =
            "no agent is declared; add [agents.echo] with runner = { kind = \"echo\" }, or give --agent";
        return Err(place(Problem::new(what)));
    }
    let declared = raw.default_agent.as_ref().map(|name| named(&agents, name)).transpose();
    let declared = declared.map_err(place)?;
    let default_agent = default_agent(flags, &agents)?.or(declared).or_else(|| only(&agents));

    let of_file = raw.listen().map_err(place)?;
    let listen = listeners(flags, raw.tls().as_ref(), of_file)?;
    let mut net = raw_net.resolve().map_err(place)?;
    net.allow.extend(flagged_destinations(flags)?);
    let auth = auth.resolve().map_err(place)?;
    let dev = flags.dev.or(raw.dev).unwrap_or(false);
    check_openness(&listen, dev, flags.insecure.or(raw.insecure).unwrap_or(false), &net)?;
    check_ways_in(&listen, dev, &auth)?;
    let public_url = match &raw.public_url {
        Some(url) => {
            Some(node::public_url(url.get_ref()).map_err(|what| place(Problem::at(url.span(), what)))?)
        }
        None => None,
    };
    let public_url = flagged_url(flags)?.or(public_url);
    let environment = |name: &str| std::env::var(name).ok();
    let console = console.resolve(public_url.as_deref(), &environment).map_err(place)?;
    Ok(Settings {
        file: Some(path.to_owned()),
        node: Node {
            public_url,
            data_dir: flags.data_dir.clone().or(raw.data_dir).unwrap_or_else(|| DATA_DIR.into()),
            listen,
            default_agent,
            dev,
            secret_key: secret_key()?,
            store,
        },
        net,
        auth,
        console,
        limits: limits.resolve().map_err(place)?,
        retention: retention.resolve().map_err(place)?,
        agents,
    })
}

fn without_file(flags: &Flags) -> Result<Settings, Error> {
    let echo = agents::echo();
    let mut agents = BTreeMap::from([(echo.name.clone(), echo.clone())]);
    add_flagged(&mut agents, flags)?;
    // One agent beside `echo` is what the node was started for.
    let others: Vec<&AgentName> = agents.keys().filter(|name| **name != echo.name).collect();
    let main = match others.as_slice() {
        [one] => (*one).clone(),
        _ => echo.name,
    };
    let default_agent = default_agent(flags, &agents)?.unwrap_or(main);
    let listen = listeners(flags, None, Vec::new())?;
    let dev = flags.dev.unwrap_or(true);
    check_openness(&listen, dev, flags.insecure.unwrap_or(false), &Net::default())?;
    Ok(Settings {
        file: None,
        node: Node {
            public_url: flagged_url(flags)?,
            data_dir: flags.data_dir.clone().unwrap_or_else(|| DATA_DIR.into()),
            listen,
            default_agent: Some(default_agent),
            dev,
            secret_key: secret_key()?,
            store: flagged_store(flags)?.unwrap_or_default(),
        },
        net: Net { allow: flagged_destinations(flags)?, ..Net::default() },
        auth: Auth::default(),
        console: Console::default(),
        limits: Limits::default(),
        retention: Retention::default(),
        agents,
    })
}

/// The store that the command line or the environment names.
fn flagged_store(flags: &Flags) -> Result<Option<StoreAt>, Error> {
    let said = flags.store.as_deref().filter(|said| !said.trim().is_empty());
    said.map(|said| node::store(said).map_err(|what| Error::Flag(format!("--store: {what}")))).transpose()
}

type RawAgents = BTreeMap<toml::Spanned<String>, toml::Spanned<agents::Agent>>;

fn resolve_agents(raw: RawAgents, cards: card::Card) -> Result<BTreeMap<AgentName, Agent>, Problem> {
    let environment = |name: &str| std::env::var(name).ok();
    raw.into_iter()
        .map(|(name, agent)| {
            let parsed = AgentName::parse(name.get_ref()).map_err(|why| {
                Problem::at(name.span(), format!("`{}` is no name: {why}; rename it", name.get_ref()))
            })?;
            let resolved = agent.into_inner().resolve(parsed.clone(), cards, &environment);
            Ok((parsed, resolved.map_err(|problem| problem.or_at(name.span()))?))
        })
        .collect()
}

fn add_flagged(all: &mut BTreeMap<AgentName, Agent>, flags: &Flags) -> Result<(), Error> {
    flags.agents.iter().try_for_each(|text| {
        let agent = agents::from_flag(text).map_err(Error::Flag)?;
        agents::add(all, agent).map_err(Error::Flag)
    })
}

fn named(agents: &BTreeMap<AgentName, Agent>, name: &toml::Spanned<String>) -> Result<AgentName, Problem> {
    find(agents, name.get_ref()).map_err(|what| Problem::at(name.span(), format!("`default_agent`: {what}")))
}

fn default_agent(flags: &Flags, agents: &BTreeMap<AgentName, Agent>) -> Result<Option<AgentName>, Error> {
    let Some(name) = &flags.default_agent else { return Ok(None) };
    find(agents, name).map(Some).map_err(|what| Error::Flag(format!("--default-agent: {what}")))
}

fn find(agents: &BTreeMap<AgentName, Agent>, name: &str) -> Result<AgentName, String> {
    let known: Vec<&str> = agents.keys().map(AgentName::as_str).collect();
    agents
        .keys()
        .find(|known| known.as_str() == name)
        .cloned()
        .ok_or_else(|| format!("there is no agent `{name}`; {}", suggest::instead(name, &known)))
}

fn only(agents: &BTreeMap<AgentName, Agent>) -> Option<AgentName> {
    (agents.len() == 1).then(|| agents.keys().next().cloned()).flatten()
}

fn flagged_url(flags: &Flags) -> Result<Option<String>, Error> {
    let Some(url) = &flags.public_url else { return Ok(None) };
    node::public_url(url).map(Some).map_err(|what| Error::Flag(format!("--public-url: {what}")))
}

fn flagged_destinations(flags: &Flags) -> Result<Vec<Destination>, Error> {
    let said = flags.allow_net.iter().map(|text| text.trim()).filter(|text| !text.is_empty());
    said.map(|text| net::destination(text).map_err(|what| Error::Flag(format!("--allow-net: {what}"))))
        .collect()
}

/// From the environment only: a flag is seen by everybody who lists processes.
fn secret_key() -> Result<Option<SecretKey>, Error> {
    match std::env::var(SECRET_KEY) {
        Ok(text) => {
            node::secret_key(&text).map(Some).map_err(|what| Error::Flag(format!("{SECRET_KEY}: {what}")))
        }
        Err(_) => Ok(None),
    }
}

fn listeners(flags: &Flags, tls: Option<&listen::Tls>, of_file: Vec<Listen>) -> Result<Vec<Listen>, Error> {
    let said = flags.listen.iter().map(|url| url.trim()).filter(|url| !url.is_empty());
    let flagged: Result<Vec<Listen>, String> = said.map(|url| listen::parse(url, tls)).collect();
    let flagged = flagged.map_err(|what| Error::Flag(format!("--listen: {what}")))?;
    let listen = if flagged.is_empty() { of_file } else { flagged };
    Ok(if listen.is_empty() { vec![Listen::Http(LISTEN)] } else { listen })
}

/// Dev mode trusts whoever can connect, and clear text lets others read tokens: neither leaves this machine unasked.
fn check_openness(listen: &[Listen], dev: bool, insecure: bool, net: &Net) -> Result<(), Error> {
    for listener in listen {
        let (at, clear) = match listener {
            Listen::Http(at) => (at, true),
            Listen::Https { at, .. } => (at, false),
            Listen::Unix(_) => continue,
        };
        if at.ip().is_loopback() {
            continue;
        }
        if dev {
            return Err(Error::Flag(format!(
                "dev mode lets every caller use every agent, so it listens on loopback only and not on {at}; \
                 switch it off (--dev=false, or [node] dev = false) and give callers tokens with `baton grants create`"
            )));
        }
        if clear && !insecure {
            return Err(Error::Flag(format!(
                "http://{at} would carry tokens in clear text; listen with https:// and [node.tls], \
                 or behind a proxy that does TLS allow it with [node] insecure = true or --insecure"
            )));
        }
    }
    if dev && !net.trusted_proxies.is_empty() {
        return Err(Error::Flag(
            "dev mode would take everyone behind a proxy for a local caller; \
             remove [net] trusted_proxies, or switch dev mode off"
                .to_owned(),
        ));
    }
    Ok(())
}

/// A listener that others reach and where nobody can say who it is serves nobody.
fn check_ways_in(listen: &[Listen], dev: bool, auth: &Auth) -> Result<(), Error> {
    let shut = |listener: &&Listen| match listener {
        Listen::Http(_) => true,
        Listen::Https { .. } => auth.certificates.is_empty(),
        Listen::Unix(_) => auth.users.is_empty(),
    };
    let by_bearer = auth.tokens || auth.client_credentials || auth.authorization_code;
    if dev || by_bearer || !auth.issuers.is_empty() {
        return Ok(());
    }
    match listen.iter().find(shut) {
        Some(listener) => Err(Error::Flag(format!(
            "nobody could prove who it is at {listener}; leave out tokens = false, client_credentials = false or authorization_code = false in [auth], or add another way \
             (see docs/authentication.md)"
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;

//! Where a node's parts are made and put together, and where it is stopped.

use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use baton_store::postgres::{self, Postgres};
use baton_store::sqlite::Sqlite;
use baton_store::{OpenError, Store};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{error, info, warn};

use crate::access::jwt::Issuers;
use crate::access::{Authenticator, DevGuard, Proxies, Seal};
use crate::bindings::a2a;
use crate::bindings::{Doors, Front, Gate};
use crate::clock::Clock;
use crate::config::settings::{self, Agent, Listen, Runner, Settings, StoreAt};
use crate::crash;
use crate::federation::signature::Signer;
use crate::keys::{self, Algorithm, Keys, Purpose};
use crate::net::dialer::{self, Allow, Dialer};
use crate::net::{Bound, HttpListener, OperatorListener, TlsListener, UnixListener};
use crate::runner::process;
use crate::runner::process::child::Spawner;
use crate::runner::process::spec::{Limits, Spec};
use crate::service::Service;
use crate::service::agents::Agents;
use crate::service::configuration;
use crate::service::control::Controls;
use crate::service::hub::Hub;
use crate::service::manifest::{Environment, Site, Trusted, Ways};
use crate::service::sign_in::SignIn;
use crate::worker::dispatcher::{Dispatcher, LaneSettings};
use crate::worker::webhook::Sender;
use crate::worker::{clerk, issuers, neighbours, peers, pruner, reaper};

/// How long attempts may go on once the node is told to stop; then they are ended.
const FINISH_WITHIN: Duration = Duration::from_secs(15);

/// How long their end may take: the kill ladder's seven seconds and a last commit. What is left then, as with a store
/// that cannot write, ends with the node.
const END_WITHIN: Duration = Duration::from_secs(8);

/// How long open connections may take to end once everything else has. The whole stays below 25 seconds.
const CLOSE_WITHIN: Duration = Duration::from_secs(1);

/// Why a node does not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Store(#[from] OpenError),
    #[error("cannot read the store: {0}")]
    Recovery(baton_store::Error),
    #[error(transparent)]
    Keys(#[from] keys::Error),
    #[error("cannot use the key of stored secrets: {0}")]
    Seal(io::Error),
    #[error(
        "this node's secret key is another than the one that seals the secrets in its store: give all nodes of a store the \
         same BATON_SECRET_KEY, or the same secret.key in their data folders (where that key is lost for good: delete the row \
         `seal` of the table `meta`, and have webhook credentials and peers set again)"
    )]
    OtherKey,
    #[error("cannot listen on {on}: {source}")]
    Listen { on: String, source: io::Error },
}

/// A node that serves.
#[derive(Debug)]
pub struct Node {
    pub service: Service,
    pub doors: Arc<Doors>,
    /// The URLs of its TCP listeners, in the order of the settings.
    pub urls: Vec<String>,
    pub socket: PathBuf,
    /// What it was started with: much of it takes effect at a start only.
    started: Settings,
    store: Kept,
    stop: CancellationToken,
    loops: TaskTracker,
    listeners: Vec<JoinHandle<io::Result<()>>>,
}

impl Node {
    /// Opens the store, recovers what an earlier run left, and begins to listen. When this returns, the node answers.
    pub async fn start(settings: Settings, clock: Clock) -> Result<Self, Error> {
        Self::start_with(settings, clock, lane).await
    }

    /// As [`Node::start`], with another way to find the runner of an agent, if it has one.
    pub async fn start_with(
        settings: Settings,
        clock: Clock,
        lane: impl Fn(&Agent, &Clock) -> Option<LaneSettings>,
    ) -> Result<Self, Error> {
        let hub = Arc::new(Hub::default());
        let kept = Kept::open(&settings.node, Arc::clone(&hub)).await?;
        let store = kept.store();
        let controls = Arc::new(Controls::new(store.list_holds().await.map_err(Error::Recovery)?));
        let dispatcher =
            Dispatcher::new(Arc::clone(&store), Arc::clone(&hub), clock.clone(), Arc::clone(&controls));
        let dispatcher = Arc::new(dispatcher);
        let lapsed = dispatcher.lapse_orphans().await.map_err(Error::Recovery)?;
        if lapsed > 0 {
            info!(attempts = lapsed, "ended the attempts of an earlier run; their tasks are tried again");
        }
        let (bound, socket) = bind(&settings).await?;
        let urls: Vec<String> = bound.iter().filter_map(Bound::url).collect();
        let site = Arc::new(site(&settings, &urls));
        let keys = Arc::new(Keys::open(&settings.node.data_dir)?);
        keys.ensure(Purpose::Webhook, Algorithm::EdDsa, clock.now())?;
        let (folder, given) = (&settings.node.data_dir, settings.node.secret_key.as_ref());
        let seal = Seal::open(folder, given).map_err(Error::Seal)?;
        check_seal(&*store, &seal, &settings.node.store).await?;
        let service = Service {
            store,
            hub,
            dialer: Dialer::new(dialer::Options::new(Allow::new(settings.net.allow.clone()))),
            seal,
            refusals: Arc::default(),
            documents: Arc::default(),
            issuers: Issuers::new(settings.auth.issuers.clone(), clock.clone()),
            sign_in: sign_in(&settings, &site, &clock),
            agents: Arc::new(Agents::default()),
            signer: Arc::new(Signer::new(Arc::clone(&keys), &site.base)),
            site,
            keys,
            dispatcher,
            clock,
            limits: Arc::new(RwLock::new(Arc::new(settings.limits.clone()))),
            retention: settings.retention,
            controls,
            shown: Arc::new(RwLock::new(Arc::new(configuration::sections(&settings)))),
            draining: CancellationToken::new(),
            alarm: tokio::sync::watch::Sender::default(),
        };
        let (store, clock, rules) =
            (Arc::clone(&service.store), service.clock.clone(), settings.auth.clone());
        let authenticator =
            Authenticator::new(store, clock, settings.node.dev, rules, service.issuers.clone());
        let proxies = Proxies::new(settings.net.trusted_proxies.clone(), settings.net.proxy_header);
        let gate = Gate::new(authenticator, DevGuard::new(settings.node.dev), proxies, &service);
        let doors = Arc::new(Doors::new(service.clone(), gate));
        add_agents(&service, settings.clone(), lane);
        let stop = CancellationToken::new();
        let loops = TaskTracker::new();
        loops.spawn(reaper::run(service.clone(), stop.clone()));
        loops.spawn(pruner::run(service.clone(), stop.clone()));
        loops.spawn(neighbours::renew(service.clone(), stop.clone()));
        loops.spawn(neighbours::listen(service.clone(), stop.clone()));
        loops.spawn(clerk::run(service.clone(), stop.clone()));
        let of_operators = service.sign_in.iter().map(|sign_in| sign_in.issuer());
        for issuer in service.issuers.list().iter().chain(of_operators) {
            loops.spawn(issuers::run(Arc::clone(issuer), service.dialer.clone(), stop.clone()));
        }
        loops.spawn(peers::run(service.clone(), stop.clone()));
        loops.spawn(Sender::new(service.clone(), stop.clone()).run());
        let front = Front::new(Arc::clone(&doors));
        let listeners =
            bound.into_iter().map(|bound| loops.spawn(bound.serve(front.clone(), stop.clone()))).collect();
        Ok(Self { service, doors, urls, socket, started: settings, store: kept, stop, loops, listeners })
    }

    /// Loopback is the built-in grant `local`.
    pub const fn is_dev(&self) -> bool {
        self.started.node.dev
    }

    /// Takes agents and limits from new settings; what else changed takes a restart. Attempts under way go on as they
    /// began.
    pub fn reload(&self, read: &Settings) {
        let settings = configuration::in_force(&self.started, read);
        let waiting = configuration::differing(&settings, read);
        if !waiting.is_empty() {
            warn!(
                sections = waiting.join(", "),
                "what changed in these sections takes a restart of the node"
            );
        }
        *self.service.limits.write().unwrap_or_else(PoisonError::into_inner) =
            Arc::new(settings.limits.clone());
        *self.service.shown.write().unwrap_or_else(PoisonError::into_inner) =
            Arc::new(configuration::sections(&settings));
        for entry in self.service.agents.list() {
            if !settings.agents.contains_key(entry.name()) {
                self.service.dispatcher.remove(entry.name());
            }
        }
        info!(agents = settings.agents.len(), "configuration reloaded");
        add_agents(&self.service, settings, lane);
    }

    /// Drains: refuses new work, lets attempts finish for a while, ends them, and closes the store.
    pub async fn stop(self) {
        info!("draining");
        self.service.drain();
        crash::pass(crash::DRAINING);
        self.service.dispatcher.stop(FINISH_WITHIN, END_WITHIN).await;
        self.stop.cancel();
        self.loops.close();
        if tokio::time::timeout(CLOSE_WITHIN, self.loops.wait()).await.is_err() {
            self.listeners.iter().for_each(JoinHandle::abort);
        }
        clerk::sweep(&self.service).await;
        crash::pass(crash::STOPPED);
        self.store.close().await;
        info!("stopped");
    }

    /// Waits until a listener fails, which none does by itself.
    pub async fn failed(&mut self) {
        let Some(first) = self.listeners.first_mut() else { return std::future::pending().await };
        match first.await {
            Ok(Ok(())) => {}
            Ok(Err(why)) => error!(error = %why, "a listener failed"),
            Err(why) => error!(error = %why, "a listener failed"),
        }
    }
}

/// Where everything is kept, to be closed at the end.
#[derive(Debug)]
enum Kept {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

impl Kept {
    async fn open(node: &settings::Node, hub: Arc<Hub>) -> Result<Self, Error> {
        match &node.store {
            StoreAt::Sqlite => Ok(Self::Sqlite(Sqlite::open(&node.data_dir, hub)?)),
            StoreAt::Postgres(url) => {
                // Its socket and its keys lie there all the same.
                std::fs::DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(&node.data_dir)
                    .map_err(|source| OpenError::Folder { path: node.data_dir.clone(), source })?;
                let settings = postgres::Settings::parse(url.reveal())?;
                Ok(Self::Postgres(Postgres::open(settings, hub).await?))
            }
        }
    }

    fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Sqlite(store) => Arc::new(store.clone()),
            Self::Postgres(store) => Arc::new(store.clone()),
        }
    }

    async fn close(&self) {
        match self {
            Self::Sqlite(store) => store.close().await,
            Self::Postgres(store) => store.close().await,
        }
    }
}

/// Whether this node's key opens the secrets in the store: the first node to come leaves a text that only its key opens.
/// Where nodes share the store, one that would fail at every secret does not start; where the store is this node's own,
/// its key was lost or changed, and the rest of its work goes on.
async fn check_seal(store: &dyn Store, seal: &Seal, at: &StoreAt) -> Result<(), Error> {
    const NAME: &str = "seal";
    let sealed =
        store.put_meta(NAME, &seal.seal(b"baton", NAME.as_bytes())).await.map_err(Error::Recovery)?;
    match (seal.unseal(&sealed, NAME.as_bytes()), at) {
        (Ok(_), _) => {}
        (Err(_), StoreAt::Postgres(_)) => return Err(Error::OtherKey),
        (Err(_), StoreAt::Sqlite) => warn!(
            "the secret key is another than the one that seals the secrets in this store: what was sealed before, such as \
             webhook credentials, cannot be opened; bring back the old BATON_SECRET_KEY or secret.key, or have them set again"
        ),
    }
    Ok(())
}

/// What is the same for all agents.
fn site(settings: &Settings, urls: &[String]) -> Site {
    let base = settings.node.public_url.clone().or_else(|| urls.first().cloned());
    let machine = rustix::system::uname();
    Site {
        base: base.unwrap_or_else(|| "http://localhost".to_owned()),
        dev: settings.node.dev,
        ways: ways(settings),
        served: a2a::SERVED.to_vec(),
        environment: Environment {
            node: machine.nodename().to_string_lossy().into_owned(),
            os: std::env::consts::OS.to_owned(),
        },
    }
}

/// Where operators sign in, besides with a link.
fn sign_in(settings: &Settings, site: &Site, clock: &Clock) -> Option<Arc<SignIn>> {
    let client = settings.console.oidc.clone()?;
    Some(Arc::new(SignIn::new(*client, &site.base, clock.clone())))
}

/// By what callers are known at the listeners that there are.
fn ways(settings: &Settings) -> Ways {
    let auth = &settings.auth;
    let tls = settings.node.listen.iter().any(|listen| matches!(listen, Listen::Https { .. }));
    let trusted =
        |issuer: &settings::Issuer| Trusted { url: issuer.url.clone(), discovery: issuer.discovery() };
    Ways {
        tokens: auth.tokens,
        client_credentials: auth.client_credentials.then_some(auth.access_token_lifetime),
        authorization_code: auth.authorization_code.then_some(auth.access_token_lifetime),
        registration: auth.authorization_code && auth.registration,
        issuers: auth.issuers.iter().map(trusted).collect(),
        certificates: tls && !auth.certificates.is_empty(),
    }
}

/// Takes on the agents of the settings. One that did not change keeps its runner, and so its warm children.
fn add_agents(service: &Service, settings: Settings, lane: impl Fn(&Agent, &Clock) -> Option<LaneSettings>) {
    let default = settings.node.default_agent;
    for agent in settings.agents.values() {
        let same = service.agents.find(&agent.name).is_some_and(|known| known.settings == *agent);
        match lane(agent, &service.clock) {
            Some(lane) if !same => service.dispatcher.add(agent.name.clone(), lane),
            Some(_) => {}
            None => service.dispatcher.remove(&agent.name),
        }
    }
    service.agents.replace(settings.agents.into_values(), default, service.now());
}

fn lane(agent: &Agent, clock: &Clock) -> Option<LaneSettings> {
    match &agent.runner {
        Runner::Echo | Runner::Pull(_) => None,
        Runner::Process(settings) => Some(LaneSettings {
            runner: Arc::new(
                process::Process::new(process_settings(settings), Spawner::new()).with_clock(clock.clone()),
            ),
            concurrency: settings.concurrency,
            deadline: settings.deadline,
            budget: agent.budget,
        }),
    }
}

/// The process runner's own settings, from the configuration's.
fn process_settings(agent: &settings::Process) -> process::settings::Settings {
    let protocol = match agent.protocol {
        settings::Protocol::Text => process::settings::Protocol::Text,
        settings::Protocol::Jsonl => process::settings::Protocol::Jsonl,
    };
    let limits = Limits {
        open_files: agent.rlimits.files,
        processes: agent.rlimits.processes,
        memory_bytes: agent.rlimits.memory,
        file_bytes: agent.rlimits.file_size,
        cpu_seconds: agent.rlimits.cpu_seconds,
    };
    let spec = Spec {
        command: agent.command.clone(),
        dir: agent.dir.clone(),
        env: agent.env.clone().into_iter().collect(),
        user: agent.user.clone(),
        limits,
    };
    let mut settings = process::settings::Settings::new(protocol, spec);
    settings.idle = agent.idle;
    settings.ready_within = agent.ready_within;
    settings.stall = agent.stall;
    settings.warm = settings.warm.max(agent.concurrency);
    settings
}

async fn bind(settings: &Settings) -> Result<(Vec<Bound>, PathBuf), Error> {
    let mut bound = Vec::with_capacity(settings.node.listen.len() + 1);
    for listen in &settings.node.listen {
        bound.push(
            listen_on(listen, &settings.auth)
                .await
                .map_err(|source| Error::Listen { on: listen.to_string(), source })?,
        );
    }
    let socket = settings.node.data_dir.join("baton.sock");
    let operator = OperatorListener::bind(&socket)
        .map_err(|source| Error::Listen { on: format!("unix://{}", socket.display()), source })?;
    bound.push(Bound::Operator(operator));
    Ok((bound, socket))
}

async fn listen_on(listen: &Listen, auth: &settings::Auth) -> io::Result<Bound> {
    Ok(match listen {
        Listen::Http(at) => Bound::Http(HttpListener::bind(*at).await?),
        Listen::Https { at, certificate, key } => {
            Bound::Https(TlsListener::bind(*at, (certificate, key), &auth.client_ca).await?)
        }
        Listen::Unix(path) => Bound::Unix(UnixListener::bind(path, 0o660)?),
    })
}

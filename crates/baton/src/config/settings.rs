//! Resolved settings: every default filled in, every value checked.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use baton_core::ident::AgentName;
use baton_core::model::{AgentExtension, AgentProvider, AgentSkill};
use baton_store::{Budget, Per, Rate};
use serde::Serialize;

use crate::access::{NamePattern, User};

/// One node's settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The file they come from, where there is one: it is read again on SIGHUP.
    pub file: Option<PathBuf>,
    pub node: Node,
    pub net: Net,
    pub auth: Auth,
    pub console: Console,
    pub limits: Limits,
    pub retention: Retention,
    pub agents: BTreeMap<AgentName, Agent>,
}

/// How long tasks that are over are kept, those of each agent: forever where nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    pub age: Option<Duration>,
    /// The newest so many.
    pub tasks: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// What cards advertise, without a trailing slash; the first listener's address where `None`.
    pub public_url: Option<String>,
    pub data_dir: PathBuf,
    pub listen: Vec<Listen>,
    /// Whose card is at the origin.
    pub default_agent: Option<AgentName>,
    /// Loopback is the built-in grant `local`.
    pub dev: bool,
    /// Seals stored secrets; a file in the data folder where `None`.
    pub secret_key: Option<SecretKey>,
    pub store: StoreAt,
}

/// 256 bits that seal secrets at rest. Never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey([u8; 32]);

impl SecretKey {
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[redacted]")
    }
}

/// Where tasks and grants are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StoreAt {
    /// In the data folder, for this node alone.
    #[default]
    Sqlite,
    /// In a database that nodes share.
    Postgres(DatabaseUrl),
}

/// `postgres://…`, which may hold a password. Never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    pub const fn new(url: String) -> Self {
        Self(url)
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[redacted]")
    }
}

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    Http(SocketAddr),
    Https { at: SocketAddr, certificate: PathBuf, key: PathBuf },
    Unix(PathBuf),
}

impl std::fmt::Display for Listen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Http(at) => write!(f, "http://{at}"),
            Self::Https { at, .. } => write!(f, "https://{at}"),
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
        }
    }
}

/// What lies beyond the listeners.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Net {
    /// What the guarded dialer may reach besides public addresses.
    pub allow: Vec<Destination>,
    /// Proxies whose word on the client's address is taken.
    pub trusted_proxies: Vec<Network>,
    /// What these proxies write.
    pub proxy_header: ProxyHeader,
}

/// The header in which a proxy says who its client is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProxyHeader {
    #[default]
    XForwardedFor,
    /// RFC 7239.
    Forwarded,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    Network(Network),
    /// In lower case, without a closing dot.
    Host(String),
}

/// Addresses that share a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    pub address: IpAddr,
    /// Leading bits that count; at most 32 or 128.
    pub prefix: u8,
}

impl Network {
    pub fn contains(&self, address: IpAddr) -> bool {
        let shift = |bits: u8| u32::from(bits - self.prefix.min(bits));
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(range), IpAddr::V4(address)) => {
                let differ = range.to_bits() ^ address.to_bits();
                differ.checked_shr(shift(32)).unwrap_or(0) == 0
            }
            (IpAddr::V6(range), IpAddr::V6(address)) => {
                let differ = range.to_bits() ^ address.to_bits();
                differ.checked_shr(shift(128)).unwrap_or(0) == 0
            }
            (IpAddr::V4(_) | IpAddr::V6(_), _) => false,
        }
    }
}

/// By what callers are known. What matches no rule is nobody.
#[derive(Clone, Debug, PartialEq)]
pub struct Auth {
    /// The tokens of grants are taken.
    pub tokens: bool,
    /// They can be turned into access tokens, and these are taken.
    pub client_credentials: bool,
    /// Clients may ask operators for access in a browser, and the tokens that come of it are taken.
    pub authorization_code: bool,
    /// Clients may register themselves for that.
    pub registration: bool,
    /// How long an access token is good.
    pub access_token_lifetime: Duration,
    /// Whose certificates the TLS listeners take of clients, PEM files; they ask for none where there are none.
    pub client_ca: Vec<PathBuf>,
    /// The first that is about a certificate decides.
    pub certificates: Vec<CertificateRule>,
    /// The first that is about a process at a unix socket decides.
    pub users: Vec<UserRule>,
    /// Whose JWTs are taken.
    pub issuers: Vec<Issuer>,
}

impl Default for Auth {
    fn default() -> Self {
        Self {
            tokens: true,
            client_credentials: true,
            authorization_code: true,
            registration: true,
            access_token_lifetime: Duration::from_hours(1),
            client_ca: Vec::new(),
            certificates: Vec::new(),
            users: Vec::new(),
            issuers: Vec::new(),
        }
    }
}

/// Whose certificate opens a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateRule {
    pub name: NamePattern,
    /// By its id, or by its label.
    pub grant: String,
}

/// An issuer of JWTs.
#[derive(Clone, Debug, PartialEq)]
pub struct Issuer {
    /// What `iss` says, to the letter; its discovery document is below it.
    pub url: String,
    /// What `aud` must name one of.
    pub audience: Vec<String>,
    /// None with a shared secret is among them.
    pub algorithms: Vec<jsonwebtoken::Algorithm>,
    /// The first that is about a token decides.
    pub rules: Vec<ClaimRule>,
}

impl Issuer {
    /// Where it says what it is (OpenID Connect Discovery 1.0 §4).
    pub fn discovery(&self) -> String {
        format!("{}/.well-known/openid-configuration", self.url.trim_end_matches('/'))
    }
}

/// Whose token opens a grant.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimRule {
    pub claim: Claim,
    pub grant: String,
}

/// A claim, and what it must say.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The claim, and members below it.
    pub path: Vec<String>,
    pub test: ClaimTest,
}

/// What a claim must say.
#[derive(Clone, Debug, PartialEq)]
pub enum ClaimTest {
    Equals(serde_json::Value),
    /// One of a list, or one of the words of a text.
    Contains(serde_json::Value),
    OneOf(Vec<serde_json::Value>),
}

/// Whose process opens a grant; one of the two is there at least.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserRule {
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    pub grant: String,
}

impl UserRule {
    pub fn is_about(&self, user: User) -> bool {
        self.uid.is_none_or(|uid| uid == user.uid) && self.gid.is_none_or(|gid| gid == user.gid)
    }
}

/// How operators sign in to the console, besides with the link of `baton login`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Console {
    /// Few nodes have it, and settings are handed around whole.
    pub oidc: Option<Box<Oidc>>,
}

/// The node as a client of an OpenID provider, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Oidc {
    /// As `iss` in its ID tokens says it, to the letter.
    pub issuer: String,
    pub client_id: String,
    /// None for a public client.
    pub client_secret: Option<ClientSecret>,
    /// What is asked for; `openid` is among it.
    pub scopes: Vec<String>,
    /// None with a shared secret is among them.
    pub algorithms: Vec<jsonwebtoken::Algorithm>,
    /// Who is an operator: whoever one of these is about. Nobody where there is none.
    pub operators: Vec<Claim>,
}

/// What a provider knows a client by. Never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientSecret(String);

impl ClientSecret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret itself, for its provider.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[redacted]")
    }
}

/// Limits of DESIGN §10 that doors and use cases are handed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a request body.
    pub body: usize,
    /// Open streams of one grant; `local` has its own.
    pub streams_per_grant: usize,
    pub streams_local: usize,
    /// How long a blocking send waits before it answers with the task as it stands.
    pub send_wait: Duration,
    /// How long CancelTask waits for the end before it answers with the task as it stands. Not for a file to change: it is
    /// longer than the kill ladder, and shorter than clients are patient.
    pub cancel_wait: Duration,
    /// Requests of one client address, whoever it is; this machine is not counted. None where there is no limit.
    pub rate_per_address: Option<Rate>,
    /// Requests of one client address that come without valid credentials.
    pub failures_per_address: Option<Rate>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 10 * 1024 * 1024,
            streams_per_grant: 1_000,
            streams_local: 10_000,
            send_wait: Duration::from_mins(10),
            cancel_wait: Duration::from_secs(10),
            rate_per_address: Some(Rate { requests: 1_000, per: Per::Second, burst: 2_000 }),
            failures_per_address: Some(Rate { requests: 30, per: Per::Minute, burst: 60 }),
        }
    }
}

/// Something that tasks are handed to.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    pub name: AgentName,
    /// The card's `name`; the agent's own name where the file says nothing.
    pub title: String,
    pub description: String,
    pub version: String,
    /// The card is visible without a grant.
    pub publish: bool,
    pub card: Card,
    pub skills: Vec<Skill>,
    pub extensions: Vec<AgentExtension>,
    pub provider: Option<AgentProvider>,
    pub documentation_url: Option<String>,
    pub icon_url: Option<String>,
    pub input_modes: Vec<String>,
    pub output_modes: Vec<String>,
    pub runner: Runner,
    /// Whether an attempt that could not finish is followed by another.
    pub retry: bool,
    pub max_attempts: u32,
    pub backoff: Duration,
    /// How long a question waits for its answer.
    pub answer_within: Duration,
    /// How many tasks may be begun in a while.
    pub budget: Option<Budget>,
    /// A first reply makes the task a direct Message.
    pub replies: bool,
    pub streaming: bool,
    /// Push notifications can be asked for.
    pub push: bool,
    /// There is a card for callers besides the public one.
    pub extended_card: bool,
}

/// How an agent's card is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Card {
    pub compat: Compat,
    /// It names the node and its operating system.
    pub environment: bool,
}

/// Which clients a card is written for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Compat {
    /// Those of 1.0 and of 0.3.
    #[default]
    Both,
    V1,
}

/// A skill, and who sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Skill {
    #[serde(flatten)]
    pub card: AgentSkill,
    #[serde(rename = "shownTo")]
    pub to: Audience,
}

/// On whose card a skill stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Audience {
    Everyone,
    /// Every caller's extended card.
    Extended,
    /// The extended card of these grants, by id or label.
    Grants(Vec<String>),
}

/// How an agent's work is done.
#[expect(clippy::large_enum_variant, reason = "there are a few per node, and they are read where they stand")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Runner {
    Echo,
    Process(Process),
    Pull(Pull),
}

/// Workers that claim the agent's tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pull {
    /// Tasks that may be worked on at the same time, by all workers together.
    pub concurrency: Option<u32>,
    /// How long a worker may be silent, where its claim does not say.
    pub lease: Duration,
}

impl Runner {
    /// As `kind` in a file.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Process(_) => "process",
            Self::Pull(_) => "pull",
        }
    }
}

/// A supervised child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// The program and its arguments; never a shell line.
    pub command: Vec<String>,
    /// Where it runs; the node's own folder where `None`.
    pub dir: Option<PathBuf>,
    /// Added to the scrubbed environment.
    pub env: BTreeMap<String, String>,
    pub user: Option<String>,
    pub protocol: Protocol,
    /// Children at work at the same time.
    pub concurrency: usize,
    /// How long one attempt may take.
    pub deadline: Option<Duration>,
    /// Longest silence of a `jsonl` child at work; `None`: silence is no fault.
    pub stall: Option<Duration>,
    /// How long a `jsonl` child may take to say that it is ready.
    pub ready_within: Duration,
    /// How long a warm child is kept without work.
    pub idle: Duration,
    /// RLIMIT_AS and RLIMIT_FSIZE in bytes, RLIMIT_NOFILE, RLIMIT_NPROC, RLIMIT_CPU in seconds.
    pub rlimits: Rlimits,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rlimits {
    pub memory: Option<u64>,
    pub file_size: Option<u64>,
    pub files: Option<u64>,
    pub processes: Option<u64>,
    pub cpu_seconds: Option<u64>,
}

/// What is spoken on a child's standard streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Text,
    Jsonl,
}

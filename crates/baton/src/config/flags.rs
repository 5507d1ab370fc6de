//! What may be said on the command line and in the environment of `baton serve`, as it was said.

use std::path::PathBuf;

/// Flags of `baton serve`; each can stand in the environment too. What is not given here is taken from the file.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Flags {
    /// The configuration file; without one, `baton.toml` in this folder is read where it exists
    #[arg(long, env = "BATON_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Where the node keeps its data; `--data-dir` is a flag of every command, so it is filled in by the command line
    #[arg(skip)]
    pub data_dir: Option<PathBuf>,

    /// Where to listen, instead of what the file says: http://ADDRESS:PORT, https://ADDRESS:PORT or unix:///PATH
    /// (repeatable; separated by commas in the environment)
    #[arg(long, env = "BATON_LISTEN", value_name = "URL", value_delimiter = ',')]
    pub listen: Vec<String>,

    /// Adds an agent: a command that gets each message's text on stdin and answers on stdout (repeatable)
    #[arg(long = "agent", value_name = "NAME=COMMAND")]
    pub agents: Vec<String>,

    /// The URL that agent cards advertise
    #[arg(long, env = "BATON_PUBLIC_URL", value_name = "URL")]
    pub public_url: Option<String>,

    /// Where tasks and grants are kept: `sqlite`, in the data folder, or `postgres://…`, a database that nodes share
    #[arg(long, env = "BATON_STORE", value_name = "STORE", hide_env_values = true)]
    pub store: Option<String>,

    /// The agent whose card is at the origin
    #[arg(long, env = "BATON_DEFAULT_AGENT", value_name = "NAME")]
    pub default_agent: Option<String>,

    /// Dev mode: every caller on loopback may use every agent; on without a file, off with one
    #[arg(long, env = "BATON_DEV", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub dev: Option<bool>,

    /// Allows listening in clear text on an address that is not loopback, as behind a proxy that does TLS
    #[arg(long, env = "BATON_INSECURE", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub insecure: Option<bool>,

    /// A network or a host that the node may dial besides public addresses, in addition to what the file allows
    /// (repeatable; separated by commas in the environment)
    #[arg(long, env = "BATON_ALLOW_NET", value_name = "DESTINATION", value_delimiter = ',')]
    pub allow_net: Vec<String>,
}

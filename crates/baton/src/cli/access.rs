//! Flags that say how to get at somebody: tokens, certificates, which node.

use std::path::PathBuf;

use crate::federation::{Options, Token};

use super::node::quoted;
use super::{Failure, Global};
use crate::config;

/// How another agent or a node elsewhere is called.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Access {
    /// The token to call with; better kept in BATON_TOKEN or a file, where other users cannot see it
    #[arg(long, env = "BATON_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    pub token: Option<String>,
    /// A file that holds the token
    #[arg(long, env = "BATON_TOKEN_FILE", value_name = "FILE", conflicts_with = "token")]
    pub token_file: Option<PathBuf>,
    /// A PEM file of certificate authorities to trust besides the public ones
    #[arg(long, env = "SSL_CERT_FILE", hide_env_values = true, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
}

impl Access {
    /// The flags that say the same again, but for a token: that one is never written down.
    pub fn flags(&self) -> String {
        let files = [
            ("--token-file", &self.token_file, "BATON_TOKEN_FILE"),
            ("--ca-file", &self.ca_file, "SSL_CERT_FILE"),
        ];
        let mut flags = String::new();
        for (flag, file, variable) in files {
            let Some(file) = file else { continue };
            if std::env::var_os(variable).is_none_or(|set| set != *file) {
                flags = format!("{flags} {flag} {}", quoted(&file.to_string_lossy()));
            }
        }
        flags
    }

    pub fn options(&self) -> Result<Options, Failure> {
        let token = match (&self.token, &self.token_file) {
            (Some(token), _) => Some(Token::parse(token)?),
            (None, Some(file)) => {
                let text = std::fs::read_to_string(file).map_err(|why| {
                    Failure::usage(format!("cannot read the token from {}: {why}", file.display()))
                })?;
                Some(Token::parse(&text)?)
            }
            (None, None) => None,
        };
        Ok(Options { token, ca_file: self.ca_file.clone(), ..Options::default() })
    }
}

/// Which node a command is for.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct NodeArgs {
    /// A node elsewhere; by default the one whose data folder this is, over its own socket
    #[arg(long, value_name = "URL")]
    pub node: Option<String>,
    #[command(flatten)]
    pub access: Access,
}

impl NodeArgs {
    /// The node's socket in its data folder.
    pub fn socket(global: &Global) -> PathBuf {
        config::data_dir(global.data_dir.as_deref()).join("baton.sock")
    }
}

//! The judgement: which addresses of a host may be dialled.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use super::allow::Allow;
use super::resolve::Resolver;
use super::target::{Host, Refused, Target};

/// How long a name may take to be resolved.
const RESOLVE_WITHIN: Duration = Duration::from_secs(5);

/// How long a client that names a webhook waits for the look at its name; the look that counts comes with every dial.
const LOOK_WITHIN: Duration = Duration::from_secs(2);

/// Why nothing came of a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Nothing was sent, and nothing will be.
    #[error("the URL {0}")]
    Refused(#[from] Refused),
    /// Nobody answered, or the connection broke.
    #[error("not reachable: {0}")]
    Unreachable(String),
    #[error("no answer within {} s", .0.as_secs())]
    TooSlow(Duration),
    #[error("the answer has more than {0} bytes")]
    TooLarge(usize),
}

/// Judges hosts. Cheap to clone.
#[derive(Clone)]
pub struct Guard {
    allow: Arc<Allow>,
    resolver: Arc<dyn Resolver>,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("allow", &self.allow).finish_non_exhaustive()
    }
}

impl Guard {
    pub fn new(allow: Allow, resolver: Arc<dyn Resolver>) -> Self {
        Self { allow: Arc::new(allow), resolver }
    }

    /// The addresses of a host, every one of them judged good: these are what is dialled.
    pub async fn addresses(&self, host: &Host) -> Result<Vec<IpAddr>, Error> {
        let name = match host {
            Host::Address(address) => {
                self.allow.judge(None, *address).map_err(Refused::Address)?;
                return Ok(vec![*address]);
            }
            Host::Name(name) => name,
        };
        let found = self.resolve(name).await?;
        if found.iter().any(|address| self.allow.judge(Some(name), *address).is_err()) {
            return Err(Refused::Name.into());
        }
        Ok(found)
    }

    async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, Error> {
        let lost = match tokio::time::timeout(RESOLVE_WITHIN, self.resolver.resolve(name)).await {
            Ok(Ok(found)) if !found.is_empty() => return Ok(found),
            Ok(Ok(_)) => format!("{name} has no address"),
            Ok(Err(why)) => format!("cannot resolve {name}: {why}"),
            Err(_) => format!("cannot resolve {name} in time"),
        };
        // Whatever a name server knows of it, this name is this machine (RFC 6761 §6.3).
        let bare = name.trim_end_matches('.');
        if bare == "localhost" || bare.ends_with(".localhost") {
            return Ok(vec![Ipv4Addr::LOCALHOST.into()]);
        }
        Err(Error::Unreachable(lost))
    }

    /// The early look, where somebody asks to be called later: what would be refused then is refused now. A name that
    /// cannot be resolved at the moment is no reason to.
    pub async fn look(&self, url: &str) -> Result<Target, Refused> {
        let target = Target::parse(url)?;
        match tokio::time::timeout(LOOK_WITHIN, self.addresses(target.host())).await {
            Ok(Err(Error::Refused(refused))) => Err(refused),
            Ok(Ok(_) | Err(Error::Unreachable(_) | Error::TooSlow(_) | Error::TooLarge(_))) | Err(_) => {
                Ok(target)
            }
        }
    }
}

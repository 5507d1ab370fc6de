//! What the operator opened besides the public internet.

use std::net::IpAddr;

use super::class::{Class, class};
use crate::config::settings::Destination;

/// The allow-list of `[net] allow`.
#[derive(Clone, Debug, Default)]
pub struct Allow(Vec<Destination>);

impl Allow {
    pub const fn new(destinations: Vec<Destination>) -> Self {
        Self(destinations)
    }

    /// Whether `address` may be dialled, found under `name` where it was found under one; else what it is.
    pub fn judge(&self, name: Option<&str>, address: IpAddr) -> Result<(), &'static str> {
        match class(address) {
            Class::Public => Ok(()),
            Class::Internal(_) if name.is_some_and(|name| self.names(name)) => Ok(()),
            Class::Internal(what) => self.opened(address, 0).then_some(()).ok_or(what),
            Class::Guarded(what, least) => self.opened(address, least).then_some(()).ok_or(what),
            Class::Never(what) => Err(what),
        }
    }

    fn names(&self, name: &str) -> bool {
        let name = name.trim_end_matches('.');
        self.0.iter().any(|entry| matches!(entry, Destination::Host(host) if host.eq_ignore_ascii_case(name)))
    }

    fn opened(&self, address: IpAddr, least: u8) -> bool {
        self.0.iter().any(|entry| match entry {
            Destination::Network(network) => network.prefix >= least && network.contains(address),
            Destination::Host(_) => false,
        })
    }
}

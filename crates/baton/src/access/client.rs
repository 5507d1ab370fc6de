//! Where a request comes from, when a proxy stands in between.
//!
//! What a request says of itself is believed only from a proxy that the operator named, and only in the one header that
//! this proxy writes: whatever else a client sent along is its own word.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use http::HeaderMap;
use http::header::{FORWARDED, HeaderName};

use crate::config::settings::{Network, ProxyHeader};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Proxies that are believed, and what they write.
#[derive(Clone, Debug, Default)]
pub struct Proxies {
    trusted: Vec<Network>,
    header: ProxyHeader,
}

impl Proxies {
    pub const fn new(trusted: Vec<Network>, header: ProxyHeader) -> Self {
        Self { trusted, header }
    }

    /// Whether nobody is believed.
    pub const fn is_empty(&self) -> bool {
        self.trusted.is_empty()
    }

    /// The address of the client: the peer's own, or the last that a proxy names and that is no proxy itself. Where a proxy
    /// names nobody, or something that is no address, it answers for itself.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut at = peer.to_canonical();
        if !self.trusts(at) {
            return at;
        }
        let mut hops = match self.header {
            ProxyHeader::XForwardedFor => hops(headers, &X_FORWARDED_FOR, false, plain),
            ProxyHeader::Forwarded => hops(headers, &FORWARDED, true, forwarded),
        };
        while self.trusts(at) {
            match hops.pop() {
                Some(Some(before)) => at = before,
                Some(None) | None => break,
            }
        }
        at
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.contains(address))
    }
}

/// Every hop that a header names, in order; none where it names no address. `quotes`: whether a comma may stand in quotes.
fn hops(
    headers: &HeaderMap,
    name: &HeaderName,
    quotes: bool,
    read: fn(&str) -> Option<IpAddr>,
) -> Vec<Option<IpAddr>> {
    let mut hops = Vec::new();
    for value in headers.get_all(name) {
        let line = String::from_utf8_lossy(value.as_bytes());
        hops.extend(elements(&line, quotes).into_iter().rev().map(|hop| read(hop.trim())));
    }
    hops
}

/// The parts between commas, the last first. A proxy writes at the end, and what a client wrote before it may not reach
/// that far: a quote that it left open closes there, and not behind the proxy's own words.
fn elements(line: &str, quotes: bool) -> Vec<&str> {
    let (mut parts, mut to, mut quoted) = (Vec::new(), line.len(), false);
    for (at, byte) in line.bytes().enumerate().rev() {
        match byte {
            b'"' if quotes => quoted = !quoted,
            b',' if !quoted => {
                parts.push(&line[at + 1..to]);
                to = at;
            }
            _ => {}
        }
    }
    parts.push(&line[..to]);
    parts
}

/// A hop of `X-Forwarded-For`: an address, with or without a port.
fn plain(hop: &str) -> Option<IpAddr> {
    let address = |text: &str| text.parse::<IpAddr>().ok();
    let bracketed = || hop.strip_prefix('[')?.strip_suffix(']').and_then(address);
    let with_port = || hop.parse::<SocketAddr>().ok().map(|at| at.ip());
    Some(address(hop).or_else(with_port).or_else(bracketed)?.to_canonical())
}

/// A hop of `Forwarded` (RFC 7239): the node of its one `for`.
fn forwarded(hop: &str) -> Option<IpAddr> {
    let mut named = None;
    for pair in hop.split(';') {
        let (name, value) = pair.split_once('=')?;
        if name.trim().eq_ignore_ascii_case("for") {
            if named.is_some() {
                return None;
            }
            let value = value.trim();
            let bare = value.strip_prefix('"').map_or(Some(value), |rest| rest.strip_suffix('"'))?;
            // An address of version 6 stands in brackets, and so in quotes.
            named = Some((bare.parse::<Ipv6Addr>().is_err()).then(|| plain(bare))?);
        }
    }
    named.flatten()
}

/// What addresses are counted by: those of version 6 by the network that one customer is given.
pub fn counted_as(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
    }
}

#[cfg(test)]
mod tests;

//! `[net]`: what the node may dial besides public addresses, and which proxies it believes.

use std::net::IpAddr;

use serde::Deserialize;
use toml::Spanned;

use super::error::Problem;
use super::settings::{self, Destination, Network, ProxyHeader};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Net {
    allow: Vec<Spanned<String>>,
    trusted_proxies: Vec<Spanned<String>>,
    proxy_header: Option<Spanned<String>>,
}

impl Net {
    pub(super) fn resolve(self) -> Result<settings::Net, Problem> {
        let allow = self
            .allow
            .into_iter()
            .map(|entry| destination(entry.get_ref()).map_err(|what| Problem::at(entry.span(), what)));
        let trusted_proxies = self.trusted_proxies.into_iter().map(|entry| {
            network(entry.get_ref()).ok_or_else(|| {
                let what = format!(
                    "`{}` is no address and no network; write \"10.0.0.7\" or \"10.1.0.0/16\"",
                    entry.get_ref()
                );
                Problem::at(entry.span(), what)
            })
        });
        Ok(settings::Net {
            allow: allow.collect::<Result<_, _>>()?,
            trusted_proxies: trusted_proxies.collect::<Result<_, _>>()?,
            proxy_header: self.proxy_header.map(proxy_header).transpose()?.unwrap_or_default(),
        })
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what map hands over")]
fn proxy_header(name: Spanned<String>) -> Result<ProxyHeader, Problem> {
    match name.get_ref().to_ascii_lowercase().as_str() {
        "x-forwarded-for" => Ok(ProxyHeader::XForwardedFor),
        "forwarded" => Ok(ProxyHeader::Forwarded),
        _ => Err(Problem::at(name.span(), "`proxy_header` is \"X-Forwarded-For\" or \"Forwarded\"")),
    }
}

/// One entry of the allow-list.
pub fn destination(text: &str) -> Result<Destination, String> {
    if let Some(network) = network(text) {
        return Ok(Destination::Network(network));
    }
    let letters = |label: &str| {
        !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    let name = text.trim_end_matches('.').to_ascii_lowercase();
    // What looks like an address or a network and is none is a mistake, not the name of a host.
    let numeric = name.rsplit('.').next().is_some_and(|last| last.bytes().all(|b| b.is_ascii_digit()));
    if !numeric && name.split('.').all(letters) {
        return Ok(Destination::Host(name));
    }
    Err(format!(
        "`{text}` is no network and no host; write \"10.1.0.0/16\", \"10.0.0.7\" or \"hooks.internal\""
    ))
}

/// An address with or without a prefix length.
fn network(text: &str) -> Option<Network> {
    let (address, prefix) = match text.split_once('/') {
        Some((address, prefix)) => (address, Some(prefix.parse::<u8>().ok()?)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let prefix = prefix.unwrap_or(bits);
    (prefix <= bits).then_some(Network { address, prefix })
}

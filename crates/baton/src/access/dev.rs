//! What keeps a web page from driving a node in dev mode (DESIGN §8).
//!
//! Loopback is no proof of who calls: a browser on the same machine sends requests there for any page. A foreign `Host`
//! (DNS rebinding), an `Origin` that is not ours, and the content types that a form may send without a preflight are
//! refused.

use http::header::{CONTENT_TYPE, HOST, ORIGIN};
use http::{HeaderMap, Uri};

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Foreign {
    #[error("in dev mode the Host must be localhost or a loopback address")]
    Host,
    #[error("in dev mode requests of other origins are refused")]
    Origin,
    #[error("in dev mode a body is sent as application/json, not as a form or plain text")]
    ContentType,
}

/// The check; nothing where dev mode is off.
#[derive(Clone, Copy, Debug)]
pub struct DevGuard {
    dev: bool,
}

impl DevGuard {
    pub const fn new(dev: bool) -> Self {
        Self { dev }
    }

    /// Looks at a request that came over TCP.
    pub fn check(self, uri: &Uri, headers: &HeaderMap) -> Result<(), Foreign> {
        if !self.dev {
            return Ok(());
        }
        let host = headers
            .get(HOST)
            .and_then(|host| host.to_str().ok())
            .or_else(|| uri.authority().map(http::uri::Authority::as_str));
        if !host.is_some_and(is_loopback) {
            return Err(Foreign::Host);
        }
        for origin in headers.get_all(ORIGIN) {
            let ours = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://")) == host;
            if !ours {
                return Err(Foreign::Origin);
            }
        }
        let simple = |value: &http::HeaderValue| {
            let value = value.to_str().unwrap_or_default().trim_start();
            ["application/x-www-form-urlencoded", "multipart/", "text/plain"]
                .iter()
                .any(|kind| value.get(..kind.len()).is_some_and(|start| start.eq_ignore_ascii_case(kind)))
        };
        if headers.get_all(CONTENT_TYPE).iter().any(simple) {
            return Err(Foreign::ContentType);
        }
        Ok(())
    }
}

/// Whether a `Host` names this machine's loopback.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or(rest, |(name, _)| name),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(headers: &[(&str, &str)]) -> Result<(), Foreign> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(http::HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        DevGuard::new(true).check(&Uri::from_static("/a2a/echo"), &map)
    }

    #[test]
    fn loopback_hosts_pass() {
        for host in ["127.0.0.1:8420", "localhost", "LOCALHOST:1", "[::1]:8420", "127.9.9.9"] {
            assert_eq!(check(&[("host", host)]), Ok(()), "{host}");
        }
    }

    #[test]
    fn rebinding_is_refused() {
        for host in ["evil.example:8420", "localhost.evil.example", "10.0.0.1", "127.0.0.1.nip.io", ""] {
            assert_eq!(check(&[("host", host)]), Err(Foreign::Host), "{host}");
        }
        assert_eq!(check(&[]), Err(Foreign::Host));
    }

    #[test]
    fn other_origins_are_refused() {
        let host = ("host", "127.0.0.1:8420");
        assert_eq!(check(&[host, ("origin", "http://127.0.0.1:8420")]), Ok(()));
        for origin in ["http://127.0.0.1:3000", "https://evil.example", "null", "file://"] {
            assert_eq!(check(&[host, ("origin", origin)]), Err(Foreign::Origin), "{origin}");
        }
    }

    #[test]
    fn what_a_form_can_send_is_refused() {
        let host = ("host", "127.0.0.1:8420");
        assert_eq!(check(&[host, ("content-type", "application/json")]), Ok(()));
        for kind in [
            "text/plain;charset=UTF-8",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
        ] {
            assert_eq!(check(&[host, ("content-type", kind)]), Err(Foreign::ContentType), "{kind}");
        }
    }
}

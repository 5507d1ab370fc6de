//! The names in a client's certificate, and what they are compared with.
//!
//! A `*` that is a whole label of a DNS name, or a whole segment of a URI's path, stands for exactly one of them. There is
//! no other wildcard.

/// Characters of a SPIFFE trust domain (SPIFFE-ID §2.1); segments of its path have capitals too.
const TRUST_DOMAIN: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789.-_";

/// The names in a certificate that rules can be about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// In lower case. One with a wildcard stands for many, and so for nobody.
    pub dns: Vec<String>,
    pub uris: Vec<String>,
}

/// Which subject alternative names are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamePattern {
    /// In lower case.
    Dns(String),
    Uri(String),
    /// The one URI of an X.509-SVID.
    Spiffe(String),
}

impl NamePattern {
    /// Reads a DNS name such as `ci.example.com` or `*.example.com`.
    pub fn dns(text: &str) -> Result<Self, String> {
        let name = text.to_ascii_lowercase();
        let plain = |label: &str| {
            !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        };
        let mut labels = name.split('.');
        if name.split('.').any(plain) && labels.all(|label| label == "*" || plain(label)) {
            return Ok(Self::Dns(name));
        }
        Err(format!(
            "`{text}` is no DNS name; write \"ci.example.com\", or \"*.example.com\" where the star stands for one label"
        ))
    }

    /// Reads a URI such as `https://example.com/agents/*`.
    pub fn uri(text: &str) -> Result<Self, String> {
        let named = url::Url::parse(text).is_ok() && text.bytes().all(|b| b.is_ascii_graphic());
        if named && stars_are_segments(text) {
            return Ok(Self::Uri(text.to_owned()));
        }
        Err(format!(
            "`{text}` is no URI to compare with; write it whole, or with \"*\" for one segment of its path"
        ))
    }

    /// Reads a SPIFFE id such as `spiffe://example.org/agents/*`.
    pub fn spiffe(text: &str) -> Result<Self, String> {
        let path = text.strip_prefix("spiffe://").and_then(|rest| rest.split_once('/'));
        let right = path.is_some_and(|(domain, path)| {
            !domain.is_empty()
                && domain.bytes().all(|b| TRUST_DOMAIN.contains(&b))
                && path.split('/').all(|segment| segment == "*" || is_segment(segment))
        });
        if right {
            return Ok(Self::Spiffe(text.to_owned()));
        }
        Err(format!(
            "`{text}` is no SPIFFE id; write \"spiffe://example.org/agents/reviewer\", \
             with \"*\" where one segment of the path may be any"
        ))
    }

    /// The first name of a certificate that is meant.
    pub fn find_in<'n>(&self, names: &'n Names) -> Option<&'n str> {
        match self {
            Self::Dns(pattern) => find(&names.dns, pattern, '.'),
            Self::Uri(pattern) => find(&names.uris, pattern, '/'),
            Self::Spiffe(pattern) if names.uris.len() == 1 => find(&names.uris, pattern, '/'),
            Self::Spiffe(_) => None,
        }
    }
}

fn find<'n>(names: &'n [String], pattern: &str, between: char) -> Option<&'n str> {
    names.iter().find(|name| is_meant(name, pattern, between)).map(String::as_str)
}

/// Part by part, as many here as there.
fn is_meant(name: &str, pattern: &str, between: char) -> bool {
    let (mut parts, mut wanted) = (name.split(between), pattern.split(between));
    loop {
        match (parts.next(), wanted.next()) {
            (None, None) => return true,
            (Some(part), Some("*")) if is_segment(part) => {}
            (Some(part), Some(wanted)) if part == wanted && part != "*" => {}
            (Some(_) | None, Some(_) | None) => return false,
        }
    }
}

/// What a star may stand for: nothing that means something else to whoever reads it as a path.
fn is_segment(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    !text.is_empty() && text.bytes().all(plain) && text != "." && text != ".."
}

/// Whether stars stand below the authority of a URI only, each for a whole segment.
fn stars_are_segments(uri: &str) -> bool {
    let whole = |(at, part): (usize, &str)| !part.contains('*') || (at >= 3 && part == "*");
    let has_path = uri.split('/').nth(1).is_some_and(str::is_empty);
    uri.split('/').enumerate().all(whole) && (has_path || !uri.contains('*'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dns: &[&str], uris: &[&str]) -> Names {
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Names { dns: own(dns), uris: own(uris) }
    }

    #[test]
    fn a_star_is_one_label() {
        let pattern = NamePattern::dns("*.Agents.example.com").unwrap();
        assert_eq!(
            pattern.find_in(&names(&["x", "ci.agents.example.com"], &[])),
            Some("ci.agents.example.com")
        );
        for other in [
            "agents.example.com",
            ".agents.example.com",
            "a.b.agents.example.com",
            "ci.agents.example.com.",
            "ci.agents.example.com.evil.org",
            "*.agents.example.com",
            "..agents.example.com",
        ] {
            assert_eq!(pattern.find_in(&names(&[other], &["ci.agents.example.com"])), None, "{other}");
        }
        let exact = NamePattern::dns("ci.example.com").unwrap();
        assert_eq!(exact.find_in(&names(&["ci.example.com"], &[])), Some("ci.example.com"));
        assert_eq!(exact.find_in(&names(&["xci.example.com"], &[])), None);
        for wrong in ["", "*", "*.*", "a..b", "c*.example.com", "**.example.com", "exa mple.com", "a.com."] {
            assert!(NamePattern::dns(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_star_is_one_segment() {
        let pattern = NamePattern::spiffe("spiffe://example.org/ns/*/agent").unwrap();
        let of = |uris: &[&str]| pattern.find_in(&names(&["spiffe"], uris)).map(str::to_owned);
        assert_eq!(
            of(&["spiffe://example.org/ns/a-1/agent"]).as_deref(),
            Some("spiffe://example.org/ns/a-1/agent")
        );
        for other in [
            "spiffe://example.org/ns/agent",
            "spiffe://example.org/ns//agent",
            "spiffe://example.org/ns/a/b/agent",
            "spiffe://example.org/ns/../agent",
            "spiffe://example.org/ns/a%2fb/agent",
            "spiffe://example.org/ns/a/agent/",
            "spiffe://example.org/ns/*/agent",
            "spiffe://evil.org/ns/a/agent",
            "SPIFFE://example.org/ns/a/agent",
        ] {
            assert_eq!(of(&[other]), None, "{other}");
        }
        let two = ["spiffe://example.org/ns/a/agent", "https://example.org"];
        assert_eq!(of(&two), None, "an SVID has one URI");
        let uri = NamePattern::uri("spiffe://example.org/ns/*/agent").unwrap();
        assert_eq!(uri.find_in(&names(&[], &two)), Some(two[0]));
        for wrong in [
            "",
            "example.org/a",
            "spiffe://example.org",
            "spiffe://Example.org/a",
            "spiffe://*/a",
            "spiffe://example.org/a*",
            "spiffe://example.org/a/",
            "spiffe://example.org//a",
        ] {
            assert!(NamePattern::spiffe(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "no uri", "urn:x:*", "https://*.example.com/a", "https://example.com/a*"] {
            assert!(NamePattern::uri(wrong).is_err(), "{wrong}");
        }
        assert!(NamePattern::uri("urn:example:ada").is_ok());
    }
}

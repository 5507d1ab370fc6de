//! Where a client is sent with its code: which URIs it may have, which of them it asks for, and what a person reads of them.

use std::net::IpAddr;

use baton_core::limits::OAUTH_REDIRECT_BYTES;
use url::{Host, Url};

/// Schemes that browsers and desktops do something of their own with: none of them leads to a client.
const TAKEN: [&str; 26] = [
    "about",
    "blob",
    "chrome",
    "content",
    "data",
    "edge",
    "file",
    "filesystem",
    "ftp",
    "intent",
    "jar",
    "javascript",
    "ldap",
    "livescript",
    "mailto",
    "mocha",
    "resource",
    "search-ms",
    "sftp",
    "sms",
    "ssh",
    "tel",
    "vbscript",
    "view-source",
    "ws",
    "wss",
];

/// Where a redirect URI leads, for the person who decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leads {
    /// To this host (and port), over HTTPS.
    Host(String),
    /// To whatever listens at this address of the machine where the browser runs.
    Loopback(String),
    /// To the program that opens links of this scheme there.
    Program(String),
}

/// A redirect URI that a client may have; else why not.
pub fn read(text: &str) -> Result<Url, &'static str> {
    if text.len() > OAUTH_REDIRECT_BYTES {
        return Err("is longer than 2,000 bytes");
    }
    // What a browser would drop or turn around is not what was registered.
    if !text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
        return Err("holds white space, a backslash, or characters that are not encoded");
    }
    let url = Url::parse(text).map_err(|_| "is no absolute URI")?;
    if url.fragment().is_some() {
        return Err("has a fragment (`#…`)");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("has a user name or a password in it");
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback(&url) => Ok(url),
        "http" => Err("is neither https:// nor http:// at 127.0.0.1, [::1] or localhost"),
        scheme if TAKEN.contains(&scheme) || scheme.starts_with("ms-") || scheme.len() < 3 => {
            Err("has a scheme that leads to no client")
        }
        _ => Ok(url),
    }
}

/// Whether one of the URIs of a client is this one: to the letter, or but for the port where it is on the machine of the
/// browser, since a program takes whatever port is free (RFC 8252 §7.3).
pub fn is_one_of(registered: &[String], asked: &str) -> bool {
    let Ok(url) = read(asked) else { return false };
    let local = without_port(url);
    let is_this = |known: &str| read(known).is_ok_and(|known| without_port(known) == local);
    registered.iter().any(|known| known == asked || (local.is_some() && is_this(known)))
}

/// One at the machine of the browser, whatever its port; none where it leads elsewhere.
fn without_port(mut url: Url) -> Option<Url> {
    let loopback = url.scheme() == "http" && is_loopback(&url);
    (loopback && url.set_port(None).is_ok()).then_some(url)
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
        None => false,
    }
}

/// What a person is told of it.
pub fn leads(url: &Url) -> Leads {
    let host = url.host_str().unwrap_or_default();
    let place = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    match url.scheme() {
        "https" => Leads::Host(place),
        "http" => Leads::Loopback(place),
        scheme => Leads::Program(scheme.to_owned()),
    }
}

/// The URI with an answer behind it; what it has in its query stays.
pub fn answered(to: &str, pairs: &[(&str, &str)]) -> String {
    let Ok(mut url) = read(to) else { return String::new() };
    url.query_pairs_mut().extend_pairs(pairs);
    url.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_may_have() {
        for good in [
            "https://claude.ai/api/mcp/auth_callback",
            "https://desk.example:8443/back?a=b",
            "http://127.0.0.1:33418/",
            "http://127.0.0.1/callback",
            "http://[::1]:1/x",
            "http://localhost:6274/oauth/callback",
            "cursor://anysphere.cursor-retrieval/oauth/callback",
            "com.example.app:/oauth",
            "vscode://x/y?z=1",
        ] {
            assert!(read(good).is_ok(), "{good}: {:?}", read(good));
        }
        for bad in [
            "",
            "/callback",
            "desk.example/back",
            "http://desk.example/back",
            "http://10.0.0.1/",
            "http://localhost.evil.example/",
            "http://127.0.0.1.nip.io/",
            "https://desk.example/#x",
            "https://ada:secret@desk.example/",
            "https://ada@desk.example/",
            "https://desk.example\\@evil.example/",
            "https://desk.example/a b",
            "https://desk.example/\n",
            "https://dësk.example/",
            "javascript:alert(1)",
            "javascript://desk.example/%0aalert(1)",
            "JavaScript:alert(1)",
            "data:text/html,x",
            "vbscript:x",
            "file:///etc/passwd",
            "blob:https://a/b",
            "about:blank",
            "ws://127.0.0.1/",
            "ms-settings:x",
            "x:y",
            "view-source:https://a",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert!(read(&format!("https://a.example/{}", "x".repeat(2_000))).is_err());
    }

    #[test]
    fn which_one_it_asks_for() {
        let known = [
            "https://desk.example/back?a=b",
            "http://127.0.0.1/back",
            "http://localhost:6274/back",
            "cursor://x/y",
        ]
        .map(str::to_owned);
        for good in [
            "https://desk.example/back?a=b",
            "http://127.0.0.1/back",
            "http://127.0.0.1:33418/back",
            "http://localhost:1/back",
            "cursor://x/y",
        ] {
            assert!(is_one_of(&known, good), "{good}");
        }
        for bad in [
            "https://desk.example/back",
            "https://desk.example/back?a=b&c=d",
            "https://desk.example:444/back?a=b",
            "https://desk.example/back/?a=b",
            "https://DESK.example/back?a=b",
            "https://evil.example/back?a=b",
            "http://desk.example/back?a=b",
            "http://127.0.0.1:1/back/",
            "http://127.0.0.1:1/back?x=y",
            "http://127.0.0.1:1/back/../other",
            "http://127.0.0.2:1/back",
            "http://[::1]:1/back",
            "https://127.0.0.1/back",
            "https://localhost/back",
            "cursor://localhost/y",
            "http://ada@127.0.0.1:1/back",
            "http://127.0.0.1:1/back#x",
            "cursor://x/y/z",
            "",
        ] {
            assert!(!is_one_of(&known, bad), "{bad}");
        }
        // A port that is registered elsewhere counts.
        assert!(!is_one_of(&["https://desk.example:8443/".to_owned()], "https://desk.example:8444/"));
    }

    #[test]
    fn what_is_sent_and_said() {
        let pairs = [("code", "a b"), ("state", "x&y=#z")];
        assert_eq!(
            answered("https://a.example/b?c=d", &pairs),
            "https://a.example/b?c=d&code=a+b&state=x%26y%3D%23z"
        );
        assert_eq!(answered("cursor://x/y", &pairs), "cursor://x/y?code=a+b&state=x%26y%3D%23z");
        assert_eq!(answered("com.example.app:back", &pairs[..1]), "com.example.app:back?code=a+b");
        for (uri, said) in [
            ("https://claude.ai/x", Leads::Host("claude.ai".to_owned())),
            ("https://claude.ai:8443/x", Leads::Host("claude.ai:8443".to_owned())),
            ("http://127.0.0.1:7/x", Leads::Loopback("127.0.0.1:7".to_owned())),
            ("cursor://claude.ai/x", Leads::Program("cursor".to_owned())),
        ] {
            assert_eq!(leads(&read(uri).unwrap()), said, "{uri}");
        }
    }
}

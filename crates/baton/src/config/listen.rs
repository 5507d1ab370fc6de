//! Listener URLs: `http://ADDRESS:PORT`, `https://ADDRESS:PORT`, `unix:///PATH`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use super::settings::Listen;
use super::suggest;

/// A certificate and its key, as files.
#[derive(Clone, Debug)]
pub struct Tls {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// Bytes of a unix socket's path, the closing NUL aside: `sun_path` holds no more.
const SOCKET_PATH_BYTES: usize = 107;

/// Reads one listener URL.
pub fn parse(url: &str, tls: Option<&Tls>) -> Result<Listen, String> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Err(no_scheme(url));
    };
    match scheme {
        "http" => Ok(Listen::Http(address(url, rest)?)),
        "https" => {
            let at = address(url, rest)?;
            let Some(Tls { certificate, key }) = tls.cloned() else {
                return Err(format!(
                    "`{url}` needs a certificate; add [node.tls] with cert = \"FILE\" and key = \"FILE\" to the file"
                ));
            };
            Ok(Listen::Https { at, certificate, key })
        }
        "unix" => socket(url, rest),
        "vsock" => Err(format!(
            "`{url}`: listening on vsock is not in this version; use http://, https:// or unix://"
        )),
        other => Err(format!(
            "`{other}` is nothing to listen on; {}",
            suggest::instead(other, &["http", "https", "unix"])
        )),
    }
}

fn no_scheme(text: &str) -> String {
    let likely = if text.starts_with('/') {
        format!("unix://{text}")
    } else if text.parse::<SocketAddr>().is_ok() {
        format!("http://{text}")
    } else if let Ok(port) = text.trim_start_matches(':').parse::<u16>() {
        format!("http://127.0.0.1:{port}")
    } else {
        "http://127.0.0.1:8420".to_owned()
    };
    format!("`{text}` is no URL; write it as \"{likely}\"")
}

fn address(url: &str, rest: &str) -> Result<SocketAddr, String> {
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.contains(['/', '?', '#', '@']) {
        return Err(format!(
            "`{url}`: a listener has an address and a port only; what cards advertise is public_url"
        ));
    }
    if let Ok(at) = rest.parse() {
        return Ok(at);
    }
    if let Some(port) = rest.strip_prefix("localhost:").and_then(|port| port.parse().ok()) {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    let host = rest.trim_matches(['[', ']']);
    if host.parse::<IpAddr>().is_ok() || host == "localhost" {
        return Err(format!("`{url}` has no port; write for example \"{}:8420\"", url.trim_end_matches('/')));
    }
    Err(format!("`{url}` has no IP address and port; write for example \"http://127.0.0.1:8420\""))
}

fn socket(url: &str, path: &str) -> Result<Listen, String> {
    if !path.starts_with('/') && !path.starts_with("./") {
        return Err(format!(
            "`{url}` has no absolute path; write it with three slashes, as \"unix:///{path}\""
        ));
    }
    if path.len() > SOCKET_PATH_BYTES {
        return Err(format!(
            "the path in `{url}` is too long; a socket's path has at most {SOCKET_PATH_BYTES} bytes"
        ));
    }
    if path.ends_with('/') {
        return Err(format!("`{url}` is a folder; name the socket in it, as \"{url}a2a.sock\""));
    }
    Ok(Listen::Unix(path.into()))
}

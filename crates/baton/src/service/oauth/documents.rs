//! What clients say of themselves at the URLs that are their ids (OAuth Client ID Metadata Documents): fetched through the
//! guarded dialer when an operator is asked about one, and kept for a few minutes, so that what was read is what is decided
//! on.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use baton_core::time::Timestamp;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde::Deserialize;
use tokio::sync::Semaphore;
use url::Url;

use super::clients::{Client, Wanted, Wrong, host_of};
use crate::net::dialer::{Answer, Ask, Dialer, Target};

/// Bytes of a document, and how long it may take.
const BOUNDS: (usize, Duration) = (32 * 1024, Duration::from_secs(5));

/// How long one is kept: as long as a person takes to decide.
const KEPT: Duration = Duration::from_mins(10);

/// Documents at a time; the oldest goes.
const MOST: usize = 64;

/// Fetches at a time.
const AT_A_TIME: usize = 4;

/// All of them, in this node's memory.
#[derive(Debug)]
pub struct Documents {
    kept: Mutex<HashMap<String, (Timestamp, Client)>>,
    places: Semaphore,
}

impl Default for Documents {
    fn default() -> Self {
        Self { kept: Mutex::default(), places: Semaphore::new(AT_A_TIME) }
    }
}

/// What of a document is read. Whatever else stands there is not.
#[derive(Deserialize)]
struct Document {
    client_id: String,
    client_name: String,
    redirect_uris: Vec<String>,
    #[serde(default)]
    token_endpoint_auth_method: Option<String>,
    #[serde(default)]
    client_secret: Option<serde::de::IgnoredAny>,
}

impl Documents {
    /// What the client at this URL says of itself; else why that does not do.
    pub async fn load(&self, dialer: &Dialer, id: &str, now: Timestamp) -> Result<Client, String> {
        let url = read_id(id)?;
        if let Some(known) = self.find(id, now) {
            return Ok(known);
        }
        let target = Target::parse(id).map_err(|why| format!("its URL {why}"))?;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let ask = Ask { method: Method::GET, headers, ..Ask::default() };
        let Ok(_place) = self.places.acquire().await else { return Err("the node is stopping".to_owned()) };
        let answer = dialer.call(&target, ask, BOUNDS).await.map_err(|why| why.to_string())?;
        let client = read(id, &url, &answer)?;
        self.keep(client.clone(), now);
        Ok(client)
    }

    fn find(&self, id: &str, now: Timestamp) -> Option<Client> {
        let kept = self.kept();
        let (at, client) = kept.get(id)?;
        (now.since(*at) < KEPT).then(|| client.clone())
    }

    fn keep(&self, client: Client, now: Timestamp) {
        let mut kept = self.kept();
        kept.retain(|_, (at, _)| now.since(*at) < KEPT);
        if kept.len() >= MOST {
            let oldest = kept.iter().min_by_key(|(_, (at, _))| *at).map(|(id, _)| id.clone());
            oldest.and_then(|id| kept.remove(&id));
        }
        kept.insert(client.id.clone(), (now, client));
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<String, (Timestamp, Client)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An id that can be the URL of a document: HTTPS, with a path, spelled in the one way.
fn read_id(id: &str) -> Result<Url, String> {
    let url = Url::parse(id).map_err(|why| format!("its id is no URL: {why}"))?;
    if url.scheme() != "https" {
        return Err("its id is a URL that is not https://".to_owned());
    }
    let bare = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    if !bare || url.path() == "/" || url.as_str() != id {
        return Err(
            "its id is no URL of a document: it has a path, no user name, no fragment and no detours"
                .to_owned(),
        );
    }
    Ok(url)
}

fn read(id: &str, url: &Url, answer: &Answer) -> Result<Client, String> {
    let host = host_of(url);
    if answer.status != StatusCode::OK {
        return Err(format!("{host} answers {} (redirects are not followed)", answer.status.as_u16()));
    }
    let kind = answer.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if kind != "application/json" && !(kind.starts_with("application/") && kind.ends_with("+json")) {
        return Err(format!("what {host} answers is not JSON"));
    }
    let document: Document = serde_json::from_slice(&answer.body)
        .map_err(|why| format!("what {host} says of it is not to be read: {why}"))?;
    if document.client_id != id {
        return Err(format!("what {host} says is about another client"));
    }
    let public = document.token_endpoint_auth_method.as_deref().is_none_or(|method| method == "none");
    if !public || document.client_secret.is_some() {
        return Err(
            "it wants to prove who it is with a key or a secret, which this node does not know".to_owned()
        );
    }
    let wanted = Wanted { name: Some(document.client_name), redirects: document.redirect_uris };
    let (name, redirects) = wanted.check().map_err(|(Wrong::Redirect(why) | Wrong::Other(why))| why)?;
    Ok(Client { id: id.to_owned(), name, redirects, host: Some(host) })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const ID: &str = "https://desk.example/oauth/client.json";

    fn document(change: &Value) -> Value {
        let mut document = json!({
            "client_id": ID, "client_name": " Desk ", "redirect_uris": ["http://127.0.0.1/back"], "logo_uri": "https://x",
        });
        for (name, value) in change.as_object().unwrap() {
            if value.is_null() {
                document.as_object_mut().unwrap().remove(name);
            } else {
                document[name] = value.clone();
            }
        }
        document
    }

    fn reads(status: u16, kind: &str, body: &str) -> Result<Client, String> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, kind.parse().unwrap());
        let answer = Answer {
            status: StatusCode::from_u16(status).unwrap(),
            headers,
            body: body.as_bytes().to_vec().into(),
        };
        read(ID, &read_id(ID).unwrap(), &answer)
    }

    #[test]
    fn what_a_client_says_of_itself() {
        let good = document(&json!({"token_endpoint_auth_method": "none"})).to_string();
        let client = Client {
            id: ID.to_owned(),
            name: "Desk".to_owned(),
            redirects: vec!["http://127.0.0.1/back".to_owned()],
            host: Some("desk.example".to_owned()),
        };
        assert_eq!(reads(200, "application/json; charset=utf-8", &good), Ok(client.clone()));
        assert_eq!(reads(200, "application/oauth+json", &good), Ok(client));
        for (status, kind) in
            [(404, "application/json"), (302, "application/json"), (200, "text/html"), (200, "")]
        {
            assert!(reads(status, kind, &good).is_err(), "{status} {kind}");
        }
        for change in [
            json!({"client_id": "https://desk.example/oauth/client.json/"}),
            json!({"client_id": null}),
            json!({"client_name": null}),
            json!({"redirect_uris": []}),
            json!({"redirect_uris": ["http://desk.example/"]}),
            json!({"redirect_uris": ["javascript:alert(1)"]}),
            json!({"redirect_uris": "https://desk.example/"}),
            json!({"token_endpoint_auth_method": "client_secret_basic"}),
            json!({"token_endpoint_auth_method": "private_key_jwt"}),
            json!({"client_secret": "x"}),
            json!({"client_name": "x".repeat(201)}),
        ] {
            assert!(reads(200, "application/json", &document(&change).to_string()).is_err(), "{change}");
        }
        assert!(reads(200, "application/json", "[").is_err());
    }

    #[test]
    fn which_ids_are_urls_of_documents() {
        assert!(read_id("https://desk.example/client.json?v=1").is_ok());
        for id in [
            "http://desk.example/c",
            "https://desk.example",
            "https://desk.example/",
            "https://desk.example/a/../c",
            "https://desk.example/c#x",
            "https://ada@desk.example/c",
            "https://DESK.example/c",
            "https://desk.example:443/c",
            "https://",
            "x",
        ] {
            assert!(read_id(id).is_err(), "{id}");
        }
    }

    #[test]
    fn they_are_kept_for_a_while_and_bounded() {
        let at = |seconds: u64| Timestamp::from_millis(1_800_000_000_000).after(Duration::from_secs(seconds));
        let client =
            |n: usize| Client { id: n.to_string(), name: String::new(), redirects: Vec::new(), host: None };
        let documents = Documents::default();
        documents.keep(client(0), at(0));
        assert!(documents.find("0", at(599)).is_some() && documents.find("0", at(600)).is_none());
        for n in 1..=MOST {
            documents.keep(client(n), at(1));
        }
        assert_eq!(documents.kept().len(), MOST);
        assert_eq!(documents.find("0", at(2)), None);
    }
}

//! Who asks for access: clients that registered themselves (RFC 7591), and clients whose id is the URL of what they say of
//! themselves. What a client says is its own word; it gets nothing by it.

use baton_core::limits::{OAUTH_CLIENT_KEPT, OAUTH_CLIENT_UNUSED, OAUTH_NAME_BYTES, OAUTH_REDIRECTS};
use baton_core::time::Timestamp;
use baton_store::Registration;
use tracing::info;
use url::Url;

use super::super::{Error, Service};
use super::redirect;
use crate::access::{Origin, Secret};

/// What ids of registrations begin with.
const PREFIX: &str = "client_";

/// Of one transaction.
const BATCH: usize = 500;

/// A client, by its own word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    pub id: String,
    pub name: String,
    pub redirects: Vec<String>,
    /// The host that its id is from, where that is a URL: what it says was read there.
    pub host: Option<String>,
}

/// Why there is none.
#[derive(Debug)]
pub enum NoClient {
    /// Nobody is registered by that id.
    Unknown,
    /// What is at the URL cannot be had, or does not do.
    Document(String),
    Failed(Error),
}

/// What a client writes of itself.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub name: Option<String>,
    pub redirects: Vec<String>,
}

/// What is wrong with that.
#[derive(Debug, PartialEq, Eq)]
pub enum Wrong {
    Redirect(String),
    Other(String),
}

impl Wanted {
    /// Checks it: a name, and where it may be sent to.
    pub fn check(self) -> Result<(String, Vec<String>), Wrong> {
        let Self { name, redirects } = self;
        if redirects.is_empty() || redirects.len() > OAUTH_REDIRECTS {
            return Err(Wrong::Redirect(format!("redirect_uris is a list of 1 to {OAUTH_REDIRECTS} URIs")));
        }
        for uri in &redirects {
            redirect::read(uri).map_err(|why| Wrong::Redirect(format!("A redirect URI {why}")))?;
        }
        let name = name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| "A client without a name".to_owned());
        if name.len() > OAUTH_NAME_BYTES {
            return Err(Wrong::Other(format!("client_name has more than {OAUTH_NAME_BYTES} bytes")));
        }
        Ok((name, redirects))
    }
}

/// Whether an id is the URL of a document.
pub fn is_document(id: &str) -> bool {
    id.starts_with("https://") || id.starts_with("http://")
}

impl Service {
    /// Keeps what a client says of itself, under an id that it gets for it.
    pub async fn register_oauth_client(
        &self,
        wanted: (String, Vec<String>),
        origin: Origin,
    ) -> Result<Registration, Error> {
        if self.draining.is_cancelled() {
            return Err(Error::Draining);
        }
        let (name, redirects) = wanted;
        let id = format!("{PREFIX}{}", Secret::random().into_text());
        let new = Registration {
            id,
            name,
            redirects,
            origin: origin.counted(),
            created_at: self.now(),
            used_at: None,
        };
        if !self.store.register_client(new.clone()).await? {
            return Err(Error::Unavailable(
                "as many clients are registered as may be, and all of them are in use".to_owned(),
            ));
        }
        info!(client.id = %new.id, "a client registered");
        Ok(new)
    }

    /// The client of an id. Where that is a URL, what is there is fetched: ask for an operator only.
    pub async fn load_oauth_client(&self, id: &str) -> Result<Client, NoClient> {
        if is_document(id) {
            let document = self.documents.load(&self.dialer, id, self.now()).await;
            return document.map_err(NoClient::Document);
        }
        let found = self.find_registration(id).await.map_err(NoClient::Failed)?;
        let Registration { id, name, redirects, .. } = found.ok_or(NoClient::Unknown)?;
        Ok(Client { id, name, redirects, host: None })
    }

    /// A registration that may be shown to anybody who knows its id.
    pub async fn find_registration(&self, id: &str) -> Result<Option<Registration>, Error> {
        if !id.starts_with(PREFIX) {
            return Ok(None);
        }
        Ok(self.store.find_client(id).await?)
    }

    /// Ends what clients were allowed and did not use in time, and forgets clients that nobody uses. For a timer.
    pub async fn sweep_oauth(&self) -> Result<(), baton_store::Error> {
        let now = self.now();
        while self.store.lapse_approvals(now, BATCH).await? == BATCH {}
        self.ring();
        let ago = |span: std::time::Duration| {
            let millis = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
            Timestamp::from_millis(now.as_millis().saturating_sub(millis))
        };
        let (unused, used) = (ago(OAUTH_CLIENT_UNUSED), ago(OAUTH_CLIENT_KEPT));
        while self.store.prune_clients(unused, used, BATCH).await? == BATCH {}
        Ok(())
    }
}

/// The host of a URL, as a person reads it.
pub(super) fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

//! Access tokens in return for the token of a grant (RFC 6749 §4.4). Whoever is a client here is the holder of a grant: its
//! id is the client's, its token the client's secret.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use baton_store::{AccessToken, Actor, Barred, Error as StoreError, Grant, GrantChange};
use tracing::debug;

use super::super::Service;
use super::{Issued, Refused, narrow};
use crate::access::Token;

/// Who a client says it is.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub client: &'a str,
    pub secret: &'a str,
}

impl fmt::Debug for Asked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asked").field("client", &self.client).finish_non_exhaustive()
    }
}

impl Service {
    /// The grant of a client, where it is one. Whether it takes calls now is asked with the token.
    pub async fn load_client(&self, asked: Asked<'_>) -> Result<Client, Refused> {
        let secret = asked.secret.as_bytes();
        if !Token::is_like(secret) {
            return Err(Refused::Client);
        }
        let digest = Token::digest_of(secret);
        let found = self.store.find_credential(&digest, self.now()).await;
        let opened = found.map_err(|why| Refused::Failed(why.into()))?;
        match opened {
            Some(opened) if *opened.grant.id == *asked.client => Ok(Client { grant: opened.grant, digest }),
            Some(_) | None => Err(Refused::Client),
        }
    }

    /// A new access token. It is good for `lifetime`, and no longer than what it was given for. A scope is verbs, separated
    /// by spaces; none where the client wants all that it may have.
    pub async fn issue(
        &self,
        client: &Client,
        scope: Option<&str>,
        lifetime: Duration,
    ) -> Result<Issued, Refused> {
        let (grant, now) = (&client.grant, self.now());
        let verbs = scope.map(|scope| narrow(&grant.verbs, scope)).transpose()?;
        let wanted = now.after(lifetime);
        let token = Token::random_access();
        let digest = token.digest();
        let asked = AccessToken {
            digest,
            verbs: verbs.as_deref().map(Arc::from),
            created_at: now,
            expires_at: grant.expires_at.map_or(wanted, |end| end.min(wanted)),
            bound: None,
        };
        let change = GrantChange::Issue { token: asked, secret: client.digest };
        let changed = self.store.change_grant(&grant.id, change, &Actor::node(), now).await;
        let changed = changed.map_err(|why| match why {
            StoreError::NotFound | StoreError::Barred(Barred::Over) => Refused::Client,
            StoreError::Barred(Barred::Paused) => Refused::Paused,
            why => Refused::Failed(why.into()),
        })?;
        // The store knows until when the secret is good: a rotation may have come in between.
        let issued = changed.access_tokens.iter().find(|issued| issued.digest == digest);
        let expires_at = issued.ok_or(Refused::Client)?.expires_at;
        debug!(grant.id = %grant.id, "issued an access token");
        Ok(Issued {
            token,
            lifetime: expires_at.since(now),
            verbs: verbs.unwrap_or_else(|| grant.verbs.clone()),
            refresh: None,
        })
    }
}

/// A client that proved to be one.
#[derive(Debug)]
pub struct Client {
    pub grant: Arc<Grant>,
    /// SHA-256 of its secret.
    digest: [u8; 32],
}

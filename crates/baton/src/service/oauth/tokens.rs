//! Tokens for what a client brings: the code that an operator's approval gave it, and after that one refresh token after the
//! other (RFC 6749 §4.1.3 and §6, RFC 9700 §4.14). And their end (RFC 7009).

use std::fmt;
use std::sync::Arc;

use baton_core::time::Timestamp;
use baton_store::{
    AccessToken, Actor, Approval, ApprovalKey, ApprovalState, Barred, Brought, Error as StoreError, Grant,
    GrantChange, Redeem, Verb, Withdrawn,
};
use subtle::ConstantTimeEq as _;
use tracing::debug;

use super::super::Service;
use super::{Issued, Refused, narrow};
use crate::access::{Origin, RefreshToken, Resource, Secret, Token};

/// Characters of a verifier (RFC 7636 §4.1).
const VERIFIER: std::ops::RangeInclusive<usize> = 43..=128;

/// A code, and what comes with it.
#[derive(Clone, Copy)]
pub struct BroughtCode<'a> {
    pub code: &'a str,
    pub client: &'a str,
    /// Where the code was sent, where the client says it.
    pub redirect: Option<&'a str>,
    pub verifier: &'a str,
    pub resource: Option<&'a str>,
}

/// A refresh token, and what comes with it.
#[derive(Clone, Copy)]
pub struct BroughtRefresh<'a> {
    pub token: &'a RefreshToken,
    pub client: &'a str,
    pub scope: Option<&'a str>,
    pub resource: Option<&'a str>,
}

/// What is brought is a secret.
impl fmt::Debug for BroughtCode<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroughtCode").field("client", &self.client).finish_non_exhaustive()
    }
}

impl fmt::Debug for BroughtRefresh<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroughtRefresh").field("client", &self.client).finish_non_exhaustive()
    }
}

/// What is to be given.
struct Wanted {
    verbs: Vec<Verb>,
    resource: Resource,
    refresh: RefreshToken,
}

impl Service {
    /// The approval of a code, and its grant.
    pub async fn find_coded(&self, code: &str) -> Result<Option<(Approval, Arc<Grant>)>, Refused> {
        self.find_approved(ApprovalKey::Code(Secret::digest(code))).await
    }

    /// The approval of a refresh token, and its grant.
    pub async fn find_refreshed(
        &self,
        token: &RefreshToken,
    ) -> Result<Option<(Approval, Arc<Grant>)>, Refused> {
        self.find_approved(ApprovalKey::Family(token.digest().family)).await
    }

    async fn find_approved(&self, key: ApprovalKey) -> Result<Option<(Approval, Arc<Grant>)>, Refused> {
        let Some(approval) = self.store.find_approval(key).await? else { return Ok(None) };
        let record = self.store.find_grant(&approval.grant).await?;
        Ok(record.map(|record| (approval, record.grant)))
    }

    /// Tokens for a code: once, and only where everything that comes with it is right.
    pub async fn redeem_code(
        &self,
        (approval, grant): (&Approval, &Grant),
        brought: BroughtCode<'_>,
        origin: Origin,
    ) -> Result<Issued, Refused> {
        let resource = self.target(approval, brought.resource)?;
        let proven = is_proven(approval, brought);
        let wanted = Wanted { verbs: approval.verbs.clone(), resource, refresh: RefreshToken::random() };
        let brought = Brought::Code { code: approval.code, proven };
        self.give(grant, brought, wanted, origin).await
    }

    /// Tokens for a refresh token, whose place the new one takes.
    pub async fn refresh(
        &self,
        (approval, grant): (&Approval, &Grant),
        brought: BroughtRefresh<'_>,
        origin: Origin,
    ) -> Result<Issued, Refused> {
        if approval.client != brought.client {
            return Err(Refused::Grant);
        }
        let resource = self.target(approval, brought.resource)?;
        let verbs = brought.scope.map(|scope| narrow(&approval.verbs, scope)).transpose()?;
        let verbs = verbs.unwrap_or_else(|| approval.verbs.clone());
        let wanted = Wanted { verbs, resource, refresh: brought.token.next() };
        self.give(grant, Brought::Refresh(brought.token.digest()), wanted, origin).await
    }

    async fn give(
        &self,
        grant: &Grant,
        brought: Brought,
        wanted: Wanted,
        origin: Origin,
    ) -> Result<Issued, Refused> {
        let Wanted { verbs, resource, refresh } = wanted;
        let (now, token) = (self.now(), Token::random_access());
        let expires_at = self.end_of_access(grant, now);
        let access = AccessToken {
            digest: token.digest(),
            verbs: Some(verbs.as_slice().into()),
            created_at: now,
            expires_at,
            bound: None,
        };
        let redeem = Redeem {
            brought,
            next: refresh.digest(),
            token: access,
            resource: resource.path().into(),
            origin: origin.to_string(),
            now,
        };
        let service = self.clone();
        let redeemed = self.see_through(async move {
            let redeemed = service.store.redeem(redeem).await;
            // What was foul ended tokens, and with them streams.
            if matches!(redeemed, Ok(None)) {
                service.ring();
            }
            redeemed
        });
        let approval = match redeemed.await? {
            Ok(redeemed) => redeemed.ok_or(Refused::Grant)?,
            Err(StoreError::Barred(Barred::Paused)) => return Err(Refused::Paused),
            Err(why) => return Err(why.into()),
        };
        debug!(approval.id = %approval.id, "gave a client an access token");
        Ok(Issued { token, lifetime: expires_at.since(now), verbs, refresh: Some(refresh) })
    }

    /// No longer than the grant.
    fn end_of_access(&self, grant: &Grant, now: Timestamp) -> Timestamp {
        let wanted = now.after(self.site.ways.authorization_code.unwrap_or_default());
        grant.expires_at.map_or(wanted, |end| end.min(wanted))
    }

    /// What a token is to be for: what the approval is for, or less.
    fn target(&self, approval: &Approval, asked: Option<&str>) -> Result<Resource, Refused> {
        let all = Resource::parse(&approval.resource).ok_or(Refused::Target)?;
        let Some(url) = asked else { return Ok(all) };
        self.site.resource(url).filter(|asked| all.covers(asked)).ok_or(Refused::Target)
    }

    /// Ends what a token is of: an approval with a refresh token, an access token alone. Whoever has it may end it. False
    /// where it is of a kind that does not end here; one that is not known is over already.
    pub async fn revoke_token(&self, text: &str, origin: Origin) -> Result<bool, Refused> {
        if let Some(token) = RefreshToken::parse(text) {
            if let Some((approval, grant)) = self.find_refreshed(&token).await? {
                let by = Actor::new(&*grant.id, origin.to_string());
                match self.end_approval(&approval.id, &by).await? {
                    Ok(_) | Err(StoreError::NotFound) => {}
                    Err(why) => return Err(why.into()),
                }
            }
        } else if Token::is_like_access(text.as_bytes()) {
            let digest = Token::digest_of(text.as_bytes());
            if let Some(opened) = self.store.find_credential(&digest, self.now()).await? {
                let (service, change) = (self.clone(), GrantChange::Withdraw(Withdrawn::One(digest)));
                let withdrawn = self.see_through(async move {
                    let (grant, by) = (&opened.grant.id, Actor::node());
                    let withdrawn = service.store.change_grant(grant, change, &by, service.now()).await;
                    service.ring();
                    withdrawn
                });
                withdrawn.await??;
            }
        } else if Token::is_like(text.as_bytes()) {
            return Ok(false);
        }
        Ok(true)
    }

    /// Seen through, so that whoever serves the client hears of it.
    async fn end_approval(&self, id: &str, by: &Actor) -> Result<Result<Approval, StoreError>, super::Error> {
        let (service, id, by) = (self.clone(), id.to_owned(), by.clone());
        let ended = self.see_through(async move {
            let ended = service.store.end_approval(&id, &by, service.now()).await;
            service.ring();
            ended
        });
        ended.await
    }

    /// What clients were allowed, by any grant or by this one, the newest first.
    pub async fn list_clients(&self, grant: Option<&str>) -> Result<Vec<Approval>, super::Error> {
        Ok(self.store.list_approvals(grant).await?)
    }

    /// Signs a client out. Its grant goes on.
    pub async fn sign_client_out(&self, id: &str, by: &Actor) -> Result<Approval, super::Error> {
        self.end_approval(id, by).await?.map_err(|why| match why {
            StoreError::NotFound => super::Error::ClientNotFound,
            why => why.into(),
        })
    }
}

/// Whether what comes with a code is right: the same client, the place where the code was sent, and the secret behind the
/// challenge.
fn is_proven(approval: &Approval, brought: BroughtCode<'_>) -> bool {
    let ApprovalState::Coded { challenge } = approval.state else { return true };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let verifier = brought.verifier;
    approval.client == brought.client
        && brought.redirect.is_none_or(|redirect| redirect == approval.redirect)
        && VERIFIER.contains(&verifier.len())
        && verifier.bytes().all(plain)
        && bool::from(Secret::digest(verifier).ct_eq(&challenge))
}

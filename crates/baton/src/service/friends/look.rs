//! A look at who asks: the card at the URL that a stranger named, fetched when the operator opens the request and not
//! before, through the guarded dialer; and what its signature and the ID token are worth.
//!
//! The card says who is named, not who asks: anybody can name anybody's card. The code tells that, or the ID token.

use std::time::Duration;

use baton_core::friend::{self, State};
use baton_core::time::Timestamp;
use baton_store::{Actor, Found, FriendRequest, Look, Mark, Provenance, Seen, Signature, Standing, Verdict};
use tracing::info;

use super::super::{Error, Service};
use super::decide::not_found;
use super::door::place;
use crate::access::jwt::Refused;
use crate::federation::{self, Address, Limits, Transport, signature};
use crate::hex::hex;
use crate::keys::{Jwk, Jwks};
use sha2::{Digest as _, Sha256};

/// Bytes of a stranger's card, and of its keys.
const CARD: usize = 256 * 1024;

/// How long a stranger's server may take for each of the two.
const WITHIN: Duration = Duration::from_secs(10);

/// Signatures of a card and keys of a set that are tried with each other: more than anybody needs, and soon done.
const SIGNATURES: usize = 16;
const KEYS: usize = 16;

/// Where the keys of a card are looked for: at its own origin. What it names itself (`jku`) is never followed.
const JWKS: &str = "/.well-known/jwks.json";

impl Service {
    /// Fetches and checks the card of an open request, and keeps what was found with its time. What is decided is not looked
    /// at again.
    pub async fn look_at_friend(&self, id: &str, by: &Actor) -> Result<FriendRequest, Error> {
        let request = self.load_friend(id).await?;
        if !matches!(friend::at(request.state, self.now()), State::Pending { .. }) {
            return Ok(request);
        }
        let url = &request.wish.card_url;
        let now = self.now();
        let (found, card) = match self.fetch_card(url).await {
            Ok(found) => {
                let first = request.look.as_ref().and_then(Look::first);
                let pin = self.store.find_pin(url).await?;
                let seen = self.weigh(&found, (pin.as_ref(), first), now).await;
                (seen.map_or_else(Found::Nothing, Found::Card), Some(found.raw))
            }
            Err(why) => (Found::Nothing(why), None),
        };
        let provenance = self.provenance(&request).await;
        let look = Look { at: now, verdict: Verdict { found, provenance }, card };
        info!(friend_request.id = id, "looked at the card of a stranger");
        self.store.keep_look(id, look, by).await.map_err(not_found)
    }

    /// The card at exactly this URL.
    async fn fetch_card(&self, url: &str) -> Result<federation::Found, String> {
        let (transport, at) = self.stranger(url).map_err(|why| why.to_string())?;
        match federation::fetch_card(&transport, &at).await {
            Ok(Some(found)) => Ok(found),
            Ok(None) => Err(format!("there is no agent card at {url}")),
            Err(why) => Err(why.to_string()),
        }
    }

    fn stranger(&self, url: &str) -> Result<(Transport, Address), federation::Error> {
        let limits = Limits { card: CARD, answer_within: WITHIN, ..Limits::default() };
        Ok((Transport::guarded(self.dialer.clone(), limits), Address::parse(url)?))
    }

    /// What a card is worth. `before`: the mark that was pinned, and that of the first look.
    async fn weigh(
        &self,
        found: &federation::Found,
        before: (Option<&Mark>, Option<&Mark>),
        now: Timestamp,
    ) -> Result<Seen, String> {
        let (signature, mark) = self.mark_of(found, now).await?;
        let (pin, first) = before;
        let standing = match (pin, first) {
            (Some(pin), _) => pin
                .compare(&mark)
                .map_or(Standing::Pinned(pin.at), |what| Standing::Changed { since: pin.at, what }),
            (None, Some(first)) => {
                first.compare(&mark).map_or(Standing::New, |what| Standing::Changed { since: first.at, what })
            }
            (None, None) => Standing::New,
        };
        let first = first.unwrap_or(&mark).clone();
        Ok(Seen {
            name: found.card.name.clone(),
            at_home: found.is_at_home(),
            signature,
            standing,
            mark,
            first,
        })
    }

    /// What a card's signatures are worth, and by what it is recognised.
    pub(in crate::service) async fn mark_of(
        &self,
        found: &federation::Found,
        now: Timestamp,
    ) -> Result<(Signature, Mark), String> {
        let whole = signature::Form::Whole.of(found.raw.as_str());
        let whole = whole.map_err(|why| format!("the card cannot be read: {why}"))?;
        let (signature, key) = match found.card.signatures.len() {
            0 => (Signature::Unsigned, None),
            1..=SIGNATURES => self.prove(found).await,
            many => (Signature::Unproven(format!("it has {many} signatures, which nobody tries")), None),
        };
        Ok((signature, Mark { at: now, digest: hex(&Sha256::digest(whole)), key }))
    }

    /// Whether a key that the card's own origin publishes signed it, and the fingerprint of that key.
    async fn prove(&self, found: &federation::Found) -> (Signature, Option<String>) {
        let keys = match self.keys_of(&found.at).await {
            Ok(keys) => keys,
            Err(why) => return (Signature::Unproven(why), None),
        };
        for key in keys.iter().take(KEYS) {
            let proves =
                |verdicts: Vec<signature::Verdict>| verdicts.iter().any(|verdict| verdict.proof.is_ok());
            if signature::verify(found.raw.as_str(), std::slice::from_ref(key)).is_ok_and(proves) {
                return (Signature::Proven(key.kid.clone()), Some(Jwk::thumbprint(&key.key)));
            }
        }
        let why = format!("none of the keys at {} made it over this card", found.at.at_origin(JWKS));
        (Signature::Unproven(why), None)
    }

    async fn keys_of(&self, card: &Address) -> Result<Vec<Jwk>, String> {
        let at = card.at_origin(JWKS);
        let (transport, at) = self.stranger(&at.to_string()).map_err(|why| why.to_string())?;
        let text = federation::fetch_text(&transport, &at).await.map_err(|why| why.to_string())?;
        let keys = Jwks::parse(&text).map_err(|why| format!("no keys at {at}: {why}"))?;
        Ok(keys.keys)
    }

    /// What the ID token is worth that came with a request. It had to be good when it came; few are for longer.
    async fn provenance(&self, request: &FriendRequest) -> Option<Provenance> {
        let sealed = request.id_token.as_ref()?;
        let token = match self.seal.unseal(sealed, &place(&request.id)) {
            Ok(token) => token,
            Err(why) => return Some(Provenance::Unproven(why.to_string())),
        };
        Some(match self.issuers.vouch(&token, request.created_at).await {
            Ok((issuer, subject)) => Provenance::Proven { issuer, subject },
            Err(Refused::Token) => {
                let what = "no issuer that this node trusts ([[auth.issuers]]) made it for this node, or it was not good when it came";
                Provenance::Unproven(what.to_owned())
            }
            Err(Refused::Unreachable) => Provenance::Unproven(
                "the keys of its issuer cannot be had at the moment: look again".to_owned(),
            ),
        })
    }
}

//! ID tokens: who somebody is that an issuer has just signed in for this node (OpenID Connect Core §3.1.3.7).

use baton_core::time::Timestamp;
use jsonwebtoken::decode_header;
use serde_json::Value;

use super::claims::{self, Claims};
use super::{Issuer, Refused, is_plain};

/// Why an ID token proves nothing, and what whoever runs the node hears of it.
pub type Unproven = (Refused, &'static str);

impl Issuer {
    /// What an ID token says that was made for `client` and for one sign-in: the one that began with `nonce`.
    pub async fn identify(
        &self,
        token: &[u8],
        (client, nonce): (&str, &str),
        now: Timestamp,
    ) -> Result<(String, Claims), Unproven> {
        let wrong = |what| (Refused::Token, what);
        let header = decode_header(token).ok().filter(is_plain);
        // An access token is for something else, whatever stands in it.
        let header =
            header.filter(|header| header.typ.as_ref().is_none_or(|typ| typ.eq_ignore_ascii_case("JWT")));
        let Some(header) = header.filter(|_| token.len() <= super::BYTES) else {
            return Err(wrong("it is no ID token"));
        };
        if !self.settings.algorithms.contains(&header.alg) {
            return Err(wrong("its algorithm is not among `algorithms`"));
        }
        let claims = self.verify(token, &header).await.map_err(|why| match why {
            Refused::Token => {
                wrong("it is not signed by a key of this issuer, or not for this client (`iss`, `aud`)")
            }
            Refused::Unreachable => (why, "the issuer's keys cannot be had"),
        })?;
        claims::good_until(&claims, now).ok_or(wrong("it is over or not good yet: compare the clocks"))?;
        let subject = claims::subject(&claims).ok_or(wrong("it names nobody (`sub`)"))?.to_owned();
        let says = |name: &str, wanted: &str| claims.get(name).and_then(Value::as_str) == Some(wanted);
        let several = claims.get("aud").and_then(Value::as_array).is_some_and(|all| all.len() > 1);
        if (several || claims.contains_key("azp")) && !says("azp", client) {
            return Err(wrong("it was made for another client (`azp`)"));
        }
        if says("nonce", nonce) {
            Ok((subject, claims))
        } else {
            Err(wrong("it is of another sign-in (`nonce`)"))
        }
    }
}

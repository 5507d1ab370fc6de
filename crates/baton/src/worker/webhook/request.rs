//! One notification as an HTTP request: body, credentials, signatures.
//!
//! The signatures are those of Standard Webhooks: `v1a` with each of the node's Ed25519 keys for webhooks, which every
//! receiver can check with the node's public key set; `v1` with the token of the configuration, which nobody else knows, where it has one.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use baton_core::time::Timestamp;
use baton_store::Owed;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use ring::hmac;
use sha2::{Digest as _, Sha256};

use crate::hex::hex;
use crate::keys::{Algorithm, Keys, Purpose};
use crate::net::dialer::Ask;
use crate::service::push::Secret;

const TOKEN: HeaderName = HeaderName::from_static("x-a2a-notification-token");
const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
const SEQUENCE: HeaderName = HeaderName::from_static("baton-event-sequence");
const VERSION: HeaderName = HeaderName::from_static("a2a-version");

/// What Standard Webhooks' libraries put in front of a secret that is base64.
const ENCODED: &str = "whsec_";

/// What is told: the `part`-th body of the event `seq`.
pub struct Told {
    pub seq: u64,
    pub part: usize,
    pub media: &'static str,
    pub body: Bytes,
}

/// The same for every try of the same notification, also after a restart: a receiver can drop what it has.
pub fn id(owed: &Owed, told: &Told) -> String {
    let digest = Sha256::new()
        .chain_update(owed.config.task.as_bytes())
        .chain_update(owed.config.id.as_bytes())
        .chain_update(told.seq.to_be_bytes())
        .chain_update(told.part.to_be_bytes())
        .finalize();
    format!("msg_{}", hex(&digest[..16]))
}

/// The request; none where a header cannot hold what was stored.
pub fn ask(
    owed: &Owed,
    told: Told,
    secret: &Secret,
    (keys, now): (&Keys, Timestamp),
) -> Result<Ask, http::header::InvalidHeaderValue> {
    let (id, seconds) = (id(owed, &told), now.as_millis() / 1000);
    let signed = [format!("{id}.{seconds}.").as_bytes(), &told.body].concat();
    let mut signatures = Vec::new();
    for key in keys.list(Purpose::Webhook) {
        if key.secret.algorithm() == Algorithm::EdDsa {
            signatures.push(format!("v1a,{}", BASE64_STANDARD.encode(key.secret.sign(&signed))));
        }
    }
    if let Some(token) = &secret.token {
        signatures.push(format!("v1,{}", BASE64_STANDARD.encode(mac(token, &signed))));
    }
    let mut headers = HeaderMap::with_capacity(10);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(told.media));
    headers.insert(VERSION, HeaderValue::from_static(owed.config.edition.as_str()));
    headers.insert(ID, HeaderValue::try_from(id)?);
    headers.insert(TIMESTAMP, HeaderValue::from(seconds));
    headers.insert(SIGNATURE, HeaderValue::try_from(signatures.join(" "))?);
    headers.insert(SEQUENCE, HeaderValue::from(told.seq));
    if let Some(scheme) = &owed.config.scheme {
        let credentials = secret.credentials.as_deref().unwrap_or_default();
        headers.insert(AUTHORIZATION, hidden(format!("{scheme} {credentials}").trim_end())?);
    }
    if let Some(token) = &secret.token {
        headers.insert(TOKEN, hidden(token)?);
    }
    Ok(Ask { method: Method::POST, headers, body: told.body })
}

fn hidden(text: &str) -> Result<HeaderValue, http::header::InvalidHeaderValue> {
    let mut value = HeaderValue::try_from(text)?;
    value.set_sensitive(true);
    Ok(value)
}

/// HMAC-SHA256 under the token's bytes; under what it stands for where it is a secret as Standard Webhooks writes them.
fn mac(token: &str, text: &[u8]) -> Vec<u8> {
    let encoded = token.strip_prefix(ENCODED).and_then(|text| BASE64_STANDARD.decode(text).ok());
    let key = encoded.unwrap_or_else(|| token.as_bytes().to_vec());
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), text).as_ref().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the Standard Webhooks specification.
    #[test]
    fn the_example_of_the_standard() {
        let text = br#"msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}"#;
        let mac = mac("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", text);
        assert_eq!(BASE64_STANDARD.encode(mac), "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn any_other_token_is_its_own_key() {
        let expected = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, b"plain"), b"x");
        assert_eq!(mac("plain", b"x"), expected.as_ref());
        assert_ne!(mac("whsec_%%%", b"x"), mac("whsec_", b"x"));
    }
}

//! What somebody brings back from the provider, turned into an ID token at its token endpoint (RFC 6749 §4.1.3).

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde::Deserialize;
use url::form_urlencoded::{Serializer, byte_serialize};

use crate::access::jwt::Endpoints;
use crate::config::settings::{ClientSecret, Oidc};
use crate::net::dialer::{Ask, Dialer, Target};

/// Bytes of an answer, and how long it may take.
const BOUNDS: (usize, Duration) = (64 * 1024, Duration::from_secs(10));

/// Characters of an error's name that are told.
const ERROR_CHARACTERS: usize = 40;

/// What is brought back, and what proves that it was asked for here.
pub struct Proof<'a> {
    pub code: &'a str,
    pub verifier: &'a str,
    pub redirect: &'a str,
}

/// Why there is no ID token.
#[derive(Debug, PartialEq, Eq)]
pub enum Failed {
    /// The provider knows nothing of that code, or takes it from another client only: its own word for it.
    Refused(String),
    /// It could not be asked, or says what nobody understands.
    Unreachable(String),
}

/// RFC 6749 §5.1, OpenID Connect Core §3.1.3.3. The access token is of no use here, and is not kept.
#[derive(Deserialize)]
struct Granted {
    id_token: String,
}

/// RFC 6749 §5.2. A description may repeat what was sent, so it is left unread.
#[derive(Deserialize)]
struct Refusal {
    error: String,
}

/// The ID token for what was brought back.
pub async fn exchange(
    dialer: &Dialer,
    endpoints: &Endpoints,
    client: &Oidc,
    proof: &Proof<'_>,
) -> Result<String, Failed> {
    let target = Target::parse(&endpoints.token).map_err(|why| Failed::Unreachable(why.to_string()))?;
    let ask = request(endpoints, client, proof);
    let answer = dialer.call(&target, ask, BOUNDS).await;
    let answer = answer.map_err(|why| Failed::Unreachable(why.to_string()))?;
    read(answer.status, &answer.body)
}

fn request(endpoints: &Endpoints, client: &Oidc, proof: &Proof<'_>) -> Ask {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    let mut form = Serializer::new(String::new());
    form.append_pair("grant_type", "authorization_code")
        .append_pair("code", proof.code)
        .append_pair("redirect_uri", proof.redirect)
        .append_pair("code_verifier", proof.verifier);
    match &client.client_secret {
        Some(secret) if !endpoints.secret_in_form => {
            headers.insert(AUTHORIZATION, basic(&client.client_id, secret));
        }
        Some(secret) => {
            form.append_pair("client_id", &client.client_id).append_pair("client_secret", secret.reveal());
        }
        None => {
            form.append_pair("client_id", &client.client_id);
        }
    }
    Ask { method: Method::POST, headers, body: Bytes::from(form.finish()) }
}

/// `Basic`, with both parts in the encoding of forms first (RFC 6749 §2.3.1).
fn basic(id: &str, secret: &ClientSecret) -> HeaderValue {
    let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let both = format!("{}:{}", encoded(id), encoded(secret.reveal()));
    let text = format!("Basic {}", BASE64_STANDARD.encode(both));
    let mut value = HeaderValue::from_str(&text).expect("base64 is plain ASCII");
    value.set_sensitive(true);
    value
}

fn read(status: StatusCode, body: &[u8]) -> Result<String, Failed> {
    if status == StatusCode::OK {
        let granted: Result<Granted, _> = serde_json::from_slice(body);
        // What is wrong with it could be said only with what stands in it.
        let unreadable = |_| Failed::Unreachable("its answer holds no ID token".to_owned());
        return granted.map(|granted| granted.id_token).map_err(unreadable);
    }
    match serde_json::from_slice::<Refusal>(body) {
        Ok(Refusal { error }) if status.is_client_error() => Err(Failed::Refused(plain(&error))),
        Ok(_) | Err(_) => Err(Failed::Unreachable(format!("its token endpoint answers {status}"))),
    }
}

/// An error's name, as RFC 6749 spells them; whatever else stands there is not repeated.
pub fn plain(error: &str) -> String {
    let named = |c: char| c.is_ascii_lowercase() || c == '_';
    if !error.is_empty() && error.len() <= ERROR_CHARACTERS && error.chars().all(named) {
        error.to_owned()
    } else {
        "an error without a name".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(secret: Option<&str>) -> Oidc {
        Oidc {
            issuer: "https://id.example.com".to_owned(),
            client_id: "ba ton:1".to_owned(),
            client_secret: secret.map(ClientSecret::new),
            scopes: vec!["openid".to_owned()],
            algorithms: Vec::new(),
            operators: Vec::new(),
        }
    }

    fn asked(secret: Option<&str>, secret_in_form: bool) -> (Option<String>, String) {
        let endpoints = Endpoints {
            authorization: "https://id.example.com/auth".parse().unwrap(),
            token: "https://id.example.com/token".to_owned(),
            secret_in_form,
            names_itself: false,
        };
        let proof =
            Proof { code: "c&d", verifier: "v", redirect: "https://a.example/console/login/callback" };
        let ask = request(&endpoints, &client(secret), &proof);
        let header = ask.headers.get(AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned());
        (header, String::from_utf8(ask.body.to_vec()).unwrap())
    }

    #[test]
    fn a_client_says_who_it_is_in_one_way() {
        let form = "grant_type=authorization_code&code=c%26d&\
            redirect_uri=https%3A%2F%2Fa.example%2Fconsole%2Flogin%2Fcallback&code_verifier=v";
        let basic = BASE64_STANDARD.encode("ba+ton%3A1:s%2F%3A+t");
        assert_eq!(asked(Some("s/: t"), false), (Some(format!("Basic {basic}")), form.to_owned()));
        assert_eq!(asked(None, false), (None, format!("{form}&client_id=ba+ton%3A1")));
        assert_eq!(
            asked(Some("s/: t"), true),
            (None, format!("{form}&client_id=ba+ton%3A1&client_secret=s%2F%3A+t"))
        );
    }

    #[test]
    fn what_the_provider_answers() {
        let of = |status: u16, body: &str| read(StatusCode::from_u16(status).unwrap(), body.as_bytes());
        assert_eq!(of(200, r#"{"id_token":"a.b.c","access_token":"x"}"#), Ok("a.b.c".to_owned()));
        assert_eq!(of(400, r#"{"error":"invalid_grant"}"#), Err(Failed::Refused("invalid_grant".to_owned())));
        for (status, body) in
            [(200, "{}"), (200, "s3cret"), (500, r#"{"error":"server_error"}"#), (400, "s3cret"), (302, "")]
        {
            let Err(Failed::Unreachable(why)) = of(status, body) else { panic!("{status} {body}") };
            assert!(!why.contains("s3cret"), "{why}");
        }
        let Err(Failed::Refused(why)) = of(401, r#"{"error":"<script>"}"#) else { panic!("it is refused") };
        assert_eq!(why, "an error without a name");
    }
}

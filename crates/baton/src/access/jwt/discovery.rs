//! What an issuer says of itself (OpenID Connect Discovery 1.0 §3), as far as this node asks.

use serde::Deserialize;
use url::Url;

/// The document, of which most is left out.
#[derive(Clone, Debug, Deserialize)]
pub struct Discovery {
    issuer: String,
    jwks_uri: String,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    #[serde(default = "basic")]
    token_endpoint_auth_methods_supported: Vec<String>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// Where people sign in, and where what they bring back is turned into tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoints {
    pub authorization: Url,
    pub token: String,
    /// The client's secret goes into the form: the issuer takes no other way.
    pub secret_in_form: bool,
    /// People come back with the issuer's name (RFC 9207).
    pub names_itself: bool,
}

fn basic() -> Vec<String> {
    vec!["client_secret_basic".to_owned()]
}

impl Discovery {
    /// Reads what `issuer` says of itself. What another says of itself is nothing.
    pub fn read(text: &[u8], issuer: &str) -> Result<Self, String> {
        let read: Self =
            serde_json::from_slice(text).map_err(|why| format!("its discovery document: {why}"))?;
        if read.issuer != issuer {
            let named = read.issuer;
            return Err(format!(
                "its discovery document is that of {named:?}; write the url as it stands there"
            ));
        }
        read.reached(&read.jwks_uri).ok_or("its jwks_uri is not reached by https")?;
        Ok(read)
    }

    pub fn keys(&self) -> &str {
        &self.jwks_uri
    }

    /// Where people sign in, at an issuer where they do.
    pub fn endpoints(&self) -> Option<Endpoints> {
        let takes = |way: &str| self.token_endpoint_auth_methods_supported.iter().any(|known| known == way);
        let token = self.token_endpoint.clone()?;
        self.reached(&token)?;
        Some(Endpoints {
            authorization: self.reached(self.authorization_endpoint.as_ref()?)?,
            token,
            secret_in_form: !takes("client_secret_basic") && takes("client_secret_post"),
            names_itself: self.authorization_response_iss_parameter_supported,
        })
    }

    /// A URL of the issuer's, where it is reached as safely as the issuer is.
    fn reached(&self, url: &str) -> Option<Url> {
        let url = Url::parse(url).ok()?;
        let plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
        let safe = match url.scheme() {
            "https" => true,
            "http" => self.issuer.starts_with("http:"),
            _ => false,
        };
        (plain && safe && url.has_host()).then_some(url)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const ISSUER: &str = "https://id.example.com";

    fn document(changed: &Value) -> Vec<u8> {
        let mut all = json!({
            "issuer": ISSUER, "jwks_uri": "https://id.example.com/keys",
            "authorization_endpoint": "https://login.example.com/?p=1", "token_endpoint": "https://id.example.com/token",
        });
        all.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
        all.to_string().into_bytes()
    }

    fn endpoints(changed: &Value) -> Option<Endpoints> {
        Discovery::read(&document(changed), ISSUER).unwrap().endpoints()
    }

    #[test]
    fn where_people_sign_in() {
        let all = endpoints(&json!({})).unwrap();
        assert_eq!(all.authorization.as_str(), "https://login.example.com/?p=1");
        assert!(!all.secret_in_form && !all.names_itself);
        let ways = |ways: Value| {
            endpoints(&json!({"token_endpoint_auth_methods_supported": ways})).unwrap().secret_in_form
        };
        assert!(ways(json!(["client_secret_post", "none"])));
        assert!(!ways(json!(["client_secret_post", "client_secret_basic"])) && !ways(json!(["none"])));
        assert!(
            endpoints(&json!({"authorization_response_iss_parameter_supported": true})).unwrap().names_itself
        );
    }

    #[test]
    fn nobody_is_sent_where_it_is_not_safe() {
        for url in [
            "http://login.example.com",
            "javascript:alert(1)",
            "data:text/html,x",
            "https://ada@login.example.com",
            "https://login.example.com/#x",
            "/login",
            "",
        ] {
            assert_eq!(endpoints(&json!({"authorization_endpoint": url})), None, "{url}");
            assert_eq!(endpoints(&json!({"token_endpoint": url})), None, "{url}");
            assert!(Discovery::read(&document(&json!({"jwks_uri": url})), ISSUER).is_err(), "{url}");
        }
        assert_eq!(endpoints(&json!({"authorization_endpoint": null})), None);
        let local = "http://127.0.0.1:1";
        let read = Discovery::read(
            &document(&json!({"issuer": local, "token_endpoint": "http://127.0.0.1:1/t"})),
            local,
        );
        assert!(read.unwrap().endpoints().is_some());
        assert!(Discovery::read(&document(&json!({})), "https://id.example.com/").is_err());
    }
}

//! `[console]`: how operators sign in to the console, besides with the link of `baton login`.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;
use url::{Host, Url};

use super::error::Problem;
use super::issuers::{self, OneOrMore, Scalar};
use super::settings::{self, Claim, ClientSecret};

/// What the provider knows this node by, where it is not to be a file.
const SECRET: &str = "BATON_CONSOLE_CLIENT_SECRET";

/// Bytes of such a secret.
const SECRET_BYTES: usize = 1_024;

/// What makes it OpenID Connect (Core §3.1.2.1).
const OPENID: &str = "openid";

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Console {
    oidc: Option<Spanned<Oidc>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Oidc {
    issuer: Spanned<String>,
    client_id: Spanned<String>,
    client_secret_file: Option<Spanned<PathBuf>>,
    #[serde(default)]
    scopes: Vec<Spanned<String>>,
    algorithms: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(default)]
    operators: Vec<Spanned<Operator>>,
}

/// Who is an operator.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Operator {
    claim: Spanned<OneOrMore>,
    equals: Option<Scalar>,
    contains: Option<Scalar>,
    one_of: Option<Vec<Scalar>>,
}

impl Console {
    /// The settings of a node that is reached at `public_url`.
    pub(super) fn resolve(
        self,
        public_url: Option<&str>,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<settings::Console, Problem> {
        let Some(oidc) = self.oidc else { return Ok(settings::Console::default()) };
        let at = oidc.span();
        check_way_back(public_url).map_err(|what| Problem::at(at, what))?;
        Ok(settings::Console { oidc: Some(Box::new(oidc.into_inner().resolve(environment)?)) })
    }
}

/// The provider sends people back to the node with what opens a session: to where they look for it, and by TLS.
fn check_way_back(public_url: Option<&str>) -> Result<(), String> {
    let Some(text) = public_url else {
        return Err("the provider sends people back to this node, and nothing says where it is: \
                    add [node] public_url = \"https://…\", or --public-url"
            .to_owned());
    };
    let url = Url::parse(text).ok();
    let safe = url.as_ref().is_some_and(|url| match (url.scheme(), url.host()) {
        ("https", _) | ("http", Some(Host::Domain("localhost"))) => true,
        ("http", Some(Host::Ipv4(address))) => address.is_loopback(),
        ("http", Some(Host::Ipv6(address))) => address.is_loopback(),
        (_, _) => false,
    });
    if safe {
        return Ok(());
    }
    Err(format!(
        "the provider would send people back to {text} in clear text; \
         make [node] public_url an https:// address, or sign in with `baton login`"
    ))
}

impl Oidc {
    fn resolve(self, environment: &dyn Fn(&str) -> Option<String>) -> Result<settings::Oidc, Problem> {
        issuers::check_url(&self.issuer)?;
        let id = self.client_id.get_ref();
        if id.is_empty() || !is_printable(id) {
            let what = "`client_id` is what the provider calls this node; it is made where clients are registered there";
            return Err(Problem::at(self.client_id.span(), what));
        }
        Ok(settings::Oidc {
            client_secret: client_secret(self.client_secret_file.as_ref(), environment)?,
            scopes: scopes(&self.scopes)?,
            algorithms: issuers::algorithms(self.algorithms)?,
            operators: self.operators.into_iter().map(operator).collect::<Result<_, _>>()?,
            issuer: self.issuer.into_inner(),
            client_id: self.client_id.into_inner(),
        })
    }
}

/// What RFC 6749 has in an id or a secret of a client (appendix A.1 and A.2).
fn is_printable(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// The secret of the environment, else that of the file. What is wrong is said without repeating it.
fn client_secret(
    file: Option<&Spanned<PathBuf>>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<ClientSecret>, Problem> {
    if let Some(text) = environment(SECRET) {
        return read_secret(&text).map(Some).map_err(|what| Problem::new(format!("{SECRET} {what}")));
    }
    let Some(file) = file else { return Ok(None) };
    let read = |path: &Path| {
        let text = std::fs::read_to_string(path).map_err(|why| format!("cannot be read: {why}"))?;
        read_secret(&text)
    };
    let wrong = |what| Problem::at(file.span(), format!("the file {} {what}", file.get_ref().display()));
    read(file.get_ref()).map(Some).map_err(wrong)
}

fn read_secret(text: &str) -> Result<ClientSecret, String> {
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() || text.len() > SECRET_BYTES || !is_printable(text) {
        return Err("holds no client secret: one line of ASCII, as the provider shows it".to_owned());
    }
    Ok(ClientSecret::new(text))
}

fn scopes(said: &[Spanned<String>]) -> Result<Vec<String>, Problem> {
    let mut all = vec![OPENID.to_owned()];
    for scope in said {
        let text = scope.get_ref();
        if text.is_empty()
            || !text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'))
        {
            let what = format!("`{text}` is no scope; write for example scopes = [\"openid\", \"email\"]");
            return Err(Problem::at(scope.span(), what));
        }
        if !all.contains(text) {
            all.push(text.clone());
        }
    }
    Ok(all)
}

fn operator(rule: Spanned<Operator>) -> Result<Claim, Problem> {
    let at = rule.span();
    let Operator { claim, equals, contains, one_of } = rule.into_inner();
    issuers::claim(at, claim, (equals, contains, one_of))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, secret: Option<&str>) -> Result<settings::Oidc, String> {
        let console: Console = toml::from_str(text).unwrap();
        let environment = |name: &str| secret.filter(|_| name == SECRET).map(str::to_owned);
        let resolved = console.resolve(Some("https://agents.example.com"), &environment);
        resolved.map(|console| *console.oidc.unwrap()).map_err(|problem| problem.what)
    }

    const LEAST: &str = "[oidc]\nissuer = \"https://id.example.com\"\nclient_id = \"baton\"\n";

    #[test]
    fn by_default_nobody_is_an_operator() {
        let oidc = read(LEAST, None).unwrap();
        assert_eq!(
            (oidc.client_secret, oidc.operators, oidc.scopes),
            (None, vec![], vec![OPENID.to_owned()])
        );
    }

    #[test]
    fn a_secret_comes_from_a_file_or_the_environment_and_is_never_repeated() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "of a file\n").unwrap();
        let text = format!("{LEAST}client_secret_file = {:?}\n", file.path());
        let of_file = read(&text, None).unwrap();
        assert_eq!(of_file.client_secret, Some(ClientSecret::new("of a file")));
        assert!(!format!("{of_file:?}").contains("of a file"));
        let given = read(&text, Some("given")).unwrap().client_secret.unwrap();
        assert_eq!((given.reveal(), format!("{given:?}").as_str()), ("given", "[redacted]"));
        std::fs::write(file.path(), "two\nlines").unwrap();
        for why in [read(&text, None).unwrap_err(), read(LEAST, Some("sécret")).unwrap_err()] {
            assert!(
                why.contains("one line of ASCII") && !why.contains("two") && !why.contains("cret\u{e9}"),
                "{why}"
            );
        }
    }

    #[test]
    fn scopes_have_openid_among_them_once() {
        let text = format!("{LEAST}scopes = [\"email\", \"openid\", \"email\"]\n");
        assert_eq!(read(&text, None).unwrap().scopes, ["openid", "email"]);
    }

    #[test]
    fn people_are_sent_back_in_no_clear_text() {
        for url in ["https://a.example", "http://127.0.0.1:8420", "http://[::1]:1", "http://localhost:8420"] {
            assert_eq!(check_way_back(Some(url)), Ok(()), "{url}");
        }
        for url in ["http://a.example", "http://10.0.0.1", "http://localhost.example"] {
            assert!(check_way_back(Some(url)).unwrap_err().contains("clear text"), "{url}");
        }
    }
}

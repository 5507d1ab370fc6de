//! A client asks for access in an operator's browser (RFC 6749 §4.1, with PKCE), and the operator decides.
//!
//! Nobody is sent anywhere before a person has pressed something: whoever makes up a link to this node makes a page of it, and
//! no redirect.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use baton_core::limits::OAUTH_CODE_LIFE;
use baton_store::{Actor, Error as StoreError, GrantOf, NewApproval, NewGrant, Verb};
use tracing::info;
use url::form_urlencoded;

use super::super::grants::{Draft, WantedGrant, known_verb};
use super::super::{Error, Service};
use super::clients::{Client, NoClient, is_document};
use super::redirect::{self, Leads};
use crate::access::{Resource, Secret};
use crate::clock::new_id;

/// Bytes of a request's query.
pub const QUERY: usize = 8 * 1024;

/// What is asked for where a client does not say.
const ASKED: [Verb; 3] = [Verb::Send, Verb::Read, Verb::Cancel];

/// Characters of a client's name in the label of its grant.
const LABEL_NAME: usize = 60;

/// The parameters of a request, as they were sent.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    client: String,
    redirect: String,
    response_type: String,
    response_mode: String,
    challenge: String,
    method: String,
    state: Option<String>,
    scope: String,
    resource: String,
    is_other: bool,
}

/// A request that an operator can decide on.
#[derive(Clone, Debug)]
pub struct Request {
    pub client: Client,
    pub redirect: String,
    pub leads: Leads,
    pub resource: Resource,
    /// What it would like to do.
    pub verbs: Vec<Verb>,
    challenge: [u8; 32],
    state: Option<String>,
}

/// Why there is nothing to decide on.
#[derive(Debug)]
pub enum Wrong {
    /// Nobody is sent anywhere: it is not known who asks, or the place is not the client's.
    Person(String),
    /// The client made a mistake, and hears of it there when the person goes back.
    Client {
        what: String,
        leads: Leads,
        back: String,
    },
    Failed(Error),
}

/// What an operator gives a client.
#[derive(Clone, Debug)]
pub enum Chosen {
    /// A grant of its own.
    New(WantedGrant),
    /// One that there is, by its id, for these verbs of it.
    Known { id: String, verbs: Vec<String> },
}

impl Asked {
    /// Reads a query. A parameter that is there twice is none (§3.1); what is not known here is not looked at.
    pub fn read(query: &str) -> Result<Self, Wrong> {
        if query.len() > QUERY {
            return Err(Wrong::Person("The link is longer than any client needs".to_owned()));
        }
        let mut asked = Self::default();
        let mut seen = Vec::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let place = match &*name {
                "client_id" => &mut asked.client,
                "redirect_uri" => &mut asked.redirect,
                "response_type" => &mut asked.response_type,
                "response_mode" => &mut asked.response_mode,
                "code_challenge" => &mut asked.challenge,
                "code_challenge_method" => &mut asked.method,
                "state" => asked.state.get_or_insert_default(),
                "scope" => &mut asked.scope,
                "resource" => &mut asked.resource,
                "request" | "request_uri" => {
                    asked.is_other = true;
                    continue;
                }
                _ => continue,
            };
            if seen.contains(&name) {
                return Err(Wrong::Person(format!("The link says `{name}` twice")));
            }
            *place = value.into_owned();
            seen.push(name);
        }
        for (name, value) in [("client_id", &asked.client), ("redirect_uri", &asked.redirect)] {
            if value.is_empty() {
                return Err(Wrong::Person(format!("The link does not say `{name}`")));
            }
        }
        Ok(asked)
    }

    /// Whether the client is known by what stands at a URL, which nobody fetches for a stranger.
    pub fn is_of_document(&self) -> bool {
        is_document(&self.client)
    }
}

impl Service {
    /// Checks a request. Where the client is known by a document, that is fetched: ask for an operator only.
    pub async fn check_authorization(&self, asked: &Asked) -> Result<Request, Wrong> {
        let client = self.load_oauth_client(&asked.client).await.map_err(unknown)?;
        let url = redirect::read(&asked.redirect);
        let url = url.map_err(|why| {
            Wrong::Person(format!("The address where the client wants you to be sent {why}"))
        })?;
        if !redirect::is_one_of(&client.redirects, &asked.redirect) {
            return Err(Wrong::Person(
                "The address where the client wants you to be sent is none of those that it has told before"
                    .to_owned(),
            ));
        }
        let leads = redirect::leads(&url);
        match self.read_rest(asked) {
            Ok((challenge, resource)) => Ok(Request {
                client,
                redirect: asked.redirect.clone(),
                leads,
                resource,
                verbs: wished(&asked.scope),
                challenge,
                state: asked.state.clone(),
            }),
            Err((error, what)) => {
                let pairs = [("error", error), ("error_description", what)];
                let back = self.answer(&asked.redirect, asked.state.as_deref(), &pairs);
                Err(Wrong::Client { what: what.to_owned(), leads, back })
            }
        }
    }

    /// What the client may get wrong and then hears of.
    fn read_rest(&self, asked: &Asked) -> Result<([u8; 32], Resource), (&'static str, &'static str)> {
        if asked.is_other {
            return Err(("request_not_supported", "request and request_uri are not taken here"));
        }
        if asked.response_type != "code" {
            return Err(("unsupported_response_type", "The response_type must be code"));
        }
        if !matches!(&*asked.response_mode, "" | "query") {
            return Err(("invalid_request", "The response_mode must be query"));
        }
        if asked.challenge.is_empty() {
            return Err(("invalid_request", "A code_challenge is required (PKCE)"));
        }
        if asked.method != "S256" {
            return Err(("invalid_request", "The code_challenge_method must be S256"));
        }
        let challenge = BASE64_URL_SAFE_NO_PAD.decode(&asked.challenge).ok();
        let challenge = challenge.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let challenge =
            challenge.ok_or(("invalid_request", "The code_challenge is no SHA-256 in base64url"))?;
        let resource = match &*asked.resource {
            "" => Some(Resource::Node),
            url => self.site.resource(url),
        };
        Ok((challenge, resource.ok_or(("invalid_target", "The resource is not of this node"))?))
    }

    /// Allows a client what the operator chose; answers where the browser goes with the code.
    pub async fn allow_client(&self, request: &Request, chosen: Chosen, by: &Actor) -> Result<String, Error> {
        let now = self.now();
        let (grant, verbs) = self.chosen_grant(chosen, by).await?;
        let code = Secret::random();
        let new = NewApproval {
            id: new_id().to_string(),
            grant,
            client: request.client.id.clone(),
            name: request.client.name.clone(),
            redirect: request.redirect.clone(),
            resource: request.resource.path(),
            verbs,
            code: Secret::digest(code.reveal()),
            challenge: request.challenge,
            until: now.after(OAUTH_CODE_LIFE),
            by: by.clone(),
            now,
        };
        let approval = self.store.create_approval(new).await.map_err(|why| match why {
            StoreError::NotFound => Error::GrantNotFound,
            StoreError::Barred(_) => {
                Error::Unsupported("the grant is over: choose another, or make a new one")
            }
            why => why.into(),
        })?;
        // Another client of the grant may have made room.
        self.ring();
        info!(approval.id = %approval.id, grant.id = %approval.grant, "an operator allowed a client access");
        Ok(self.answer(&request.redirect, request.state.as_deref(), &[("code", code.reveal())]))
    }

    /// Tells that an operator refused; answers where the browser goes with that.
    pub async fn deny_client(&self, request: &Request, by: &Actor) -> String {
        self.tell_audit(by, ("oauth.deny", &request.client.id)).await;
        let pairs = [("error", "access_denied"), ("error_description", "The operator refused")];
        self.answer(&request.redirect, request.state.as_deref(), &pairs)
    }

    async fn chosen_grant(&self, chosen: Chosen, by: &Actor) -> Result<(GrantOf, Vec<Verb>), Error> {
        match chosen {
            Chosen::New(wanted) => {
                let Draft { label, agents, verbs, limits, expires_at } = self.draft_grant(wanted)?;
                let allowed = verbs.clone();
                let (id, by, now) = (new_id().to_string(), by.clone(), self.now());
                let grant =
                    NewGrant { id, label, agents, verbs, limits, expires_at, credential: None, by, now };
                Ok((GrantOf::New(Box::new(grant)), allowed))
            }
            Chosen::Known { id, verbs } => {
                let record = self.store.find_grant(&id).await?.ok_or(Error::GrantNotFound)?;
                let mut allowed = Vec::new();
                for verb in &verbs {
                    let verb = known_verb(verb).map_err(|what| Error::invalid("verbs", what))?;
                    if record.grant.verbs.contains(&verb) && !allowed.contains(&verb) {
                        allowed.push(verb);
                    }
                }
                if allowed.is_empty() {
                    return Err(Error::invalid(
                        "verbs",
                        "has nothing in it that this grant allows: tick at least one of its verbs",
                    ));
                }
                Ok((GrantOf::Known(id), allowed))
            }
        }
    }

    /// The client's address with an answer, what it asked to be repeated, and whose answer it is (RFC 9207).
    fn answer(&self, to: &str, state: Option<&str>, pairs: &[(&str, &str)]) -> String {
        let mut all = pairs.to_vec();
        all.extend(state.map(|state| ("state", state)));
        all.push(("iss", &self.site.base));
        redirect::answered(to, &all)
    }
}

/// What a grant for a client is called where nobody says otherwise.
pub fn label_of(request: &Request) -> String {
    let plain = |c: &char| !crate::plain::is_harmful(*c) && !c.is_control();
    let name: String = request.client.name.chars().filter(plain).take(LABEL_NAME).collect();
    let kind = if request.resource == Resource::Mcp { "MCP" } else { "OAuth" };
    format!("{kind}: {name}")
}

/// The verbs of a scope; words that are none are left out, since a person decides.
fn wished(scope: &str) -> Vec<Verb> {
    let mut verbs: Vec<Verb> = scope.split(' ').filter_map(Verb::parse).collect();
    verbs.sort_unstable();
    verbs.dedup();
    if scope.is_empty() { ASKED.to_vec() } else { verbs }
}

fn unknown(why: NoClient) -> Wrong {
    match why {
        NoClient::Unknown => Wrong::Person(
            "This node does not know the client: it never registered here, or so long ago that it is forgotten. Remove \
             this node from the client and add it again, so that it registers anew"
                .to_owned(),
        ),
        NoClient::Document(why) => {
            Wrong::Person(format!("What the client says of itself cannot be used: {why}"))
        }
        NoClient::Failed(why) => Wrong::Failed(why),
    }
}

//! How callers say who they are, as a card has it: each way that works at this node's listeners, and no other.

use std::collections::BTreeMap;

use baton_core::model::{
    HttpAuthSecurityScheme, MutualTlsSecurityScheme, OAuth2SecurityScheme, OAuthFlows,
    OpenIdConnectSecurityScheme, SecurityRequirement, SecurityScheme, StringList, TokenOAuthFlow,
};
use baton_store::Verb;

use super::{Site, Ways};

type Schemes = BTreeMap<String, SecurityScheme>;

/// The schemes, and that any one of them is enough.
pub fn of(site: &Site) -> (Schemes, Vec<SecurityRequirement>) {
    let all = all(site);
    let requirements = all.iter().map(|(name, _)| requirement(name)).collect();
    (all.into_iter().collect(), requirements)
}

/// In the order in which a client should think of them.
fn all(site: &Site) -> Vec<(String, SecurityScheme)> {
    // Clients that ask an operator in a browser know of that by the node's metadata.
    let Ways { tokens, client_credentials, issuers, certificates, authorization_code: _, registration: _ } =
        &site.ways;
    let mut all = Vec::new();
    if *tokens {
        let scheme = HttpAuthSecurityScheme { scheme: "bearer".to_owned(), ..Default::default() };
        all.push(("bearer".to_owned(), SecurityScheme::Http(scheme)));
    }
    if client_credentials.is_some() {
        let scopes = Verb::ALL.map(|verb| (verb.as_str().to_owned(), meaning(verb).to_owned()));
        let flow =
            TokenOAuthFlow { token_url: site.token_endpoint(), scopes: scopes.into(), ..Default::default() };
        let scheme =
            OAuth2SecurityScheme { flows: OAuthFlows::ClientCredentials(flow), ..Default::default() };
        all.push(("oauth2".to_owned(), SecurityScheme::OAuth2(scheme)));
    }
    for (at, issuer) in issuers.iter().enumerate() {
        let name = if at == 0 { "openid".to_owned() } else { format!("openid-{}", at + 1) };
        let scheme = OpenIdConnectSecurityScheme {
            open_id_connect_url: issuer.discovery.clone(),
            ..Default::default()
        };
        all.push((name, SecurityScheme::OpenIdConnect(scheme)));
    }
    if *certificates {
        // Without a text it would be an empty member, which implementations drop or keep as they like.
        let description = Some("A client certificate of an authority that this node takes".to_owned());
        all.push(("mtls".to_owned(), SecurityScheme::MutualTls(MutualTlsSecurityScheme { description })));
    }
    all
}

/// The verb that every caller needs stands where a scope stands, since a requirement without scopes is an empty member,
/// which implementations drop or keep as they like, and signatures break on.
fn requirement(name: &str) -> SecurityRequirement {
    let verbs = StringList { list: vec![Verb::Send.as_str().to_owned()] };
    SecurityRequirement { schemes: BTreeMap::from([(name.to_owned(), verbs)]) }
}

const fn meaning(verb: Verb) -> &'static str {
    match verb {
        Verb::Send => "Hand in tasks, and answer what is asked about them",
        Verb::Read => "See one's own tasks, and follow them",
        Verb::Cancel => "Cancel one's own tasks",
        Verb::Push => "Have updates of one's own tasks sent to a URL",
        Verb::Work => "Claim the agent's work and finish it",
        Verb::ExtendedCard => "Read the extended card",
    }
}

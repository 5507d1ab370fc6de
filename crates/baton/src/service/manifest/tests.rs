//! Cards as they follow from a manifest.

use baton_core::model::AgentExtension;

use super::*;
use crate::access::Origin;
use crate::config::settings;

fn site(base: &str, dev: bool) -> Site {
    let served = |binding, version, address| Served { binding, version, address };
    Site {
        base: base.to_owned(),
        dev,
        ways: Ways {
            tokens: true,
            client_credentials: Some(Duration::from_hours(1)),
            authorization_code: Some(Duration::from_hours(1)),
            registration: true,
            issuers: Vec::new(),
            certificates: false,
        },
        served: vec![
            served("JSONRPC", "1.0", Address::Agent),
            served("GRPC", "1.0", Address::Authority),
            served("JSONRPC", "0.3", Address::Agent),
        ],
        environment: Environment { node: "host".to_owned(), os: "linux".to_owned() },
    }
}

fn skill(id: &str, to: Audience) -> Skill {
    let card = AgentSkill {
        id: id.to_owned(),
        name: id.to_uppercase(),
        description: format!("Does {id}"),
        tags: vec!["x".to_owned()],
        ..AgentSkill::default()
    };
    Skill { card, to }
}

fn agent() -> Agent {
    let mut agent = crate::config::echo();
    agent.extended_card = true;
    agent.skills = vec![
        skill("all", Audience::Everyone),
        skill("more", Audience::Extended),
        skill("ada", Audience::Grants(vec!["Ada".to_owned()])),
    ];
    agent
}

fn ids(card: &AgentCard) -> Vec<&str> {
    card.skills.iter().map(|skill| skill.id.as_str()).collect()
}

#[test]
fn skills_are_shown_by_who_looks() {
    let manifest = Manifest::of(&agent(), &site("http://h:1", false), true);
    assert_eq!(ids(&manifest.card(Viewer::Anybody)), ["all"]);
    let local = Caller::local(Origin::Unix);
    assert_eq!(ids(&manifest.card(Viewer::Caller(&local))), ["all", "more", "ada"]);
    let mut hidden = agent();
    hidden.skills.remove(0);
    let shown = Manifest::of(&hidden, &site("http://h:1", false), true).card(Viewer::Anybody);
    assert_eq!(ids(&shown), ["echo"], "a card has one skill at least, and none that is not for everyone");
}

#[test]
fn interfaces_are_those_that_are_served() {
    let url = "https://agents.example.com/a2a/echo";
    let below = "https://agents.example.com/base/a2a/echo";
    let shown = |base| {
        let manifest = Manifest::of(&agent(), &site(base, false), true);
        assert!([url, below].contains(&&*manifest.legacy_interfaces()[0].url));
        let shown = manifest.card(Viewer::Anybody).supported_interfaces;
        shown.into_iter().map(|i| (i.url, i.tenant.unwrap_or_default())).collect::<Vec<_>>()
    };
    let of = |url: &str, tenant: &str| (url.to_owned(), tenant.to_owned());
    assert_eq!(shown("https://agents.example.com"), [of(url, ""), of("agents.example.com:443", "echo")]);
    // The paths of gRPC are fixed: there is none below another.
    assert_eq!(shown("https://agents.example.com/base"), [of(below, "")]);
    let mut only_v1 = agent();
    only_v1.card.compat = settings::Compat::V1;
    assert_eq!(Manifest::of(&only_v1, &site("http://h", false), true).legacy_interfaces(), []);
}

#[test]
fn an_authority_has_its_port() {
    for (url, expected) in [
        ("http://h", "h:80"),
        ("https://h/x", "h:443"),
        ("http://127.0.0.1:8420", "127.0.0.1:8420"),
        ("http://[::1]", "[::1]:80"),
        ("https://[::1]:9/x", "[::1]:9"),
    ] {
        assert_eq!(authority(url), expected, "{url}");
    }
}

#[test]
fn where_it_runs_is_said_only_where_it_is_asked_for() {
    let named = |agent: &Agent| {
        let card = Manifest::of(agent, &site("http://h", true), true).card(Viewer::Anybody);
        serde_json::to_string(&card).unwrap().contains("\"host\"")
    };
    let mut agent = agent();
    assert!(!named(&agent));
    agent.card.environment = true;
    assert!(named(&agent));
}

#[test]
fn declared_extensions_stand_beside_the_nodes_own() {
    let mut agent = agent();
    agent.extensions =
        vec![AgentExtension { uri: "urn:x:y".to_owned(), required: true, ..AgentExtension::default() }];
    let card = Manifest::of(&agent, &site("http://h", true), true).card(Viewer::Anybody);
    let uris: Vec<_> = card.capabilities.extensions.iter().map(|e| (e.uri.as_str(), e.required)).collect();
    assert_eq!(uris, [(IDEMPOTENT_SEND, false), (FRIEND_REQUEST, false), ("urn:x:y", true)]);
    assert!(card.security_schemes.is_empty(), "dev mode needs no credentials");
}

#[test]
fn security_is_what_works() {
    let schemes = |change: fn(&mut Ways)| {
        let mut site = site("https://agents.example.com/base", false);
        change(&mut site.ways);
        let card = Manifest::of(&agent(), &site, true).card(Viewer::Anybody);
        let required = card.security_requirements.iter().flat_map(|one| one.schemes.keys());
        let required: std::collections::BTreeSet<_> = required.collect();
        assert!(required.iter().copied().eq(card.security_schemes.keys()), "each alone is enough");
        pretty(&card.security_schemes)
    };
    let every = schemes(|ways| {
        ways.certificates = true;
        ways.issuers = ["https://id.example.com", "https://other.example.com"]
            .map(|url| Trusted {
                url: url.to_owned(),
                discovery: format!("{url}/.well-known/openid-configuration"),
            })
            .to_vec();
    });
    insta::assert_snapshot!("every_way", every);
    let one = |change: fn(&mut Ways)| {
        let text = schemes(change);
        let schemes: serde_json::Value = serde_json::from_str(&text).unwrap();
        schemes.as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(one(|_| {}), ["bearer", "oauth2"]);
    assert_eq!(one(|ways| ways.tokens = false), ["oauth2"]);
    assert_eq!(one(|ways| ways.client_credentials = None), ["bearer"]);
}

#[test]
fn metadata_is_before_the_path() {
    for (base, expected) in [
        ("https://h", "https://h/.well-known/oauth-protected-resource/a2a/x"),
        ("https://h:1/base", "https://h:1/.well-known/oauth-protected-resource/base/a2a/x"),
    ] {
        assert_eq!(site(base, false).resource_metadata("/a2a/x"), expected);
    }
}

#[test]
fn a_whole_card_and_its_manifest() {
    let mut agent = agent();
    agent.title = "Zoë's echo".to_owned();
    agent.provider =
        Some(AgentProvider { url: "https://example.com".into(), organization: "Example".into() });
    agent.documentation_url = Some("https://example.com/docs".to_owned());
    agent.icon_url = Some("https://example.com/icon.png".to_owned());
    agent.card.environment = true;
    let manifest = Manifest::of(&agent, &site("https://agents.example.com", false), true);
    insta::assert_snapshot!("card", pretty(&manifest.card(Viewer::Anybody)));
    insta::assert_snapshot!("manifest", pretty(&manifest));
}

/// By way of plain text, as JSON that is carried stands in a snapshot as it is sent.
fn pretty(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).unwrap();
    serde_json::to_string_pretty(&serde_json::from_str::<serde_json::Value>(&text).unwrap()).unwrap()
}

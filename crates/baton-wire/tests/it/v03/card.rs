//! One card for the clients of both versions.

use baton_core::model::{AgentCard, AgentInterface};
use baton_wire::response::encode;
use baton_wire::v03::card::Card;

fn card() -> AgentCard {
    serde_json::from_str(
        r#"{
        "name": "Reviewer", "description": "Reviews", "version": "3",
        "supportedInterfaces": [
            {"url": "https://example.com/a2a/r", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        "capabilities": {"streaming": true, "extendedAgentCard": true},
        "securitySchemes": {
            "bearer": {"httpAuthSecurityScheme": {"scheme": "bearer", "description": "a grant"}},
            "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
            "oauth": {"oauth2SecurityScheme": {"flows": {"clientCredentials": {"tokenUrl": "https://t", "scopes": {"a": "b"}}}}},
            "oidc": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://o"}},
            "tls": {"mtlsSecurityScheme": {}}
        },
        "securityRequirements": [{"schemes": {"bearer": {"list": []}, "oauth": {"list": ["a"]}}}],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "S", "description": "does", "tags": ["t"],
            "securityRequirements": [{"schemes": {"oauth": {"list": ["a"]}}}]}]
    }"#,
    )
    .unwrap()
}

fn interface(binding: &str) -> AgentInterface {
    let url = format!("https://example.com/a2a/r?{binding}");
    AgentInterface { url, protocol_binding: binding.to_owned(), ..AgentInterface::default() }
}

#[test]
fn both_shapes_in_one_object() {
    let interfaces = ["JSONRPC", "HTTP+JSON"].map(interface);
    let card = card();
    let both = encode(&Card { card: &card, interfaces: &interfaces });
    let both: serde_json::Value = serde_json::from_slice(&both).unwrap();
    insta::assert_json_snapshot!(both);
    // Who reads 1.0 finds what was there before, all of it.
    let mut read: AgentCard = serde_json::from_value(both).unwrap();
    read.security_schemes.clone_from(&card.security_schemes);
    assert_eq!(read, card);
}

#[test]
fn a_card_without_an_interface_of_0_3_is_one_of_1_0() {
    assert_eq!(encode(&Card { card: &card(), interfaces: &[] }), encode(&card()));
}

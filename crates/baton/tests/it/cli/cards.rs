//! `baton card` and `baton agents show`, against a real node and against files.

use std::fs;

use serde_json::{Value, json};

use super::Desk;
use super::node::Node;

const CARD: &str = r#"{"name":"Zoë 🗺️","description":"","version":"1","x":[1.0],
    "capabilities":{"extensions":[{"uri":"urn:x","required":false}]},"supportedInterfaces":[],
    "defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[]}"#;

async fn node() -> Node {
    let desk = Desk::new();
    let file = "[node]\ndev = true\nlisten = [\"http://127.0.0.1:0\"]\n\
                [agents.echo]\npublish = true\nrunner = { kind = \"echo\" }\n\
                skills = [{ id = \"a\", name = \"A\", description = \"d\", tags = [\"t\"] },\
                { id = \"b\", name = \"B\", description = \"d\", tags = [\"t\"], grants = [\"Ada\"] }]\n";
    fs::write(desk.path().join("baton.toml"), file).unwrap();
    Node::start(desk, &[]).await
}

#[tokio::test]
async fn a_nodes_cards_are_verified_with_its_keys_and_no_others() {
    let node = node().await;
    let (desk, url) = (&node.desk, node.url("echo"));
    let unsigned = desk.run(&["card", "verify", &url, "--jwks", "none.json"]).await;
    assert_eq!((unsigned.code, unsigned.out.as_str()), (2, ""), "{unsigned:?}");
    assert_eq!(desk.run(&["card", "sign", "echo"]).await.code, 1, "there is no key");

    assert_eq!(desk.run(&["card", "keys", "new", "--kid", "one"]).await.ok(), "one\n");
    desk.run(&["card", "keys", "new", "--alg", "EdDSA", "--kid", "two"]).await.ok();
    let listed = desk.run(&["card", "keys", "list", "--json"]).await.json();
    let kids: Vec<_> = listed["keys"].as_array().unwrap().iter().map(|key| key["kid"].clone()).collect();
    assert_eq!(kids, ["one", "two"]);

    let jwks = format!("{}/.well-known/jwks.json", url.trim_end_matches("/a2a/echo"));
    let verified = desk.run(&["card", "verify", &url, "--jwks", &jwks]).await;
    assert_eq!(verified.code, 0, "{verified:?}");
    assert!(verified.out.contains("ES256 by one: covers") && verified.out.contains("EdDSA by two: covers"));
    fs::write(desk.path().join("one.json"), listed["keys"][0]["jwk"].to_string()).unwrap();
    let result = desk.run(&["card", "verify", &url, "--key", "one.json", "--json"]).await.json();
    assert_eq!(result["verified"], true);
    let problems = result["signatures"].as_array().unwrap().iter().filter(|s| s.get("problem").is_some());
    assert!(problems.count() > 0, "{result}");

    let signed = desk.run(&["card", "sign", "echo"]).await.json();
    assert!(signed["signatures"].as_array().is_some_and(|all| all.len() >= 2), "{signed}");
    desk.run(&["card", "keys", "retire", "one"]).await.ok();
    let gone = desk.run(&["card", "verify", &url, "--key", "one.json"]).await;
    assert_eq!(gone.code, 1, "{gone:?}");
    assert_eq!(desk.run(&["card", "keys", "retire", "one"]).await.code, 3);
    node.stop().await;
}

#[tokio::test]
async fn the_manifest_is_shown() {
    let node = node().await;
    let shown = node.desk.run(&["agents", "show", "echo"]).await.ok();
    assert!(
        shown.contains("extended card: on") && shown.contains("skill b: B (extended card of Ada)"),
        "{shown}"
    );
    let json = node.desk.run(&["agents", "show", "echo", "--json"]).await.json();
    assert_eq!((&json["name"], &json["runner"]), (&json!("echo"), &json!("echo")));
    assert_eq!(node.desk.run(&["agents", "show", "none"]).await.code, 3);
    assert_eq!(node.desk.run(&["agents", "list"]).await.ok(), node.desk.run(&["agents"]).await.ok());
    node.stop().await;
}

#[tokio::test]
async fn a_file_is_signed_and_verified() {
    let desk = Desk::new();
    let key = baton::keys::SecretKey::generate(baton::keys::Algorithm::EdDsa).unwrap();
    fs::write(desk.path().join("key.pem"), key.to_pem()).unwrap();
    fs::write(desk.path().join("card.json"), CARD).unwrap();
    let signed = desk.run(&["card", "sign", "card.json", "--key", "key.pem", "--kid", "k"]).await.ok();
    assert!(signed.starts_with(r#"{"name":"Zoë 🗺️","description":"","version":"1","x":[1.0],"#), "{signed}");
    fs::write(desk.path().join("signed.json"), &signed).unwrap();
    let verified = desk.run(&["card", "verify", "signed.json", "--key", "key.pem"]).await;
    assert_eq!(verified.code, 0, "{verified:?}");
    assert!(verified.out.contains("EdDSA by k: covers the whole card"), "{verified:?}");
    // Signing what is signed gives the same.
    let again = desk.run(&["card", "sign", "signed.json", "--key", "key.pem", "--kid", "k"]).await.ok();
    assert_eq!(again, signed);

    let forged = signed.replace("Zoë", "Zoe");
    let refused = desk.run_with(&forged, &["card", "verify", "-", "--key", "key.pem"]).await;
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.out.contains("proves nothing"), "{refused:?}");
    let unsigned = desk.run(&["card", "verify", "card.json", "--key", "key.pem"]).await;
    assert!(unsigned.code == 1 && unsigned.err.contains("not signed"), "{unsigned:?}");
}

#[tokio::test]
async fn whom_to_trust_is_the_users_to_say() {
    let desk = Desk::new();
    fs::write(desk.path().join("card.json"), CARD).unwrap();
    fs::write(desk.path().join("secret.json"), r#"{"kty":"oct","k":"AAAA"}"#).unwrap();
    for (args, said) in [
        (vec!["card", "verify", "card.json"], "jku"),
        (vec!["card", "verify", "card.json", "--key", "secret.json"], "shared secret"),
        (vec!["card", "verify", "card.json", "--key", "card.json"], "neither"),
        (vec!["card", "verify", "card.json", "--key", "none"], "cannot read none"),
        (vec!["card", "sign", "card.json", "--key", "card.json"], "PKCS#8"),
    ] {
        let ended = desk.run(&args).await;
        assert!(ended.code == 2 && ended.err.contains(said), "{args:?}: {ended:?}");
    }
    let no_key: Value = json!(desk.run(&["card", "sign", "card.json"]).await.code);
    assert_eq!(no_key, 1);
}

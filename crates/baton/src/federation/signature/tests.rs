//! Signing and verifying (report 20), each against the other and against what is forged.

use serde_json::{Value, json};

use super::*;
use crate::keys::{Jwks, PublicKey};

fn secret() -> SecretKey {
    SecretKey::generate(Algorithm::EdDsa).unwrap()
}

fn jwk(kid: Option<&str>, key: PublicKey) -> Jwk {
    Jwk { kid: kid.map(str::to_owned), algorithm: None, key }
}

/// A card with everything that has broken a verifier somewhere.
fn odd_card() -> Value {
    json!({
        "name": "Zoë's 🗺️ agent",
        "description": "",
        "supportedInterfaces": [{"url": "https://h/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "version": "1.0.0",
        "capabilities": {
            "streaming": false,
            "extensions": [{"uri": "urn:x", "required": false, "params": {"n": 3.0, "ü": "😀", "none": []}}],
        },
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "S", "description": "d", "tags": [], "examples": []}],
        "url": "https://h/a2a",
        "x-unknown": {"b": 1, "a": [null]},
    })
}

fn signed(card: &Value, key: &SecretKey) -> Value {
    let signatures = sign(&card.to_string(), "k", key, None).unwrap();
    let mut card = card.clone();
    card["signatures"] = serde_json::to_value(signatures).unwrap();
    card
}

fn proofs(card: &Value, key: &Jwk) -> Vec<Result<Form, Doubt>> {
    let verdicts = verify(&card.to_string(), std::slice::from_ref(key)).unwrap();
    verdicts.into_iter().map(|verdict| verdict.proof).collect()
}

#[test]
fn the_example_of_the_specification() {
    let card = r#"{"name":"Example Agent","description":"","capabilities":
        {"streaming":false,"pushNotifications":false,"extensions":[]},"skills":[]}"#;
    let v1 = Form::V1.of(card).unwrap();
    // The fragment lacks required members, which 1.0 would always have; what it has is spelled as there.
    for piece in [
        r#""capabilities":{"pushNotifications":false,"streaming":false},"#,
        r#""description":"","name":"Example Agent","skills":[]"#,
    ] {
        assert!(v1.contains(piece), "{v1}");
    }
}

#[test]
fn forms_of_an_odd_card() {
    let card = odd_card().to_string();
    insta::assert_snapshot!(Form::ALL.map(|form| form.of(&card).unwrap()).join("\n\n"));
}

#[test]
fn each_form_that_differs_is_signed() {
    let key = secret();
    let public = jwk(Some("k"), key.public());
    let odd = signed(&odd_card(), &key);
    assert_eq!(proofs(&odd, &public), [Ok(Form::V1), Ok(Form::Whole), Ok(Form::V1Terse)]);
    let plain = json!({
        "name": "n", "description": "d", "version": "1", "capabilities": {"streaming": true},
        "supportedInterfaces": [{"url": "https://h", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "S", "description": "d", "tags": ["t"]}],
    });
    assert_eq!(proofs(&signed(&plain, &key), &public), [Ok(Form::Whole)], "one form, one signature");
    let mut both = plain;
    both["url"] = "https://h".into();
    assert_eq!(proofs(&signed(&both, &key), &public), [Ok(Form::V1), Ok(Form::Whole)]);
}

#[test]
fn spelling_does_not_matter_and_content_does() {
    let key = secret();
    let public = jwk(Some("k"), key.public());
    let card = signed(&odd_card(), &key);
    let pretty = serde_json::to_string_pretty(&card).unwrap().replace("3.0", "3").replace('ë', "\\u00eb");
    assert!(
        verify(&pretty, std::slice::from_ref(&public)).unwrap().iter().all(|verdict| verdict.proof.is_ok())
    );
    let mut changed = card.clone();
    changed["name"] = "Mallory".into();
    assert_eq!(proofs(&changed, &public), [const { Err(Doubt::Mismatch) }; 3]);
    // What 1.0 does not know is covered by the signature over the whole only.
    let mut other_url = card.clone();
    other_url["url"] = "https://evil".into();
    assert_eq!(proofs(&other_url, &public), [Ok(Form::V1), Err(Doubt::Mismatch), Ok(Form::V1Terse)]);
    let mut added = card;
    added["capabilities"]["pushNotifications"] = false.into();
    assert_eq!(proofs(&added, &public), [const { Err(Doubt::Mismatch) }; 3]);
}

/// A card with one signature, whose header and bytes are the forger's.
fn forged(header: &Value, signature: &[u8]) -> Value {
    let mut card = odd_card();
    let protected = BASE64_URL_SAFE_NO_PAD.encode(header.to_string());
    card["signatures"] =
        json!([{"protected": protected, "signature": BASE64_URL_SAFE_NO_PAD.encode(signature)}]);
    card
}

#[test]
fn no_algorithm_but_a_keys_own_is_taken() {
    let key = secret();
    let public = jwk(Some("k"), key.public());
    for alg in ["none", "None", "HS256", "HS512", "ES384", "eddsa", ""] {
        let card = forged(&json!({"alg": alg, "kid": "k"}), b"");
        assert_eq!(proofs(&card, &public), [Err(Doubt::Algorithm)], "{alg}");
    }
    for alg in ["ES256", "RS256"] {
        let card = forged(&json!({"alg": alg, "kid": "k"}), &[0; 64]);
        assert_eq!(proofs(&card, &public), [Err(Doubt::WrongKind)], "{alg}");
    }
}

#[test]
fn a_jku_is_no_reason_to_trust() {
    let mallory = secret();
    let card = odd_card();
    let jku = "https://evil.example/jwks.json";
    let signatures = sign(&card.to_string(), "k", &mallory, Some(jku)).unwrap();
    let mut card = card;
    card["signatures"] = serde_json::to_value(signatures).unwrap();
    assert_eq!(proofs(&card, &jwk(Some("k"), secret().public())), [const { Err(Doubt::Mismatch) }; 3]);
    assert_eq!(proofs(&card, &jwk(Some("other"), secret().public())), [const { Err(Doubt::UnknownKey) }; 3]);
    // The same with an embedded key or an unprotected header that speaks for itself.
    let mut card = signed(&odd_card(), &mallory);
    card["signatures"][0]["header"] = json!({"kid": "other", "alg": "none"});
    assert_eq!(proofs(&card, &jwk(Some("other"), mallory.public()))[0], Err(Doubt::UnknownKey));
}

#[test]
fn a_key_without_a_name_answers_to_all() {
    let key = secret();
    let card = signed(&odd_card(), &key);
    assert!(proofs(&card, &jwk(None, key.public())).iter().all(Result::is_ok));
}

#[test]
fn what_cannot_be_read_proves_nothing() {
    let key = secret();
    let public = jwk(Some("k"), key.public());
    let good = signed(&odd_card(), &key);
    for (member, value) in
        [("protected", "!"), ("protected", ""), ("protected", "bnVsbA"), ("signature", "+/==")]
    {
        let mut card = good.clone();
        card["signatures"][0][member] = value.into();
        assert!(matches!(proofs(&card, &public)[0], Err(Doubt::Malformed(_))), "{member} {value}");
    }
    let crit = forged(&json!({"alg": "EdDSA", "kid": "k", "crit": ["b64"], "b64": false}), &[0; 64]);
    assert!(matches!(proofs(&crit, &public)[0], Err(Doubt::Malformed(_))));
    let empty = forged(&json!({"alg": "EdDSA", "kid": "k"}), b"");
    assert_eq!(proofs(&empty, &public), [Err(Doubt::Mismatch)]);
    assert!(
        verify(r#"{"name":"a","name":"b"}"#, std::slice::from_ref(&public)).is_err(),
        "two readers, two cards"
    );
    assert!(verify("[]", std::slice::from_ref(&public)).is_err());
    assert_eq!(verify(&odd_card().to_string(), &[public]).unwrap(), []);
}

/// Signed by `a2a-sdk` 1.3.0 (Python) and `@a2a-js/sdk` 1.3.0, with a key that was thrown away.
#[test]
fn what_the_official_libraries_sign_is_verified() {
    let keys = Jwks::parse(include_str!("foreign/public.pem")).unwrap().keys;
    for card in [include_str!("foreign/python.json"), include_str!("foreign/javascript.json")] {
        let verdicts = verify(card, &keys).unwrap();
        let proofs: Vec<_> = verdicts.into_iter().map(|verdict| verdict.proof).collect();
        assert_eq!(proofs, [Ok(Form::V1Terse)]);
        let forged = verify(&card.replace("Späße", "Spässe"), &keys).unwrap();
        assert_eq!(forged[0].proof, Err(Doubt::Mismatch));
    }
}

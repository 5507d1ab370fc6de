//! Keys on disk and in sets; vectors of the RFCs.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_000);

fn open(dir: &tempfile::TempDir) -> Keys {
    Keys::open(dir.path()).unwrap()
}

fn kids(keys: &Keys) -> Vec<String> {
    keys.jwks().keys.into_iter().map(|key| key.kid.unwrap()).collect()
}

#[test]
fn keys_are_kept_and_retired() {
    let dir = tempfile::tempdir().unwrap();
    let keys = open(&dir);
    assert_eq!(kids(&keys), [""; 0]);
    let made = keys.create(Purpose::Card, Algorithm::Es256, Some("a"), NOW).unwrap();
    keys.create(Purpose::Card, Algorithm::EdDsa, Some("b.2"), NOW).unwrap();
    let hook = keys.create(Purpose::Webhook, Algorithm::EdDsa, None, NOW).unwrap();
    assert!(hook.kid.starts_with("key-") && hook.kid.len() == 16, "{}", hook.kid);
    assert_eq!(kids(&keys), ["a", "b.2", &*hook.kid]);
    for name in ["keys/card/a.pem", "keys/card/b.2.pem"] {
        assert_eq!(fs::metadata(dir.path().join(name)).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(fs::metadata(dir.path().join("keys/card")).unwrap().permissions().mode() & 0o777, 0o700);

    let again = open(&dir);
    assert_eq!(kids(&again), ["a", "b.2", &*hook.kid]);
    assert_eq!(again.list(Purpose::Card)[0].secret.public(), made.secret.public());
    again.retire(Purpose::Card, "a", NOW).unwrap();
    assert!(matches!(again.retire(Purpose::Card, "a", NOW), Err(Error::Unknown(_))));
    assert!(matches!(again.retire(Purpose::Card, &hook.kid, NOW), Err(Error::Unknown(_))));
    assert_eq!(kids(&again), ["b.2", &*hook.kid]);
    assert_eq!(kids(&open(&dir)), ["b.2", &*hook.kid]);
}

#[test]
fn names_are_checked_and_not_taken_twice() {
    let dir = tempfile::tempdir().unwrap();
    let keys = open(&dir);
    for bad in ["", ".", "..", "a/b", "../a", "a b", "-x", "ä", &"a".repeat(65)] {
        let made = keys.create(Purpose::Card, Algorithm::EdDsa, Some(bad), NOW);
        assert!(matches!(made, Err(Error::Kid)), "{bad}");
    }
    keys.create(Purpose::Webhook, Algorithm::EdDsa, Some("a"), NOW).unwrap();
    let twice = keys.create(Purpose::Card, Algorithm::EdDsa, Some("a"), NOW);
    assert!(matches!(twice, Err(Error::Taken(_))));
    let rsa = keys.create(Purpose::Card, Algorithm::Rs256, None, NOW);
    assert!(matches!(rsa, Err(Error::Algorithm)));
    for _ in 0..8 {
        keys.create(Purpose::Card, Algorithm::EdDsa, None, NOW).unwrap();
    }
    assert!(matches!(keys.create(Purpose::Card, Algorithm::EdDsa, None, NOW), Err(Error::TooMany)));
}

#[test]
fn a_key_that_others_can_read_stops_the_node() {
    let dir = tempfile::tempdir().unwrap();
    open(&dir).create(Purpose::Card, Algorithm::EdDsa, Some("a"), NOW).unwrap();
    let path = dir.path().join("keys/card/a.pem");
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let why = Keys::open(dir.path()).unwrap_err().to_string();
    assert!(why.ends_with("keys/card/a.pem") && why.contains("chmod 600"), "{why}");
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    fs::write(dir.path().join("keys/card/b.new"), "half").unwrap();
    assert_eq!(kids(&open(&dir)), ["a"]);
    fs::write(&path, "nothing").unwrap();
    assert!(matches!(Keys::open(dir.path()), Err(Error::Unreadable { .. })));
}

#[test]
fn a_secret_is_never_shown() {
    let dir = tempfile::tempdir().unwrap();
    let key = open(&dir).create(Purpose::Card, Algorithm::EdDsa, Some("a"), NOW).unwrap();
    assert!(format!("{key:?}").contains("[redacted]"));
    let shown = serde_json::to_string(&key.jwk()).unwrap();
    assert!(!shown.contains("\"d\""), "{shown}");
}

#[test]
fn what_is_signed_is_verified_by_its_key_only() {
    for algorithm in [Algorithm::Es256, Algorithm::EdDsa] {
        let (key, other) = (SecretKey::generate(algorithm).unwrap(), SecretKey::generate(algorithm).unwrap());
        let read = SecretKey::from_pem(key.to_pem().as_bytes()).unwrap();
        let signature = read.sign(b"message");
        assert_eq!(signature.len(), 64);
        assert!(key.public().verifies(b"message", &signature));
        assert!(!key.public().verifies(b"Message", &signature));
        assert!(!other.public().verifies(b"message", &signature));
        assert!(!key.public().verifies(b"message", &signature[..63]));
        assert!(!key.public().verifies(b"message", &[0; 64]));
    }
}

#[test]
fn vectors_of_the_rfcs() {
    // RFC 8037, appendix A: a key, its thumbprint, and a signature.
    let jwk = r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
    let ed = Jwks::parse(jwk).unwrap().keys.remove(0);
    assert_eq!(Jwk::thumbprint(&ed.key), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    let signature =
        decode("hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg");
    assert!(ed.key.verifies(b"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc", &signature));
    // RFC 7515, appendix A.3: ES256.
    let jwk = r#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#;
    let ec = Jwks::parse(jwk).unwrap().keys.remove(0);
    let signature =
        decode("DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q");
    let message = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt\
                   cGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    assert!(ec.key.verifies(message.as_bytes(), &signature));
}

fn decode(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::prelude::BASE64_URL_SAFE_NO_PAD.decode(text).unwrap()
}

#[test]
fn sets_are_read_as_far_as_they_can_be_used() {
    let key = SecretKey::generate(Algorithm::Es256).unwrap();
    let jwk = Jwk { kid: Some("a".to_owned()), algorithm: Some(Algorithm::Es256), key: key.public() };
    let text = serde_json::to_string(&jwk).unwrap();
    assert_eq!(Jwks::parse(&text).unwrap().keys, std::slice::from_ref(&jwk));
    let others =
        r#"{"kty":"oct","k":"AAAA","kid":"s"},{"kty":"EC","crv":"P-521","x":"AA","y":"AA"},{"kty":"new"},7"#;
    let set = format!(r#"{{"keys":[{others},{text}],"more":1}}"#);
    assert_eq!(Jwks::parse(&set).unwrap().keys, [jwk]);
    for (text, why) in [
        (format!(r#"{{"keys":[{others}]}}"#), "no key in it"),
        (r#"{"kty":"oct","k":"AAAA"}"#.to_owned(), "shared secret"),
        (text.replace("\"sig\"", "\"enc\""), "no key in it"),
        (text.replace("\"ES256\"", "\"ECDH-ES\""), "no key in it"),
        ("{}".to_owned(), "neither"),
        ("-----BEGIN CERTIFICATE-----".to_owned(), "neither"),
    ] {
        let said = Jwks::parse(&text).unwrap_err().to_string();
        assert!(said.contains(why), "{text}: {said}");
    }
    // A private key's file verifies too: what is taken of it is its public half.
    assert_eq!(Jwks::parse(&key.to_pem()).unwrap().keys[0].key, key.public());
}

#[test]
fn a_key_is_for_the_algorithm_of_its_kind() {
    let key = SecretKey::generate(Algorithm::EdDsa).unwrap().public();
    let jwk = Jwk { kid: None, algorithm: None, key };
    assert!(jwk.allows(Algorithm::EdDsa) && !jwk.allows(Algorithm::Es256));
    let other = Jwk { algorithm: Some(Algorithm::Rs256), ..jwk };
    assert!(!other.allows(Algorithm::EdDsa));
}

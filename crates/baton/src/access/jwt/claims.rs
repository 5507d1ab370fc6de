//! What a verified token says: when it is good, and whose it is.

use std::time::Duration;

use baton_core::time::Timestamp;
use serde_json::{Map, Value};

use crate::config::settings::{Claim, ClaimTest};

/// How far an issuer's clock may be from ours.
const SKEW: Duration = Duration::from_secs(30);

/// Bytes of a subject: OpenID Connect has 255 at most (Core §2).
const SUBJECT_BYTES: usize = 255;

/// The claims of a token whose signature is good.
pub type Claims = Map<String, Value>;

/// Until when a token is good, where it is now. A time that is there must be one, and `exp` and `iat` must be there.
pub fn good_until(claims: &Claims, now: Timestamp) -> Option<Timestamp> {
    let at = |name: &str| claims.get(name).map(|time| time.as_f64().and_then(timestamp));
    let until = at("exp")??.after(SKEW);
    let issued = at("iat")??;
    let from = at("nbf").map_or(Some(issued), |from| Some(from?.max(issued)))?;
    (now < until && from <= now.after(SKEW)).then_some(until)
}

/// Seconds since the Unix epoch, as RFC 7519 §2 writes them.
fn timestamp(seconds: f64) -> Option<Timestamp> {
    // Past the year 5000, and before 1970, no token is meant.
    #[expect(clippy::cast_possible_truncation, reason = "checked to be small")]
    (0.0..1e11).contains(&seconds).then(|| Timestamp::from_millis((seconds * 1_000.0) as i64))
}

/// Who it is at its issuer.
pub fn subject(claims: &Claims) -> Option<&str> {
    let subject = claims.get("sub")?.as_str()?;
    let right = (1..=SUBJECT_BYTES).contains(&subject.len()) && !subject.chars().any(char::is_control);
    right.then_some(subject)
}

/// Whether claims say what is wanted.
pub fn is_meant(wanted: &Claim, claims: &Claims) -> bool {
    let Some((first, rest)) = wanted.path.split_first() else { return false };
    let found = rest.iter().try_fold(claims.get(first), |at, name| match at {
        Some(Value::Object(members)) => Ok(members.get(name)),
        _ => Err(()),
    });
    match (found, &wanted.test) {
        (Ok(Some(value)), ClaimTest::Equals(wanted)) => value == wanted,
        (Ok(Some(value)), ClaimTest::OneOf(wanted)) => wanted.contains(value),
        (Ok(Some(Value::Array(values))), ClaimTest::Contains(wanted)) => values.contains(wanted),
        // A list of words, as `scope` is (RFC 8693 §4.2).
        (Ok(Some(Value::String(words))), ClaimTest::Contains(Value::String(wanted))) => {
            words.split(' ').any(|word| word == wanted)
        }
        (Ok(_) | Err(()), _) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn claims(json: &Value) -> Claims {
        json.as_object().unwrap().clone()
    }

    #[test]
    fn times() {
        let now = Timestamp::from_millis(1_000_000);
        let until = |json: Value| good_until(&claims(&json), now).map(Timestamp::as_millis);
        assert_eq!(until(json!({"exp": 1_001, "iat": 999})), Some(1_031_000));
        assert_eq!(until(json!({"exp": 1_001.5, "iat": 999.25, "nbf": 1_000})), Some(1_031_500));
        assert_eq!(until(json!({"exp": 971, "iat": 900})), Some(1_001_000), "a clock may be late");
        assert_eq!(until(json!({"exp": 2_000, "iat": 1_030, "nbf": 1_030})), Some(2_030_000), "or early");
        for wrong in [
            json!({}),
            json!({"iat": 999}),
            json!({"exp": 1_001}),
            json!({"exp": 970, "iat": 900}),
            json!({"exp": 2_000, "iat": 1_031}),
            json!({"exp": 2_000, "iat": 999, "nbf": 1_031}),
            json!({"exp": "2000", "iat": 999}),
            json!({"exp": null, "iat": 999}),
            json!({"exp": 1e300, "iat": 999}),
            json!({"exp": 2_000, "iat": "999"}),
            json!({"exp": 2_000, "iat": -1}),
            json!({"exp": 2_000, "iat": 999, "nbf": "999"}),
            json!({"exp": 2_000, "iat": 999, "nbf": null}),
            json!({"exp": [2_000], "iat": 999}),
        ] {
            assert_eq!(until(wrong.clone()), None, "{wrong}");
        }
    }

    #[test]
    fn subjects() {
        let of = |json: Value| subject(&claims(&json)).map(str::to_owned);
        assert_eq!(of(json!({"sub": "ada"})).as_deref(), Some("ada"));
        for wrong in [json!({}), json!({"sub": ""}), json!({"sub": 7}), json!({"sub": "a\nb"})] {
            assert_eq!(of(wrong.clone()), None, "{wrong}");
        }
        assert!(
            of(json!({"sub": "x".repeat(255)})).is_some() && of(json!({"sub": "x".repeat(256)})).is_none()
        );
    }

    #[test]
    fn rules() {
        let all = claims(&json!({
            "email": "ada@example.com", "verified": true, "level": 3, "groups": ["staff", "agents"],
            "scope": "openid agents:use", "realm": {"roles": ["agent"], "a.b": "c"}, "https://x.y/roles": ["admin"]
        }));
        let meant = |path: &[&str], test: ClaimTest| {
            let path = path.iter().map(|name| (*name).to_owned()).collect();
            is_meant(&Claim { path, test }, &all)
        };
        let (equals, contains) = (ClaimTest::Equals, ClaimTest::Contains);
        assert!(meant(&["email"], equals(json!("ada@example.com"))));
        assert!(meant(&["verified"], equals(json!(true))) && meant(&["level"], equals(json!(3))));
        assert!(
            meant(&["groups"], contains(json!("agents"))) && meant(&["scope"], contains(json!("agents:use")))
        );
        assert!(
            meant(&["realm", "roles"], contains(json!("agent")))
                && meant(&["realm", "a.b"], equals(json!("c")))
        );
        assert!(meant(&["https://x.y/roles"], contains(json!("admin"))));
        assert!(meant(&["level"], ClaimTest::OneOf(vec![json!(2), json!(3)])));
        for (path, test) in [
            (&["email"][..], equals(json!("ADA@example.com"))),
            (&["email"], contains(json!("ada"))),
            (&["level"], equals(json!("3"))),
            (&["verified"], equals(json!("true"))),
            (&["scope"], contains(json!("agents"))),
            (&["scope"], equals(json!("openid"))),
            (&["groups"], equals(json!("agents"))),
            (&["groups"], ClaimTest::OneOf(vec![json!("agents")])),
            (&["groups", "0"], equals(json!("staff"))),
            (&["realm"], contains(json!("roles"))),
            (&["nothing"], equals(Value::Null)),
            (&[], equals(json!("x"))),
        ] {
            assert!(!meant(path, test.clone()), "{path:?} {test:?}");
        }
    }
}

//! The A2A-Version header and query parameter.

use baton_wire::fault::{Fault, Kind};
use baton_wire::version::Version;

fn asked(headers: &[&str], query: Option<&str>) -> Result<Option<Version>, Fault> {
    Version::asked(headers.iter().map(|header| header.as_bytes()), query)
}

#[test]
fn one_version_or_none() {
    let (one, old) = (Ok(Some(Version::V1_0)), Ok(Some(Version::V0_3)));
    for header in ["", " ", "0.3", "0.3.0", "0.3, 0.3.7", ","] {
        assert_eq!(asked(&[header], None), old, "{header:?}");
    }
    assert_eq!(asked(&[""], Some("A2A-Version=0.3")), old);
    assert_eq!(asked(&[], Some("A2A-Version")), old);
    assert_eq!(asked(&[], None), Ok(None));
    assert_eq!(asked(&[], Some("x=1&historyLength=0")), Ok(None));
    assert_eq!(asked(&["1.0"], None), one);
    assert_eq!(asked(&[" 1.0.3 "], None), one);
    assert_eq!(asked(&["1.0, 1.0.1,"], None), one);
    assert_eq!(asked(&["1.0", "1.0"], None), one);
    assert_eq!(asked(&["1.0"], Some("A2A-Version=1.0")), one);
    assert_eq!(asked(&[], Some("a=b&a2a-version=1%2E0")), one);
}

#[test]
fn everything_else_is_refused() {
    for header in
        ["99.0", "0.2", "0.3.x", "1", "2.0", "1.0.x", "1.0.", "v1.0", "1.0 1.0", "1.0.1.2", "01.0", "é"]
    {
        let fault = asked(&[header], None).unwrap_err();
        assert_eq!(fault.kind, Kind::VersionNotSupported, "{header:?}");
        assert!(fault.message().len() < 400);
    }
    for (headers, query) in [
        (&["1.0", "0.3"][..], None),
        (&["1.0,0.3"], None),
        (&["1.0", ""], None),
        (&["1.0"], Some("A2A-Version=0.3")),
        (&["1.0"], Some("A2A-Version=")),
        (&["0.3"], Some("A2A-Version=1.0")),
        (&[], Some("A2A-Version=%ff")),
        (&[], Some("A2A-Version=1.0&A2A-Version=2.0")),
    ] {
        assert_eq!(
            asked(headers, query).unwrap_err().kind,
            Kind::VersionNotSupported,
            "{headers:?} {query:?}"
        );
    }
    assert!(Version::asked([&b"1.0\xff"[..]], None).is_err());
}

#[test]
fn the_fault_says_what_there_is() {
    let fault = asked(&["99.0"], None).unwrap_err();
    assert_eq!(fault.message(), r#"A2A version "99.0" is not supported; this agent speaks 1.0, 0.3"#);
    assert_eq!(fault.metadata, [("supportedVersions", "1.0, 0.3".into())]);
}

//! Who is believed, and about what.

use super::*;

fn proxies(header: ProxyHeader) -> Proxies {
    let network = |address: &str, prefix| Network { address: address.parse().unwrap(), prefix };
    Proxies::new(vec![network("10.0.0.0", 8), network("fd00::", 16)], header)
}

fn client(header: ProxyHeader, peer: &str, lines: &[(&str, &str)]) -> String {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
    }
    proxies(header).client(peer.parse().unwrap(), &headers).to_string()
}

#[test]
fn nobody_is_believed_who_was_not_named() {
    let said = [("x-forwarded-for", "192.0.2.9"), ("forwarded", "for=192.0.2.9")];
    for header in [ProxyHeader::XForwardedFor, ProxyHeader::Forwarded] {
        assert_eq!(client(header, "198.51.100.1", &said), "198.51.100.1");
        assert_eq!(client(header, "2001:db8::1", &said), "2001:db8::1");
    }
    assert!(Proxies::default().is_empty());
}

#[test]
fn the_last_hop_that_is_no_proxy_is_the_client() {
    let of = |said: &str| client(ProxyHeader::XForwardedFor, "10.0.0.1", &[("x-forwarded-for", said)]);
    for (said, address) in [
        ("192.0.2.9", "192.0.2.9"),
        ("192.0.2.9:4711", "192.0.2.9"),
        ("2001:db8::9", "2001:db8::9"),
        ("[2001:db8::9]:4711", "2001:db8::9"),
        ("[2001:db8::9]", "2001:db8::9"),
        ("::ffff:192.0.2.9", "192.0.2.9"),
        // What the client made up stands before what the proxy saw.
        ("203.0.113.5, 192.0.2.9", "192.0.2.9"),
        ("10.9.9.9, 192.0.2.9", "192.0.2.9"),
        ("192.0.2.9, 10.0.0.2, 10.0.0.3", "192.0.2.9"),
        ("203.0.113.5, 192.0.2.9, 10.0.0.3", "192.0.2.9"),
        // All of them proxies: the first is nearest to the client.
        ("10.0.0.2, 10.0.0.3", "10.0.0.2"),
        // What is no address is nobody's: the proxy before it answers.
        ("unknown", "10.0.0.1"),
        ("192.0.2.9, unknown", "10.0.0.1"),
        ("192.0.2.9, nonsense, 10.0.0.3", "10.0.0.3"),
        ("192.0.2.9,", "10.0.0.1"),
        ("", "10.0.0.1"),
        ("192.0.2.09", "10.0.0.1"),
        ("192.0.2.9 10.0.0.1", "10.0.0.1"),
        // What the client made up hides nothing of what comes after it.
        ("\", 192.0.2.9", "192.0.2.9"),
        ("\"203.0.113.5, 192.0.2.9", "192.0.2.9"),
    ] {
        assert_eq!(of(said), address, "{said}");
    }
    let lines = [("x-forwarded-for", "203.0.113.5"), ("x-forwarded-for", "192.0.2.9")];
    assert_eq!(client(ProxyHeader::XForwardedFor, "fd00::1", &lines), "192.0.2.9", "lines are one list");
    assert_eq!(client(ProxyHeader::XForwardedFor, "::ffff:10.0.0.1", &lines), "192.0.2.9");
    assert_eq!(client(ProxyHeader::XForwardedFor, "10.0.0.1", &[]), "10.0.0.1");
    let mut headers = HeaderMap::new();
    headers.insert(X_FORWARDED_FOR, http::HeaderValue::from_bytes(b"\xff\xfe, 192.0.2.9").unwrap());
    let client = proxies(ProxyHeader::XForwardedFor).client([10, 0, 0, 1].into(), &headers);
    assert_eq!(client.to_string(), "192.0.2.9", "bytes that are no text are the client's own too");
}

#[test]
fn the_other_header_is_the_clients_own_word() {
    let both = [("x-forwarded-for", "192.0.2.9"), ("forwarded", "for=203.0.113.5")];
    assert_eq!(client(ProxyHeader::XForwardedFor, "10.0.0.1", &both), "192.0.2.9");
    assert_eq!(client(ProxyHeader::Forwarded, "10.0.0.1", &both), "203.0.113.5");
    assert_eq!(client(ProxyHeader::Forwarded, "10.0.0.1", &both[..1]), "10.0.0.1");
}

#[test]
fn forwarded_is_read_as_rfc_7239_says() {
    let of = |said: &str| client(ProxyHeader::Forwarded, "10.0.0.1", &[("forwarded", said)]);
    for (said, address) in [
        ("for=192.0.2.9", "192.0.2.9"),
        ("For=192.0.2.9;proto=https;by=10.0.0.1", "192.0.2.9"),
        ("proto=https ; for=\"192.0.2.9:80\"", "192.0.2.9"),
        ("for=\"[2001:db8::9]:4711\"", "2001:db8::9"),
        ("for=\"[2001:db8::9]\"", "2001:db8::9"),
        ("for=203.0.113.5, for=192.0.2.9", "192.0.2.9"),
        ("for=192.0.2.9, for=10.0.0.3;host=\"a,b\"", "192.0.2.9"),
        ("for=\"_hidden\", for=10.0.0.3", "10.0.0.3"),
        ("for=\"203.0.113.5, for=192.0.2.9", "192.0.2.9"),
        ("\", for=192.0.2.9", "192.0.2.9"),
        ("for=unknown", "10.0.0.1"),
        ("for=_hidden", "10.0.0.1"),
        ("proto=https", "10.0.0.1"),
        ("192.0.2.9", "10.0.0.1"),
        ("for=\"192.0.2.9", "10.0.0.1"),
        ("for=2001:db8::9", "10.0.0.1"),
        ("for=192.0.2.9;for=203.0.113.5", "10.0.0.1"),
    ] {
        assert_eq!(of(said), address, "{said}");
    }
}

#[test]
fn a_network_of_version_6_is_one() {
    let of = |text: &str| counted_as(text.parse().unwrap()).to_string();
    assert_eq!(of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
    assert_eq!(of("2001:db8:1:2:ffff::1"), of("2001:db8:1:2::9"));
    assert_ne!(of("2001:db8:1:3::1"), of("2001:db8:1:2::1"));
    assert_eq!(of("::ffff:192.0.2.9"), "192.0.2.9");
    assert_eq!(of("192.0.2.9"), "192.0.2.9");
}

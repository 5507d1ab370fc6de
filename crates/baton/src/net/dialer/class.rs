//! What an address is: a place on the public internet, or which other kind of place.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Who may open an address, and what it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Anybody may be sent there.
    Public,
    /// A name or a network on the allow-list opens it.
    Internal(&'static str),
    /// Only a network with at least this prefix opens it: where secrets of a machine are handed out, a wide network or a
    /// name is no sign that anybody thought of them.
    Guarded(&'static str, u8),
    /// Nothing opens it: it is no single place, or its true destination is hidden in it.
    Never(&'static str),
}

use Class::{Guarded, Internal, Never, Public};

/// The first range that an address lies in decides.
const V4: [(Ipv4Addr, u8, Class); 23] = [
    // Azure's own host, in the middle of public space.
    (Ipv4Addr::new(168, 63, 129, 16), 32, Guarded("a metadata address", 32)),
    (Ipv4Addr::new(169, 254, 169, 254), 32, Guarded("a metadata address", 32)),
    // Container credentials and name service beside the best known one.
    (Ipv4Addr::new(169, 254, 169, 253), 32, Guarded("a metadata address", 32)),
    (Ipv4Addr::new(169, 254, 170, 0), 24, Guarded("a metadata address", 32)),
    (Ipv4Addr::new(100, 100, 100, 200), 32, Guarded("a metadata address", 32)),
    (Ipv4Addr::new(192, 0, 0, 192), 32, Guarded("a metadata address", 32)),
    (Ipv4Addr::new(169, 254, 0, 0), 16, Guarded("a link-local address", 16)),
    // Connecting to one of these reaches this machine.
    (Ipv4Addr::UNSPECIFIED, 8, Never("an unspecified address")),
    (Ipv4Addr::new(127, 0, 0, 0), 8, Internal("a loopback address")),
    (Ipv4Addr::new(10, 0, 0, 0), 8, Internal("a private address")),
    (Ipv4Addr::new(172, 16, 0, 0), 12, Internal("a private address")),
    (Ipv4Addr::new(192, 168, 0, 0), 16, Internal("a private address")),
    (Ipv4Addr::new(100, 64, 0, 0), 10, Internal("a carrier's shared address")),
    (Ipv4Addr::new(198, 18, 0, 0), 15, Internal("a benchmark address")),
    (Ipv4Addr::new(192, 0, 2, 0), 24, Internal("a documentation address")),
    (Ipv4Addr::new(198, 51, 100, 0), 24, Internal("a documentation address")),
    (Ipv4Addr::new(203, 0, 113, 0), 24, Internal("a documentation address")),
    (Ipv4Addr::new(192, 0, 0, 0), 24, Internal("a protocol assignment")),
    (Ipv4Addr::new(192, 88, 99, 0), 24, Never("a 6to4 relay")),
    (Ipv4Addr::new(224, 0, 0, 0), 4, Never("a multicast address")),
    (Ipv4Addr::BROADCAST, 32, Never("the broadcast address")),
    (Ipv4Addr::new(240, 0, 0, 0), 4, Internal("a reserved address")),
    (Ipv4Addr::UNSPECIFIED, 0, Public),
];

const V6: [(Ipv6Addr, u8, Class); 20] = [
    (Ipv6Addr::UNSPECIFIED, 128, Never("an unspecified address")),
    (Ipv6Addr::LOCALHOST, 128, Internal("a loopback address")),
    (Ipv6Addr::UNSPECIFIED, 96, Never("an IPv4-compatible address")),
    (Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0), 32, Guarded("a metadata address", 128)),
    (Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254), 128, Guarded("a metadata address", 128)),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, Internal("a unique local address")),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, Guarded("a link-local address", 10)),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, Internal("a site-local address")),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, Never("a multicast address")),
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48, Never("a translated address")),
    (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 64, Never("a discard address")),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 32, Never("a Teredo address")),
    (Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0), 48, Internal("a benchmark address")),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, Internal("a documentation address")),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, Internal("a protocol assignment")),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, Never("a 6to4 address")),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, Internal("a documentation address")),
    (Ipv6Addr::new(0x5f00, 0, 0, 0, 0, 0, 0, 0), 16, Internal("a segment routing address")),
    // What is handed out as global unicast so far; the rest is nobody's.
    (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3, Public),
    (Ipv6Addr::UNSPECIFIED, 0, Internal("an address that nobody was given")),
];

/// Addresses that stand for an IPv4 address behind a translator (RFC 6052).
const NAT64: (Ipv6Addr, u8) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

/// The class of an address. One that is a spelling of another is judged as that other.
pub fn class(address: IpAddr) -> Class {
    match address.to_canonical() {
        IpAddr::V4(v4) => find(&V4, |(range, prefix)| contains_v4(range, prefix, v4)),
        IpAddr::V6(v6) if contains_v6(NAT64.0, NAT64.1, v6) => {
            let [.., a, b, c, d] = v6.octets();
            match class(Ipv4Addr::new(a, b, c, d).into()) {
                Public => Public,
                Internal(what) | Guarded(what, _) | Never(what) => Never(what),
            }
        }
        IpAddr::V6(v6) => find(&V6, |(range, prefix)| contains_v6(range, prefix, v6)),
    }
}

fn find<A: Copy>(ranges: &[(A, u8, Class)], holds: impl Fn((A, u8)) -> bool) -> Class {
    let found = ranges.iter().find(|(range, prefix, _)| holds((*range, *prefix)));
    found.map_or(Never("an address of no known range"), |(_, _, class)| *class)
}

pub(super) fn contains_v4(range: Ipv4Addr, prefix: u8, address: Ipv4Addr) -> bool {
    let shift = 32 - u32::from(prefix);
    let head = |at: Ipv4Addr| u64::from(at.to_bits()) >> shift;
    head(range) == head(address)
}

pub(super) fn contains_v6(range: Ipv6Addr, prefix: u8, address: Ipv6Addr) -> bool {
    let head = |at: Ipv6Addr| at.to_bits().checked_shr(128 - u32::from(prefix)).unwrap_or(0);
    head(range) == head(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Class {
        class(text.parse().unwrap())
    }

    #[test]
    fn ranges_begin_and_end_where_they_should() {
        for (inside, outside) in [
            ("10.0.0.0", "9.255.255.255"),
            ("10.255.255.255", "11.0.0.0"),
            ("172.16.0.0", "172.15.255.255"),
            ("172.31.255.255", "172.32.0.0"),
            ("192.168.255.255", "192.169.0.0"),
            ("100.64.0.0", "100.63.255.255"),
            ("100.127.255.255", "100.128.0.0"),
            ("198.19.255.255", "198.20.0.0"),
            ("169.254.0.0", "169.253.255.255"),
            ("127.255.255.255", "128.0.0.0"),
            ("0.255.255.255", "1.0.0.0"),
            ("224.0.0.0", "223.255.255.255"),
            ("168.63.129.16", "168.63.129.17"),
            ("2001:1ff:ffff::", "2001:200::"),
            ("2001:db8:ffff::", "2001:db9::"),
            ("2002::", "2003::"),
            ("1fff::", "2000::"),
            ("3fff:fff::", "3fff:1000::"),
            ("4000::", "3ffe::"),
            ("64:ff9b::127.0.0.1", "64:ff9b::8.8.8.8"),
            ("::ffff:10.0.0.1", "::ffff:8.8.8.8"),
        ] {
            assert_ne!(of(inside), Public, "{inside}");
            assert_eq!(of(outside), Public, "{outside}");
        }
    }

    #[test]
    fn machines_secrets_are_guarded() {
        for text in
            ["169.254.169.254", "::ffff:169.254.169.254", "100.100.100.200", "fd00:ec2::254", "fd20:ce::254"]
        {
            assert!(matches!(of(text), Guarded("a metadata address", 32 | 128)), "{text}");
        }
        assert_eq!(of("64:ff9b::a9fe:a9fe"), Never("a metadata address"));
        assert_eq!(of("fe80::1"), Guarded("a link-local address", 10));
    }
}

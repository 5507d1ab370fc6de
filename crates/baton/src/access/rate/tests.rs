//! Rates on a clock that the test moves.

use super::*;

const RATE: Rate = Rate { requests: 2, per: Per::Second, burst: 3 };

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn a_burst_then_the_rate() {
    let clock = Clock::default();
    let addresses = Addresses::new(Some(RATE), clock.clone());
    let ann = address("192.0.2.1");
    let take = || (0..10).filter(|_| addresses.count(ann).is_ok()).count();
    assert_eq!(take(), 3);
    assert_eq!(addresses.count(ann), Err(TooOften(Duration::from_secs(1))));
    assert_eq!(addresses.count(address("192.0.2.2")), Ok(()), "another has its own");
    clock.advance(Duration::from_millis(510));
    assert_eq!(take(), 1);
    clock.advance(Duration::from_hours(1));
    assert_eq!(take(), 3, "what was not used is not kept beyond a burst");
}

#[test]
fn a_wait_is_said_in_full() {
    let clock = Clock::default();
    let rate = Rate { requests: 2, per: Per::Minute, burst: 1 };
    let addresses = Addresses::new(Some(rate), clock.clone());
    let ann = address("192.0.2.1");
    addresses.count(ann).unwrap();
    let Err(TooOften(wait)) = addresses.count(ann) else { panic!("the second is too often") };
    assert!(wait > Duration::from_secs(29) && wait <= Duration::from_secs(30), "{wait:?}");
    // The test's clock knows whole milliseconds only.
    clock.advance(wait + Duration::from_millis(1));
    assert_eq!(addresses.count(ann), Ok(()));
}

#[test]
fn a_network_of_version_6_counts_as_one_address() {
    let addresses = Addresses::new(Some(RATE), Clock::default());
    let good = (0..10).filter(|n| addresses.count(address(&format!("2001:db8::{n}"))).is_ok()).count();
    assert_eq!(good, 3);
    assert_eq!(addresses.count(address("2001:db8:0:1::1")), Ok(()));
}

/// However many addresses come, nothing grows, and each still gets in.
#[test]
fn many_addresses_take_no_more_room() {
    let addresses =
        Addresses::new(Some(Rate { requests: 1_000, per: Per::Second, burst: 1_000 }), Clock::default());
    for n in 0..200_000_u32 {
        addresses.count(IpAddr::from(n.to_be_bytes())).unwrap();
    }
    assert_eq!(addresses.limiter.unwrap().into_state_store().cells.len(), CELLS);
}

#[test]
fn no_rate_is_no_limit() {
    let addresses = Addresses::new(None, Clock::default());
    assert!((0..10_000).all(|_| addresses.count(address("192.0.2.1")).is_ok()));
}

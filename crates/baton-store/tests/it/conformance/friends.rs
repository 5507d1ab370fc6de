//! Friend requests: taken in within bounds, looked at, decided once, picked up until used, ended by time.

use std::sync::Arc;
use std::time::Duration;

use baton_core::friend::{Refusal, State};
use baton_core::json::Json;
use baton_core::limits::{FRIEND_PENDING, FRIEND_PENDING_EACH, FRIEND_PER_HOUR};
use baton_store::{
    Access, Actor, Audit, AuditQuery, Change, Error, Found, FriendRequest, Friends, FriendsQuery,
    GrantChange, GrantState, Look, Mark, NewCredential, NewFriendRequest, NewGrant, Provenance, Seen,
    Signature, Standing, Tasks, Verb, Verdict, Wish,
};
use tokio::task::JoinSet;

use super::Backend;
use super::grants::{ann, grant};
use super::script::*;
use super::world::World;

const HOUR: i64 = 60 * 60 * 1000;
const DAY: i64 = 24 * HOUR;

/// The request number `n` of an address.
pub fn asked(n: u32, origin: &str, now: i64) -> NewFriendRequest {
    NewFriendRequest {
        id: id(n),
        secret: [u8::try_from(n % 250).unwrap(); 32],
        code: format!("CODE{n}"),
        wish: Wish {
            card_url: format!("https://{n}.example/card.json?key=hidden"),
            agents: vec![agent("echo"), agent("other")],
            verbs: vec![Verb::Send, Verb::Work],
            why: "because\n\u{1b}[31m \u{202e}".into(),
        },
        id_token: n.is_multiple_of(2).then(|| vec![1, 2, 3]),
        by: Actor::new("anonymous", origin),
        now: at(now),
    }
}

fn id(n: u32) -> String {
    format!("0199f0a2-7c1e-7d3a-8f00-{n:012}")
}

fn mint(digest: u8) -> NewCredential {
    NewCredential { digest: [digest; 32], hint: format!("bt_{digest}") }
}

/// A grant that has no credential yet.
fn unvended(name: &str, now: i64) -> NewGrant {
    NewGrant { credential: None, ..grant(name, 0, now) }
}

fn look(now: i64, key: Option<&str>) -> Look {
    let mark = Mark { at: at(now), digest: "d1".into(), key: key.map(Into::into) };
    let seen = Seen {
        name: "A friend".into(),
        at_home: true,
        signature: Signature::Proven(Some("k".into())),
        standing: Standing::Changed { since: at(1), what: Change::Content },
        first: mark.clone(),
        mark,
    };
    let provenance = Some(Provenance::Proven { issuer: "https://id".into(), subject: "ann".into() });
    let card = Json::parse(r#"{"name":"A friend","n":9007199254740993}"#).unwrap();
    Look { at: at(now), verdict: Verdict { found: Found::Card(seen), provenance }, card: Some(card) }
}

impl<B: Backend> World<B> {
    pub async fn ask(&self, n: u32, origin: &str, now: i64) -> Result<FriendRequest, Error> {
        self.store.create_friend_request(asked(n, origin, now)).await
    }

    async fn request(&self, n: u32) -> FriendRequest {
        self.store.find_friend_request(&id(n)).await.unwrap().expect("the request is there")
    }

    async fn fetch(&self, n: u32, digest: u8, now: i64) -> Result<FriendRequest, Error> {
        let by = Actor::new("anonymous", "192.0.2.1");
        self.store.pick_up(&id(n), mint(digest), (&by, at(now))).await
    }

    async fn in_state(&self, state: Option<&'static str>, now: i64) -> Vec<String> {
        let query = FriendsQuery { state, now: at(now), before: None, size: 1_000 };
        let found = self.store.list_friend_requests(query).await.unwrap();
        found.into_iter().map(|request| request.id).collect()
    }

    /// What the audit log says was done to something, oldest first.
    async fn told_of(&self, target: &str) -> Vec<(String, String)> {
        let query = AuditQuery { target: Some(target.into()), size: 100, ..AuditQuery::default() };
        let mut rows = self.store.list_audit(query).await.unwrap();
        rows.reverse();
        rows.into_iter().map(|row| (row.entry.action, row.entry.by.name)).collect()
    }

    async fn is_open(&self, digest: u8, now: i64) -> bool {
        self.store.find_credential(&[digest; 32], at(now)).await.unwrap().is_some()
    }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(answer: Result<T, Error>) -> Refusal {
    match answer {
        Err(Error::Friend(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

pub async fn asked_and_read_back<B: Backend>() {
    let world = World::<B>::new().await;
    let made = world.ask(2, "192.0.2.1", 10).await.unwrap();
    world.ask(1, "192.0.2.2", 20).await.unwrap();
    let world = world.reopen().await;
    let found = world.request(2).await;
    let NewFriendRequest { secret, code, wish, id_token, .. } = asked(2, "192.0.2.1", 10);
    assert_eq!((found.secret, found.code, found.wish, found.id_token), (secret, code, wish, id_token));
    assert_eq!((found.origin.as_str(), found.created_at), ("192.0.2.1", at(10)));
    assert_eq!((found.state, made.state), (State::Pending { until: at(10 + 7 * DAY) }, found.state));
    assert!(
        found.grant.is_none() && found.decided.is_none() && found.look.is_none() && found.token.is_none()
    );
    assert_eq!(world.in_state(None, 30).await, [id(2), id(1)], "the newest first");
    let query = FriendsQuery { before: Some(id(2)), size: 1, ..FriendsQuery::default() };
    assert_eq!(world.store.list_friend_requests(query).await.unwrap()[0].id, id(1));
    assert!(world.store.find_friend_request("other").await.unwrap().is_none());
    let rows = world.store.list_audit(AuditQuery { size: 10, ..AuditQuery::default() }).await.unwrap();
    let told = &rows[1].entry;
    assert_eq!(
        (told.action.as_str(), told.target.as_str(), &told.by.origin),
        ("friend.ask", &*id(2), &found.origin)
    );
    assert!(told.detail.contains("CODE2") && !told.detail.contains("hidden"), "{}", told.detail);
    assert!(!told.detail.contains("because"), "what a message says is in no log: {}", told.detail);
}

pub async fn bounded_by_address_and_in_all<B: Backend>() {
    let world = World::<B>::new().await;
    for n in 0..5 {
        world.ask(n, "192.0.2.1", i64::from(n)).await.unwrap();
    }
    let again_in = Duration::from_millis(u64::try_from(HOUR).unwrap() - 10);
    assert_eq!(refused(world.ask(5, "192.0.2.1", 10).await), Refusal::AskedTooOften { again_in });
    assert!(world.store.find_friend_request(&id(5)).await.unwrap().is_none(), "nothing is left of it");
    world.ask(6, "192.0.2.2", 10).await.unwrap();
    for n in 7..12 {
        world.ask(n, "192.0.2.1", HOUR + 10).await.unwrap();
    }
    assert_eq!((FRIEND_PER_HOUR, FRIEND_PENDING_EACH), (5, 10));
    assert_eq!(refused(world.ask(12, "192.0.2.1", 3 * HOUR).await), Refusal::Full);
    // Who has been answered makes room for the next.
    world.store.deny_friend_request(&id(0), &ann(), at(3 * HOUR)).await.unwrap();
    world.ask(12, "192.0.2.1", 3 * HOUR).await.unwrap();
    let mut n = 13;
    let waiting = || world.in_state(Some("pending"), 3 * HOUR);
    while waiting().await.len() < FRIEND_PENDING {
        world.ask(n, &format!("2001:db8:{n:x}::"), 3 * HOUR).await.unwrap();
        n += 1;
    }
    assert_eq!(refused(world.ask(n, "192.0.2.9", 3 * HOUR).await), Refusal::Full);
    // Time makes room before anybody says so.
    world.ask(n, "192.0.2.9", 7 * DAY + 3 * HOUR).await.unwrap();
}

pub async fn what_was_found_is_kept<B: Backend>() {
    let world = World::<B>::new().await;
    world.ask(1, "192.0.2.1", 10).await.unwrap();
    let kept = world.store.keep_look(&id(1), look(20, None), &ann()).await.unwrap();
    assert_eq!(kept.look.unwrap().verdict, look(20, None).verdict);
    let world = world.reopen().await;
    let found = world.request(1).await.look.unwrap();
    assert_eq!((found.at, found.verdict), (at(20), look(20, None).verdict));
    assert_eq!(found.card.unwrap().as_str(), look(20, None).card.unwrap().as_str());
    let nothing = Verdict { found: Found::Nothing("gone".into()), provenance: None };
    let gone = Look { at: at(30), verdict: nothing.clone(), card: None };
    world.store.keep_look(&id(1), gone, &ann()).await.unwrap();
    let found = world.request(1).await.look.unwrap();
    assert_eq!((found.at, found.verdict, found.card.is_none()), (at(30), nothing, true));
    assert!(matches!(world.store.keep_look("other", look(1, None), &ann()).await, Err(Error::NotFound)));
    let told = world.told_of(&id(1)).await;
    assert_eq!(told[1..], [("friend.look".into(), "ann".into()), ("friend.look".into(), "ann".into())]);
}

/// Two looks that began at once, of which neither knew of the other; and one that ends after the decision.
pub async fn looks_at_once_and_too_late<B: Backend>() {
    let world = World::<B>::new().await;
    world.ask(1, "192.0.2.1", 10).await.unwrap();
    let new = |now, digest: &str| {
        let mut look = look(now, None);
        let Found::Card(seen) = &mut look.verdict.found else { unreachable!() };
        seen.mark.digest = digest.into();
        seen.first = seen.mark.clone();
        seen.standing = Standing::New;
        look
    };
    world.store.keep_look(&id(1), new(20, "d1"), &ann()).await.unwrap();
    let kept = world.store.keep_look(&id(1), new(21, "d2"), &ann()).await.unwrap().look.unwrap();
    let Found::Card(seen) = kept.verdict.found else { panic!("a card was found") };
    assert_eq!(seen.first.digest, "d1");
    assert_eq!(seen.standing, Standing::Changed { since: at(20), what: Change::Content });
    world.store.approve_friend_request(&id(1), unvended("g1", 30)).await.unwrap();
    let late = world.store.keep_look(&id(1), new(40, "d3"), &ann()).await.unwrap().look.unwrap();
    assert_eq!(late.at, at(21));
    let pin = world.store.find_pin(&asked(1, "", 0).wish.card_url).await.unwrap().unwrap();
    assert_eq!(&*pin.digest, "d2");
}

/// A grant that got a token another way is not ended because nobody picked one up.
pub async fn a_grant_in_use_does_not_lapse<B: Backend>() {
    let world = World::<B>::new().await;
    for n in 1..=2 {
        world.ask(n, "192.0.2.1", 10).await.unwrap();
        world.store.approve_friend_request(&id(n), unvended(&format!("g{n}"), 20)).await.unwrap();
    }
    let rotate = GrantChange::Rotate { credential: mint(7), until: at(30) };
    world.store.change_grant("g1", rotate, &ann(), at(30)).await.unwrap();
    assert_eq!(world.store.expire_friend_requests(at(100 * DAY), 10).await.unwrap(), 2);
    assert!(world.is_open(7, 100 * DAY).await);
    let states = ["g1", "g2"].map(async |id| world.store.find_grant(id).await.unwrap().unwrap().grant.state);
    let [first, second] = states;
    assert_eq!(first.await, GrantState::Active);
    assert!(second.await.is_over());
}

pub async fn how_many_wait<B: Backend>() {
    let world = World::<B>::new().await;
    for n in 1..=3 {
        world.ask(n, "192.0.2.1", 10).await.unwrap();
    }
    world.store.deny_friend_request(&id(2), &ann(), at(20)).await.unwrap();
    assert_eq!(world.store.count_pending(at(20)).await.unwrap(), 2);
    assert_eq!(world.store.count_pending(at(10 + 7 * DAY)).await.unwrap(), 0, "their time is over");
}

pub async fn a_friend_pins_its_card<B: Backend>() {
    let world = World::<B>::new().await;
    let url = asked(1, "", 0).wish.card_url;
    world.ask(1, "192.0.2.1", 10).await.unwrap();
    world.store.keep_look(&id(1), look(20, Some("thumb")), &ann()).await.unwrap();
    assert_eq!(world.store.find_pin(&url).await.unwrap(), None, "nobody is a friend yet");
    world.store.approve_friend_request(&id(1), unvended("g1", 30)).await.unwrap();
    let pin = world.store.find_pin(&url).await.unwrap().unwrap();
    assert_eq!((pin.at, pin.key.as_deref(), pin.digest.as_str()), (at(20), Some("thumb"), "d1"));
    assert_eq!(world.store.find_pin("https://elsewhere.example").await.unwrap(), None);
}

pub async fn approved_once<B: Backend>() {
    let world = World::<B>::new().await;
    for n in 1..4 {
        world.ask(n, "192.0.2.1", 10).await.unwrap();
    }
    let approved = world.store.approve_friend_request(&id(2), unvended("g1", 20)).await.unwrap();
    assert_eq!(approved.state, State::Approved { until: at(20 + 72 * HOUR), pick_ups: 0 });
    assert_eq!((approved.grant.as_deref(), approved.id_token), (Some("g1"), None));
    let grant = world.store.find_grant("g1").await.unwrap().unwrap().grant;
    assert_eq!((grant.state, grant.credentials.len()), (GrantState::Active, 0));
    let again = world.store.approve_friend_request(&id(2), unvended("g2", 30)).await;
    assert_eq!(refused(again), Refusal::Approved);
    assert_eq!(refused(world.store.deny_friend_request(&id(2), &ann(), at(30)).await), Refusal::Approved);
    assert!(world.store.find_grant("g2").await.unwrap().is_none(), "nothing was minted");
    world.store.deny_friend_request(&id(3), &ann(), at(30)).await.unwrap();
    assert_eq!(
        refused(world.store.approve_friend_request(&id(3), unvended("g3", 40)).await),
        Refusal::Denied
    );
    assert!(matches!(
        world.store.approve_friend_request("x", unvended("g4", 40)).await,
        Err(Error::NotFound)
    ));
    let world = world.reopen().await;
    let (two, three) = (world.request(2).await, world.request(3).await);
    assert_eq!((two.state, two.decided.unwrap().by.as_str()), (approved.state, "ann"));
    assert_eq!((three.state, three.decided.unwrap().at), (State::Denied, at(30)));
    assert_eq!(world.store.list_grants().await.unwrap().len(), 1);
    for (state, ids) in [("pending", vec![id(1)]), ("approved", vec![id(2)]), ("denied", vec![id(3)])] {
        assert_eq!(world.in_state(Some(state), 50).await, ids);
    }
    assert_eq!(world.told_of("g1").await, [("grant.create".into(), "ann".into())]);
    assert_eq!(world.told_of(&id(2)).await[1], ("friend.approve".into(), "ann".into()));
    assert_eq!(world.told_of(&id(3)).await[1], ("friend.deny".into(), "ann".into()));
}

/// Whoever is first decides; the others hear so, and leave nothing behind.
pub async fn an_approval_races_a_denial<B: Backend>() {
    let world = World::<B>::new().await;
    for n in 0..5 {
        world.ask(n, "192.0.2.1", 10).await.unwrap();
        let mut running = JoinSet::new();
        for k in 0..4 {
            let store = Arc::clone(&world.store);
            running.spawn(async move {
                let answer = if k % 2 == 0 {
                    store.approve_friend_request(&id(n), unvended(&format!("g{n}-{k}"), 20)).await
                } else {
                    store.deny_friend_request(&id(n), &ann(), at(20)).await
                };
                answer.map(|request| request.state)
            });
        }
        let answers = running.join_all().await;
        let won: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().ok()).collect();
        assert_eq!(won.len(), 1, "{answers:?}");
        let found = world.request(n).await;
        assert_eq!(found.state, *won[0]);
        let grants = world.store.list_grants().await.unwrap();
        let minted = grants.iter().filter(|record| record.grant.id.starts_with(&format!("g{n}-"))).count();
        assert_eq!(minted, usize::from(found.grant.is_some()));
    }
}

/// A lost answer loses nothing: each pick-up gives another token and voids the one before; the first use ends that.
pub async fn picked_up_until_used<B: Backend>() {
    let world = World::<B>::new().await;
    world.ask(1, "192.0.2.1", 0).await.unwrap();
    assert_eq!(refused(world.fetch(1, 11, 5).await), Refusal::Undecided);
    world.store.approve_friend_request(&id(1), unvended("g1", 10)).await.unwrap();
    let picked = world.fetch(1, 11, 20).await.unwrap();
    assert_eq!((picked.token, picked.picked_at), (Some([11; 32]), Some(at(20))));
    // Asked with the clock of another: whether a token opens is not a use where nothing accepts it.
    let world = world.reopen().await;
    world.fetch(1, 12, 30).await.unwrap();
    world.fetch(1, 13, 40).await.unwrap();
    assert!(!world.is_open(11, 50).await && !world.is_open(12, 50).await, "voided");
    let grant = world.store.find_grant("g1").await.unwrap().unwrap().grant;
    assert_eq!((grant.credentials.len(), grant.credentials[0].hint.as_str()), (1, "bt_13"));
    let world = world.reopen().await;
    assert!(world.is_open(13, 50).await);
    assert_eq!(refused(world.fetch(1, 14, 60).await), Refusal::Used);
    assert!(world.is_open(13, 70).await && !world.is_open(14, 70).await);
    let told = world.told_of(&id(1)).await;
    assert_eq!(
        told.iter().filter(|(action, who)| (&**action, &**who) == ("friend.pick-up", "g1")).count(),
        3
    );
}

/// That it was used is known from its work where it was not written down before a crash.
pub async fn work_is_a_use<B: Backend>() {
    let world = World::<B>::new().await;
    world.ask(1, "192.0.2.1", 0).await.unwrap();
    world.store.approve_friend_request(&id(1), unvended("g1", 10)).await.unwrap();
    world.fetch(1, 11, 20).await.unwrap();
    let mut made = new(1);
    made.owner = baton_core::ident::Owner::new("g1", "");
    world.store.apply(create(made, at(30))).await.unwrap();
    let world = world.reopen().await;
    assert_eq!(refused(world.fetch(1, 12, 40).await), Refusal::Used);
}

pub async fn what_is_over_gives_nothing<B: Backend>() {
    let world = World::<B>::new().await;
    for n in 1..4 {
        world.ask(n, "192.0.2.1", 0).await.unwrap();
    }
    for (n, name) in [(1, "g1"), (2, "g2")] {
        world.store.approve_friend_request(&id(n), unvended(name, 10)).await.unwrap();
    }
    world.store.change_grant("g1", GrantChange::Revoke, &ann(), at(20)).await.unwrap();
    assert_eq!(refused(world.fetch(1, 11, 30).await), Refusal::Ended);
    world.store.deny_friend_request(&id(3), &ann(), at(20)).await.unwrap();
    assert_eq!(refused(world.fetch(3, 11, 30).await), Refusal::Denied);
    assert_eq!(refused(world.fetch(2, 11, 10 + 72 * HOUR).await), Refusal::Expired);
    assert!(matches!(world.fetch(9, 11, 30).await, Err(Error::NotFound)));
    assert!(!world.is_open(11, 40).await);
    world.fetch(2, 12, 10 + 72 * HOUR - 1).await.unwrap();
    assert!(world.is_open(12, 100 * HOUR).await, "what was picked up in time stays");
    assert_eq!(refused(world.fetch(2, 13, 100 * HOUR).await), Refusal::Used);
}

/// Time ends what nobody decided and what nobody came for, its grant included; what came to nothing is deleted later.
pub async fn ended_by_time<B: Backend>() {
    let world = World::<B>::new().await;
    for n in 1..5 {
        world.ask(n, "192.0.2.1", 0).await.unwrap();
    }
    for (n, name) in [(2, "g2"), (3, "g3")] {
        world.store.approve_friend_request(&id(n), unvended(name, 0)).await.unwrap();
    }
    world.fetch(3, 13, 10).await.unwrap();
    world.store.deny_friend_request(&id(4), &ann(), at(20)).await.unwrap();
    let late = 7 * DAY;
    assert_eq!(world.store.expire_friend_requests(at(72 * HOUR - 1), 10).await.unwrap(), 0);
    assert_eq!(
        world.in_state(Some("expired"), late).await,
        [id(2), id(1)],
        "as of then, though nobody has said so"
    );
    assert_eq!(world.store.expire_friend_requests(at(late), 1).await.unwrap(), 1);
    assert_eq!(world.store.expire_friend_requests(at(late), 10).await.unwrap(), 1);
    assert_eq!(world.store.expire_friend_requests(at(late), 10).await.unwrap(), 0);
    let state = |name: &'static str| {
        let store = Arc::clone(&world.store);
        async move { store.find_grant(name).await.unwrap().unwrap().grant.state }
    };
    assert_eq!(state("g2").await, GrantState::Revoked { at: at(late) });
    assert_eq!(state("g3").await, GrantState::Active);
    assert_eq!(world.told_of(&id(1)).await.last().unwrap(), &("friend.expire".into(), "node".into()));
    let one = world.request(1).await;
    assert_eq!((one.state, one.decided.unwrap().by.as_str()), (State::Expired, "node"));

    assert_eq!(world.store.prune_friend_requests(at(20), 10).await.unwrap(), 1, "approved and never fetched");
    assert_eq!(world.store.prune_friend_requests(at(late + 1), 10).await.unwrap(), 2);
    let world = world.reopen().await;
    assert_eq!(world.in_state(None, late).await, [id(3)]);
}

//! Clients of OAuth: their registrations, what operators allowed them, and the tokens that come of it.

use std::sync::Arc;

use baton_core::limits::{OAUTH_APPROVALS, OAUTH_CLIENTS, OAUTH_CLIENTS_EACH, OAUTH_IDLE};
use baton_store::{
    Access, Actor, Approval, ApprovalKey, ApprovalState, Approvals, Audit, AuditQuery, Barred, Bound,
    Brought, Error, GrantChange, GrantOf, GrantState, NewApproval, NewCredential, NewGrant, Redeem, Refresh,
    Registration, Turn, Verb,
};
use tokio::task::JoinSet;

use super::Backend;
use super::credentials::token;
use super::grants::{ann, grant};
use super::script::*;
use super::world::World;

fn client(id: &str, origin: &str, now: i64) -> Registration {
    Registration {
        id: id.to_owned(),
        name: format!("Desk \u{202e}{id}"),
        redirects: vec!["http://127.0.0.1/back".to_owned(), "https://desk.example/back?a=b".to_owned()],
        origin: origin.to_owned(),
        created_at: at(now),
        used_at: None,
    }
}

/// A grant that nobody has a token of.
fn bare(id: &str, now: i64) -> NewGrant {
    NewGrant { credential: None, ..grant(id, 0, now) }
}

/// With the code `[n; 32]`, good until 60,000.
fn approval(n: u8, grant: GrantOf) -> NewApproval {
    NewApproval {
        id: format!("a{n:03}"),
        grant,
        client: "c1".to_owned(),
        name: "Desk".to_owned(),
        redirect: "http://127.0.0.1:7/back".to_owned(),
        resource: "/mcp".to_owned(),
        verbs: vec![Verb::Send, Verb::Read],
        code: [n; 32],
        challenge: [77; 32],
        until: at(60_000),
        by: ann(),
        now: at(10),
    }
}

fn made(n: u8, id: &str) -> NewApproval {
    approval(n, GrantOf::New(Box::new(bare(id, 10))))
}

fn known(n: u8, id: &str) -> NewApproval {
    approval(n, GrantOf::Known(id.to_owned()))
}

const fn refresh(family: u8, number: u8) -> Refresh {
    Refresh { family: [family; 32], refresh: [number; 32] }
}

/// Brings a code, for the access token `access` and the refresh token `next`.
fn code(n: u8, next: Refresh, access: u8, now: i64) -> Redeem {
    brings(Brought::Code { code: [n; 32], proven: true }, next, access, now)
}

fn brings(brought: Brought, next: Refresh, access: u8, now: i64) -> Redeem {
    Redeem {
        brought,
        next,
        token: token(access, now, now + 3_600_000),
        resource: "/mcp".into(),
        origin: "192.0.2.7".to_owned(),
        now: at(now),
    }
}

impl<B: Backend> World<B> {
    async fn redeem(&self, redeem: Redeem) -> Option<Approval> {
        self.store.redeem(redeem).await.unwrap()
    }

    /// Turns a refresh token into the next.
    async fn turn(&self, family: u8, (brought, next): (u8, u8), access: u8, now: i64) -> Option<Approval> {
        let brought = Brought::Refresh(refresh(family, brought));
        self.redeem(brings(brought, refresh(family, next), access, now)).await
    }

    /// The access tokens that are good at a time, of these.
    async fn good(&self, digests: &[u8], now: i64) -> Vec<u8> {
        let mut good = Vec::new();
        for digest in digests {
            if self.store.find_credential(&[*digest; 32], at(now)).await.unwrap().is_some() {
                good.push(*digest);
            }
        }
        good
    }

    async fn approvals(&self, grant: &str) -> Vec<String> {
        let found = self.store.list_approvals(Some(grant)).await.unwrap();
        found.iter().map(|approval| approval.id.to_string()).collect()
    }

    async fn state(&self, grant: &str) -> GrantState {
        self.store.find_grant(grant).await.unwrap().unwrap().grant.state
    }

    /// What was told of one approval, or of all, the oldest first.
    async fn told(&self, target: &str) -> Vec<(String, String, bool)> {
        let query = AuditQuery { target: Some(target.to_owned()), size: 50, ..AuditQuery::default() };
        let rows = self.store.list_audit(query).await.unwrap();
        rows.into_iter().rev().map(|row| (row.entry.action, row.entry.by.name, row.entry.allowed)).collect()
    }
}

fn said(action: &str, by: &str, allowed: bool) -> (String, String, bool) {
    (action.to_owned(), by.to_owned(), allowed)
}

pub async fn registrations_are_bounded<B: Backend>() {
    let world = World::<B>::new().await;
    let first = client("c1", "192.0.2.1", 0);
    assert!(world.store.register_client(first.clone()).await.unwrap());
    let world = world.reopen().await;
    assert_eq!(world.store.find_client("c1").await.unwrap(), Some(first.clone()));
    assert_eq!(world.store.find_client("c2").await.unwrap(), None);

    // One that was allowed something makes room for nobody.
    world.store.create_approval(made(1, "g1")).await.unwrap();
    let used = Registration { used_at: Some(at(10)), ..first };
    assert_eq!(world.store.find_client("c1").await.unwrap(), Some(used.clone()));
    let other = client("other", "192.0.2.2", 0);
    assert!(world.store.register_client(other.clone()).await.unwrap());
    for n in 0..OAUTH_CLIENTS_EACH + 2 {
        let time = i64::try_from(n).unwrap();
        assert!(world.store.register_client(client(&format!("m{n:02}"), "192.0.2.1", time)).await.unwrap());
    }
    for (id, there) in
        [("m00", false), ("m01", false), ("m02", true), ("m21", true), ("c1", true), ("other", true)]
    {
        assert_eq!(world.store.find_client(id).await.unwrap().is_some(), there, "{id}");
    }

    // In all: the oldest that nobody uses goes.
    let mut running = JoinSet::new();
    for n in OAUTH_CLIENTS_EACH + 2..OAUTH_CLIENTS {
        let (store, origin) = (Arc::clone(&world.store), format!("198.51.100.{}", n % 200));
        let new = client(&format!("n{n:04}"), &origin, 1_000 + i64::try_from(n).unwrap());
        running.spawn(async move { store.register_client(new).await.unwrap() });
    }
    assert!(running.join_all().await.into_iter().all(|taken| taken));
    assert!(world.store.find_client("other").await.unwrap().is_some());
    assert!(world.store.register_client(client("late", "203.0.113.1", 9_000)).await.unwrap());
    for (id, there) in [("other", false), ("m02", true), ("late", true), ("c1", true)] {
        assert_eq!(world.store.find_client(id).await.unwrap().is_some(), there, "{id}");
    }

    // All in use: there is no room, and nobody loses anything.
    let mut running = JoinSet::new();
    for (at, id) in world.all_clients().await.into_iter().enumerate() {
        let store = Arc::clone(&world.store);
        let code = <[u8; 32]>::try_from([[9; 16], (at as u128).to_be_bytes()].concat()).unwrap();
        let new = NewApproval { id: format!("b{at:04}"), client: id, code, ..known(2, "g1") };
        running.spawn(async move { store.create_approval(new).await.map(|_| ()) });
    }
    running.join_all().await.into_iter().collect::<Result<Vec<_>, _>>().unwrap();
    assert!(!world.store.register_client(client("none", "203.0.113.2", 9_001)).await.unwrap());
    assert_eq!(world.store.find_client("none").await.unwrap(), None);
    assert!(world.store.find_client("late").await.unwrap().is_some());
    assert_eq!(world.approvals("g1").await.len(), OAUTH_APPROVALS);
}

impl<B: Backend> World<B> {
    /// Every id that the test above may have made, where it is there.
    async fn all_clients(&self) -> Vec<String> {
        let numbered = (0..OAUTH_CLIENTS).map(|n| format!("n{n:04}"));
        let of_one = (0..OAUTH_CLIENTS_EACH + 2).map(|n| format!("m{n:02}"));
        let mut all = vec!["late".to_owned(), "other".to_owned()];
        for id in numbered.chain(of_one) {
            if self.store.find_client(&id).await.unwrap().is_some() {
                all.push(id);
            }
        }
        all
    }
}

pub async fn unused_registrations_go<B: Backend>() {
    let world = World::<B>::new().await;
    for (id, time) in [("c1", 0), ("c2", 10), ("c3", 20)] {
        assert!(world.store.register_client(client(id, "192.0.2.1", time)).await.unwrap());
    }
    world.store.create_approval(NewApproval { now: at(50), ..made(1, "g1") }).await.unwrap();
    assert_eq!(world.store.prune_clients(at(10), at(51), 9).await.unwrap(), 0, "c1 is signed in");
    assert_eq!(world.store.prune_clients(at(20), at(50), 9).await.unwrap(), 1);
    assert_eq!(world.store.find_client("c2").await.unwrap(), None);
    world.store.end_approval("a001", &ann(), at(60)).await.unwrap();
    assert_eq!(world.store.prune_clients(at(20), at(50), 9).await.unwrap(), 0);
    let world = world.reopen().await;
    assert_eq!(world.store.prune_clients(at(21), at(51), 1).await.unwrap(), 1);
    assert_eq!(world.store.prune_clients(at(21), at(51), 9).await.unwrap(), 1);
    assert_eq!(
        (world.store.find_client("c1").await.unwrap(), world.store.find_client("c3").await.unwrap()),
        (None, None)
    );
}

pub async fn a_code_gives_tokens_once<B: Backend>() {
    let world = World::<B>::new().await;
    let new = world.store.create_approval(made(1, "g1")).await.unwrap();
    assert_eq!(
        (new.state, &*new.grant, new.made_grant),
        (ApprovalState::Coded { challenge: [77; 32] }, "g1", true)
    );
    let world = world.reopen().await;
    for key in [ApprovalKey::Id("a001".to_owned()), ApprovalKey::Code([1; 32])] {
        assert_eq!(world.store.find_approval(key).await.unwrap().as_ref(), Some(&new));
    }
    for key in [ApprovalKey::Id("a002".to_owned()), ApprovalKey::Code([2; 32]), ApprovalKey::Family([1; 32])]
    {
        assert_eq!(world.store.find_approval(key).await.unwrap(), None);
    }
    assert_eq!(world.redeem(code(2, refresh(1, 1), 11, 20)).await, None, "there is no such code");
    let open = world.redeem(code(1, refresh(1, 1), 11, 20)).await.unwrap();
    let turn = Turn { family: [1; 32], refresh: [1; 32], before: None, turned_at: at(20) };
    assert_eq!((open.state, open.until), (ApprovalState::Open(turn), at(20).after(OAUTH_IDLE)));
    let world = world.reopen().await;
    assert_eq!(world.store.list_approvals(Some("g1")).await.unwrap(), std::slice::from_ref(&open));
    assert_eq!(world.store.find_approval(ApprovalKey::Family([1; 32])).await.unwrap(), Some(open));
    let opened = world.store.find_credential(&[11; 32], at(20)).await.unwrap().unwrap();
    assert_eq!((&*opened.grant.id, opened.resource.as_deref()), ("g1", Some("/mcp")));
    let bound = Bound { approval: "a001".into(), resource: "/mcp".into() };
    assert_eq!(opened.grant.access_tokens[0].bound, Some(bound));

    // A second time, whoever it is: what came of it ends, and the grant, which is the operator's, goes on.
    assert_eq!(world.redeem(code(1, refresh(2, 1), 12, 30)).await, None);
    assert_eq!(world.good(&[11, 12], 30).await, [0; 0]);
    assert_eq!(world.turn(1, (1, 2), 13, 31).await, None);
    assert_eq!(
        (world.approvals("g1").await, world.state("g1").await),
        (Vec::<String>::new(), GrantState::Active)
    );
    let told = [
        said("oauth.approve", "ann", true),
        said("oauth.sign-in", "g1", true),
        said("oauth.foul", "g1", false),
    ];
    assert_eq!(world.told("a001").await, told);
    assert_eq!(world.told("g1").await, [said("grant.create", "ann", true)]);
    let world = world.reopen().await;
    assert_eq!(world.good(&[11, 12, 13], 40).await, [0; 0]);
}

/// What is wrong with a code ends it, and with it the grant that was made for it.
pub async fn a_code_is_good_for_one_try<B: Backend>() {
    let world = World::<B>::new().await;
    world.store.create_grant(grant("g0", 90, 0)).await.unwrap();
    let unproven = |n| brings(Brought::Code { code: [n; 32], proven: false }, refresh(n, 1), 11, 20);
    world.store.create_approval(made(1, "g1")).await.unwrap();
    assert_eq!(world.redeem(unproven(1)).await, None);
    assert_eq!(world.redeem(code(1, refresh(1, 1), 11, 21)).await, None);
    assert_eq!(world.state("g1").await, GrantState::Revoked { at: at(20) });

    world.store.create_approval(made(2, "g2")).await.unwrap();
    assert_eq!(world.redeem(code(2, refresh(2, 1), 12, 60_000)).await, None, "too late");
    assert_eq!(world.state("g2").await, GrantState::Revoked { at: at(60_000) });

    // A grant that was there before, or that somebody has a token of by then, goes on.
    world.store.create_approval(known(3, "g0")).await.unwrap();
    assert_eq!(world.redeem(unproven(3)).await, None);
    world.store.create_approval(made(4, "g4")).await.unwrap();
    let credential = NewCredential { digest: [44; 32], hint: "bt_44".to_owned() };
    world.regrant("g4", GrantChange::Rotate { credential, until: at(10) }, 15).await.unwrap();
    assert_eq!(world.redeem(unproven(4)).await, None);
    world.store.create_approval(made(5, "g5")).await.unwrap();
    world.store.create_approval(known(6, "g5")).await.unwrap();
    assert_eq!(world.redeem(unproven(5)).await, None);
    let world = world.reopen().await;
    for grant in ["g0", "g4", "g5"] {
        assert_eq!(world.state(grant).await, GrantState::Active, "{grant}");
    }
    assert!(world.redeem(code(6, refresh(6, 1), 16, 30)).await.is_some());
    assert_eq!(world.good(&[11, 12, 13, 14, 15, 16], 40).await, [16]);
}

pub async fn refresh_tokens_turn<B: Backend>() {
    let world = World::<B>::new().await;
    world.store.create_approval(made(1, "g1")).await.unwrap();
    world.store.create_approval(known(2, "g1")).await.unwrap();
    world.redeem(code(1, refresh(1, 1), 11, 20)).await.unwrap();
    world.redeem(code(2, refresh(2, 1), 21, 20)).await.unwrap();
    let open = world.turn(1, (1, 2), 12, 100_000).await.unwrap();
    assert_eq!(open.until, at(100_000).after(OAUTH_IDLE));
    assert_eq!(world.good(&[11, 12, 21], 100_001).await, [11, 12, 21], "the one before may be on its way");

    // An answer that was lost: the one before is good for a moment more, and the one that nobody saw is over.
    let world = world.reopen().await;
    assert!(world.turn(1, (1, 3), 13, 129_999).await.is_some());
    assert!(world.turn(1, (1, 4), 14, 129_999).await.is_some(), "and again");
    let before_long = world.turn(1, (1, 5), 15, 130_000).await;
    assert_eq!(before_long, None, "half a minute later it is somebody else");
    assert_eq!(world.good(&[11, 12, 13, 14, 15, 21], 130_001).await, [21], "the other client's is good");
    assert_eq!(world.approvals("g1").await, ["a002"]);
    assert_eq!(world.turn(1, (4, 6), 16, 130_002).await, None);

    // One that was given up is found out at once, as soon as a later one was used.
    assert!(world.turn(2, (1, 2), 22, 200_000).await.is_some());
    assert!(world.turn(2, (2, 3), 23, 200_001).await.is_some());
    assert_eq!(world.turn(2, (1, 4), 24, 200_002).await, None);
    assert_eq!(world.good(&[21, 22, 23, 24], 200_003).await, [0; 0]);
    assert_eq!(world.state("g1").await, GrantState::Active);
    assert_eq!(world.told("a002").await.last(), Some(&said("oauth.foul", "g1", false)));
}

/// Of two that come at once with the same, one at most takes the family on.
pub async fn one_code_in_parallel<B: Backend>() {
    let world = World::<B>::new().await;
    world.store.create_approval(made(1, "g1")).await.unwrap();
    let mut running = JoinSet::new();
    for n in 1..=8 {
        let store = Arc::clone(&world.store);
        running.spawn(async move { store.redeem(code(1, refresh(n, 1), 10 + n, 20)).await.unwrap() });
    }
    let taken = running.join_all().await.into_iter().flatten().count();
    assert_eq!(taken, 1);
    assert_eq!(world.good(&[11, 12, 13, 14, 15, 16, 17, 18], 21).await, [0; 0], "and the others ended it");
}

pub async fn approvals_end_with_their_grant<B: Backend>() {
    let world = World::<B>::new().await;
    let timed = NewGrant { expires_at: Some(at(5_000)), ..bare("g1", 10) };
    world.store.create_approval(approval(1, GrantOf::New(Box::new(timed)))).await.unwrap();
    world.store.create_approval(known(2, "g1")).await.unwrap();
    world.redeem(code(1, refresh(1, 1), 11, 20)).await.unwrap();

    // A rotation is about the grant's own tokens, a pause about all of it.
    let credential = NewCredential { digest: [33; 32], hint: "bt_33".to_owned() };
    world.regrant("g1", GrantChange::Rotate { credential, until: at(30) }, 30).await.unwrap();
    assert_eq!(world.good(&[11], 31).await, [11]);
    world.regrant("g1", GrantChange::Pause, 40).await.unwrap();
    let paused = world.store.redeem(code(2, refresh(2, 1), 12, 41)).await;
    assert!(matches!(paused, Err(Error::Barred(Barred::Paused))), "{paused:?}");
    world.regrant("g1", GrantChange::Resume, 42).await.unwrap();
    assert!(world.redeem(code(2, refresh(2, 1), 12, 43)).await.is_some(), "it was not used up");

    assert_eq!(world.good(&[11, 12], 5_000).await, [0; 0]);
    assert_eq!(world.turn(1, (1, 2), 13, 5_000).await, None);
    world.regrant("g1", GrantChange::Expire, 5_001).await.unwrap();
    let world = world.reopen().await;
    assert_eq!(world.approvals("g1").await, [""; 0]);
    let late = world.store.create_approval(known(3, "g1")).await;
    assert!(matches!(late, Err(Error::Barred(Barred::Over))), "{late:?}");
    assert!(matches!(world.store.create_approval(known(3, "g9")).await, Err(Error::NotFound)));
    let one = world.store.end_approval("a001", &ann(), at(6_000)).await;
    assert!(matches!(one, Err(Error::NotFound)), "{one:?}");
}

pub async fn approvals_end_one_by_one<B: Backend>() {
    let world = World::<B>::new().await;
    world.store.create_approval(made(1, "g1")).await.unwrap();
    for n in 2..=3 {
        world.store.create_approval(known(n, "g1")).await.unwrap();
    }
    for n in 1..=3 {
        world.redeem(code(n, refresh(n, 1), 10 + n, 20)).await.unwrap();
    }
    let ended = world.store.end_approval("a002", &Actor::new("bob", "socket"), at(30)).await.unwrap();
    assert_eq!(&*ended.id, "a002");
    let world = world.reopen().await;
    assert_eq!(
        (world.good(&[11, 12, 13], 31).await, world.approvals("g1").await),
        (vec![11, 13], vec!["a003".to_owned(), "a001".to_owned()])
    );
    assert_eq!(world.told("a002").await.last(), Some(&said("oauth.sign-out", "bob", true)));

    // By time: what was silent for too long, and codes that nobody fetched; their own grants with them.
    let later = 20 + i64::try_from(OAUTH_IDLE.as_millis()).unwrap();
    assert!(world.turn(3, (1, 2), 33, 1_000_000).await.is_some());
    assert_eq!(world.turn(1, (1, 2), 31, later).await, None);
    world.store.create_approval(made(4, "g4")).await.unwrap();
    world.store.create_approval(NewApproval { until: at(later + 1), ..made(5, "g5") }).await.unwrap();
    assert_eq!(world.store.lapse_approvals(at(59_999), 9).await.unwrap(), 0);
    assert_eq!(world.store.lapse_approvals(at(later), 1).await.unwrap(), 1);
    assert_eq!(world.store.lapse_approvals(at(later), 9).await.unwrap(), 1);
    assert_eq!(world.store.lapse_approvals(at(later), 9).await.unwrap(), 0);
    let world = world.reopen().await;
    assert_eq!(world.approvals("g1").await, ["a003"]);
    assert_eq!(world.state("g4").await, GrantState::Revoked { at: at(later) });
    assert_eq!((world.state("g1").await, world.state("g5").await), (GrantState::Active, GrantState::Active));
    assert_eq!(world.told("a004").await.last(), Some(&said("oauth.lapse", "node", true)));
}

/// Whoever refreshes all the time pushes nobody else out.
pub async fn a_client_ends_tokens_of_its_own<B: Backend>() {
    let world = World::<B>::new().await;
    world.store.create_approval(made(1, "g1")).await.unwrap();
    world.store.create_approval(known(2, "g1")).await.unwrap();
    world.store.create_approval(made(3, "g3")).await.unwrap();
    world.redeem(code(1, refresh(1, 1), 101, 20)).await.unwrap();
    world.redeem(code(2, refresh(2, 1), 201, 10)).await.unwrap();
    for n in 2..=9 {
        world.turn(1, (n - 1, n), 100 + n, 20 + i64::from(n)).await.unwrap();
    }
    let world = world.reopen().await;
    let all: Vec<u8> = (101..=109).chain([201]).collect();
    assert_eq!(world.good(&all, 60).await, all[1..], "the first of its own went");
    let listed = world.store.list_approvals(None).await.unwrap();
    let ids: Vec<_> = listed.iter().map(|approval| &*approval.id).collect();
    assert_eq!(ids, ["a003", "a002", "a001"]);
}

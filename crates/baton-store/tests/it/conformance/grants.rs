//! Grants: made, found by token, changed, ended, and what an ended one still does.

use std::sync::Arc;

use baton_core::ident::Owner;
use baton_core::task::Input;
use baton_core::time::Timestamp;
use baton_store::{
    Access, Actor, Barred, By, Error, Grant, GrantChange, GrantLimits, GrantState, NewCredential, NewGrant,
    Opened, Per, Rate, Tasks, Verb,
};

use super::Backend;
use super::script::*;
use super::world::World;

/// A grant for two agents, its token's digest being this number.
pub fn grant(id: &str, digest: u8, now: i64) -> NewGrant {
    NewGrant {
        id: id.into(),
        label: format!("for {id}"),
        agents: vec![agent("echo"), agent("other")],
        verbs: vec![Verb::Send, Verb::Read, Verb::ExtendedCard],
        limits: GrantLimits::default(),
        expires_at: None,
        credential: Some(credential(digest)),
        by: ann(),
        now: at(now),
    }
}

fn credential(digest: u8) -> NewCredential {
    NewCredential { digest: [digest; 32], hint: format!("bt_{digest}") }
}

pub fn ann() -> Actor {
    Actor::new("ann", "socket")
}

impl<B: Backend> World<B> {
    pub async fn regrant(&self, id: &str, change: GrantChange, now: i64) -> Result<Arc<Grant>, Error> {
        self.store.change_grant(id, change, &Actor::new("bob", "192.0.2.7"), at(now)).await
    }

    /// All grants, newest first.
    async fn grants(&self) -> Vec<Arc<Grant>> {
        self.store.list_grants().await.unwrap().into_iter().map(|record| record.grant).collect()
    }

    /// The id of the grant that a token opens.
    async fn opens(&self, digest: u8, now: i64) -> Option<String> {
        let found = self.store.find_credential(&[digest; 32], at(now)).await.unwrap();
        found.map(|opened| opened.grant.id.to_string())
    }
}

fn barred<T: std::fmt::Debug>(answer: Result<T, Error>) -> Barred {
    match answer {
        Err(Error::Barred(barred)) => barred,
        other => panic!("{other:?}"),
    }
}

pub async fn create_list_revoke<B: Backend>() {
    let world = World::<B>::new().await;
    assert_eq!(world.grants().await, []);
    let first = world.store.create_grant(grant("g1", 1, 10)).await.unwrap();
    let second = world.store.create_grant(grant("g2", 2, 20)).await.unwrap();
    let limits = GrantLimits {
        rate: Some(Rate { requests: 10, per: Per::Minute, burst: 3 }),
        open_tasks: Some(2),
        tasks_per_day: None,
        body: Some(2048),
    };
    let third = NewGrant { limits, expires_at: Some(at(9_000)), ..grant("g3", 3, 20) };
    let third = world.store.create_grant(third).await.unwrap();
    assert_eq!((first.label.as_str(), first.state), ("for g1", GrantState::Active));
    assert_eq!((first.credentials.len(), first.credentials[0].hint.as_str()), (1, "bt_1"));
    assert_eq!((first.created_by.as_str(), first.created_at), ("ann", at(10)));
    assert_eq!(first.verbs, [Verb::Send, Verb::Read, Verb::ExtendedCard]);
    assert_eq!(first.agents, [agent("echo"), agent("other")]);
    assert_eq!((third.limits, third.expires_at), (limits, Some(at(9_000))));
    let listed = vec![third.clone(), second.clone(), first.clone()];
    assert_eq!(world.grants().await, listed);
    let world = world.reopen().await;
    assert_eq!(world.grants().await, listed);
    let opened = world.store.find_credential(&[1; 32], at(20)).await.unwrap();
    assert_eq!(opened, Some(Opened { grant: Arc::clone(&first), until: None, verbs: None, resource: None }));
    assert_eq!(world.opens(9, 20).await, None);
    assert_eq!(world.store.find_grant("g2").await.unwrap().unwrap().grant, second);
    assert_eq!(world.store.find_grant("g9").await.unwrap(), None);

    let revoked = world.regrant("g1", GrantChange::Revoke, 30).await.unwrap();
    assert_eq!(revoked.state, GrantState::Revoked { at: at(30) });
    assert_eq!((revoked.changed_by.as_str(), revoked.changed_at), ("bob", at(30)));
    assert_eq!(revoked.credentials[0].expires_at, Some(at(30)));
    assert_eq!(world.regrant("g1", GrantChange::Revoke, 40).await.unwrap(), revoked);
    assert!(matches!(world.regrant("g9", GrantChange::Revoke, 40).await, Err(Error::NotFound)));
    for change in [GrantChange::Pause, GrantChange::Resume] {
        assert_eq!(barred(world.regrant("g1", change, 40).await), Barred::Over);
    }
    let listed = vec![third, second, revoked.clone()];
    assert_eq!(world.grants().await, listed);
    assert_eq!(world.opens(1, 40).await, None);
    let world = world.reopen().await;
    assert_eq!(world.grants().await, listed);
    assert_eq!((world.opens(1, 40).await, world.opens(2, 40).await), (None, Some("g2".into())));
    assert_eq!(world.regrant("g1", GrantChange::Revoke, 50).await.unwrap(), revoked);
}

pub async fn a_revoked_grant_takes_nothing<B: Backend>() {
    let mut world = World::<B>::new().await;
    let owned = |n| {
        let mut made = new(n);
        made.owner = Owner::new("g1", "ann");
        made
    };
    let by = By::Owner(agent("echo"), Owner::new("g1", "ann"));
    assert_eq!(barred(world.store.apply(create(owned(1), at(0))).await), Barred::Over);
    world.store.create_grant(grant("g1", 1, 0)).await.unwrap();
    let sent = create(owned(1), at(0));
    world.apply(sent.clone()).await;
    world.regrant("g1", GrantChange::Revoke, 1).await.unwrap();
    for _ in 0..2 {
        let mut follow_up = change(task(1), vec![messaged("m2", "more")], at(2));
        follow_up.by = by.clone();
        for op in [create(owned(2), at(2)), follow_up, sent.clone()] {
            assert_eq!(barred(world.store.apply(op).await), Barred::Over);
        }
        assert_eq!(world.store.find(&By::Node, task(2)).await.unwrap(), None);
        world = world.reopen().await;
    }
    // The node still ends what came in by it.
    assert_eq!(world.store.open_of_revoked(9).await.unwrap(), [task(1)]);
    let applied = world.change(task(1), vec![Input::GrantRevoked], at(3)).await;
    assert!(applied.known.task().state.is_terminal());
    assert_eq!(world.store.open_of_revoked(9).await.unwrap(), []);
}

pub async fn open_tasks_of_revoked_grants<B: Backend>() {
    let world = World::<B>::new().await;
    for (id, digest) in [("gone", 1), ("good", 2)] {
        world.store.create_grant(grant(id, digest, 0)).await.unwrap();
    }
    for (n, of, inputs) in [
        (1, "gone", vec![]),
        (2, "gone", vec![claimed(node("boot"))]),
        (3, "gone", vec![claimed(node("boot")), asked(1)]),
        (4, "gone", vec![claimed(node("boot")), completed(1)]),
        (5, "good", vec![]),
        (6, "local", vec![]),
    ] {
        let mut made = new(n);
        made.owner = Owner::new(of, "somebody");
        let mut op = create_with(made, inputs, at(0));
        op.by = By::Node;
        world.apply(op).await;
    }
    assert_eq!(world.store.open_of_revoked(9).await.unwrap(), []);
    world.regrant("gone", GrantChange::Revoke, 1).await.unwrap();
    assert_eq!(world.store.open_of_revoked(9).await.unwrap(), [task(1), task(2), task(3)]);
    assert_eq!(world.store.open_of_revoked(2).await.unwrap(), [task(1), task(2)]);
    // A holder that was told to end its work is not told again.
    world.change(task(2), vec![Input::GrantRevoked], at(1)).await;
    assert_eq!(world.store.open_of_revoked(9).await.unwrap(), [task(1), task(3)]);
}

pub async fn two_revocations_at_once<B: Backend>() {
    let world = World::<B>::new().await;
    world.store.create_grant(grant("g1", 1, 0)).await.unwrap();
    let both = tokio::join!(
        world.regrant("g1", GrantChange::Revoke, 5),
        world.regrant("g1", GrantChange::Revoke, 6)
    );
    let (first, second) = (both.0.unwrap(), both.1.unwrap());
    assert!(first.state.is_over());
    assert_eq!(first, second);
}

/// A paused grant takes nothing and keeps its token; what it handed in goes on.
pub async fn a_paused_grant_comes_back<B: Backend>() {
    let mut world = World::<B>::new().await;
    world.store.create_grant(grant("g1", 1, 0)).await.unwrap();
    let owned = |n| {
        let mut made = new(n);
        made.owner = Owner::new("g1", "");
        made
    };
    world.apply(create_with(owned(1), vec![claimed(node("boot"))], at(0))).await;
    let paused = world.regrant("g1", GrantChange::Pause, 5).await.unwrap();
    assert_eq!(paused.state, GrantState::Paused { at: at(5) });
    assert_eq!(world.regrant("g1", GrantChange::Pause, 6).await.unwrap(), paused);
    for _ in 0..2 {
        assert_eq!(barred(world.store.apply(create(owned(2), at(6))).await), Barred::Paused);
        assert_eq!(world.opens(1, 6).await.as_deref(), Some("g1"), "who it is stays known");
        assert_eq!(world.store.open_of_revoked(9).await.unwrap(), []);
        world = world.reopen().await;
    }
    world.change(task(1), vec![completed(1)], at(7)).await;
    let active = world.regrant("g1", GrantChange::Resume, 8).await.unwrap();
    assert_eq!((active.state, active.credentials[0].expires_at), (GrantState::Active, None));
    world.apply(create(owned(2), at(9))).await;
    // What is paused can be ended, and is over then.
    world.regrant("g1", GrantChange::Pause, 10).await.unwrap();
    world.regrant("g1", GrantChange::Revoke, 11).await.unwrap();
    assert_eq!(barred(world.regrant("g1", GrantChange::Resume, 12).await), Barred::Over);
}

/// Two tokens are good while they overlap, and after that the new one.
pub async fn a_rotation_overlaps<B: Backend>() {
    let mut world = World::<B>::new().await;
    world.store.create_grant(grant("g1", 1, 0)).await.unwrap();
    let rotate = |digest, until| GrantChange::Rotate { credential: credential(digest), until: at(until) };
    world.regrant("g1", rotate(2, 100), 10).await.unwrap();
    for _ in 0..2 {
        for (digest, now, good) in [(1, 99, true), (1, 100, false), (2, 99, true), (2, 1_000_000, true)] {
            assert_eq!(world.opens(digest, now).await.is_some(), good, "{digest} at {now}");
        }
        world = world.reopen().await;
    }
    // A second rotation prolongs nothing; with no overlap, the ones before end at once.
    let rotated = world.regrant("g1", rotate(3, 200), 20).await.unwrap();
    let ends: Vec<_> = rotated.credentials.iter().map(|known| known.expires_at).collect();
    assert_eq!(ends, [Some(at(100)), Some(at(200)), None]);
    world.regrant("g1", rotate(4, 30), 30).await.unwrap();
    for (digest, good) in [(1, false), (2, false), (3, false), (4, true)] {
        assert_eq!(world.opens(digest, 30).await.is_some(), good, "{digest}");
    }
}

/// From its time on a grant takes nothing, whoever has said so; that is an end like a revocation.
pub async fn a_grant_expires<B: Backend>() {
    let mut world = World::<B>::new().await;
    let ending = NewGrant { expires_at: Some(at(100)), ..grant("g1", 1, 0) };
    world.store.create_grant(ending).await.unwrap();
    world.store.create_grant(grant("g2", 2, 0)).await.unwrap();
    let owned = |n| {
        let mut made = new(n);
        made.owner = Owner::new("g1", "");
        made
    };
    world.apply(create(owned(1), at(99))).await;
    assert_eq!((world.opens(1, 99).await.is_some(), world.opens(1, 100).await), (true, None));
    assert_eq!(barred(world.store.apply(create(owned(2), at(100))).await), Barred::Over);
    assert_eq!(barred(world.regrant("g1", GrantChange::Pause, 100).await), Barred::Over);
    assert_eq!(world.store.expired_grants(at(99)).await.unwrap(), []);
    // Too early, it changes nothing.
    assert_eq!(world.regrant("g1", GrantChange::Expire, 99).await.unwrap().state, GrantState::Active);
    world = world.reopen().await;
    assert_eq!(world.store.expired_grants(at(100)).await.unwrap(), [Arc::from("g1")]);
    assert_eq!(world.store.open_of_revoked(9).await.unwrap(), []);
    let over = world.regrant("g1", GrantChange::Expire, 105).await.unwrap();
    assert_eq!(over.state, GrantState::Expired { at: at(100) });
    assert_eq!(world.regrant("g2", GrantChange::Expire, 105).await.unwrap().state, GrantState::Active);
    for _ in 0..2 {
        assert_eq!(world.store.expired_grants(at(105)).await.unwrap(), []);
        assert_eq!(world.store.open_of_revoked(9).await.unwrap(), [task(1)]);
        // A clock that is set back does not bring it back.
        assert_eq!(world.opens(1, 50).await, None);
        assert_eq!(barred(world.store.apply(create(owned(3), at(50))).await), Barred::Over);
        world = world.reopen().await;
    }
}

fn limited(open_tasks: Option<u32>, tasks_per_day: Option<u32>) -> NewGrant {
    let limits = GrantLimits { open_tasks, tasks_per_day, ..GrantLimits::default() };
    NewGrant { limits, ..grant("g1", 1, 0) }
}

/// A task of the grant `g1`, of one of its users.
fn of(subject: &str, n: u128, now: Timestamp) -> baton_store::Op {
    let mut made = new(n);
    made.owner = Owner::new("g1", subject);
    create(made, now)
}

/// All users and agents of a grant count together; what has ended leaves room.
pub async fn open_tasks_are_counted<B: Backend>() {
    let mut world = World::<B>::new().await;
    world.store.create_grant(limited(Some(2), None)).await.unwrap();
    world.apply(of("ann", 1, at(0))).await;
    let mut elsewhere = new(2);
    (elsewhere.owner, elsewhere.agent) = (Owner::new("g1", "bob"), agent("other"));
    world.apply(create(elsewhere, at(0))).await;
    for _ in 0..2 {
        let full = Barred::OpenTasks { most: 2 };
        assert_eq!(barred(world.store.apply(of("ann", 3, at(1))).await), full);
        let mut keyed = of("ann", 3, at(1));
        keyed.create.as_mut().unwrap().idempotency =
            Some(baton_store::Idempotency { key: "k".into(), digest: [1; 32] });
        assert_eq!(barred(world.store.apply(keyed).await), full);
        assert_eq!(world.store.find(&By::Node, task(3)).await.unwrap(), None, "nothing is made");
        // A turn of one that is open is none more.
        let mut turn = change(task(1), vec![messaged("m", "more")], at(1));
        turn.by = By::Owner(agent("echo"), Owner::new("g1", "ann"));
        world.apply(turn).await;
        world = world.reopen().await;
    }
    world.change(task(1), vec![claimed(node("boot")), completed(1)], at(2)).await;
    // The key that was refused stands for nothing.
    let mut keyed = of("ann", 4, at(3));
    keyed.create.as_mut().unwrap().idempotency =
        Some(baton_store::Idempotency { key: "k".into(), digest: [2; 32] });
    let applied = world.apply(keyed.clone()).await;
    assert!(!applied.repeated);
    // A repeat makes nothing, so that it is no task too many.
    let mut again = of("ann", 5, at(3));
    again.create.as_mut().unwrap().idempotency = keyed.create.unwrap().idempotency;
    assert!(world.apply(again).await.repeated);
    assert_eq!(barred(world.store.apply(of("ann", 6, at(3))).await), Barred::OpenTasks { most: 2 });
    let usage = world.store.find_grant("g1").await.unwrap().unwrap().usage.unwrap();
    assert_eq!((usage.open, usage.made_on(at(3))), (2, 3));
}

/// What is done at once is never open, and is counted all the same.
pub async fn tasks_of_a_day_are_counted<B: Backend>() {
    const DAY: i64 = 24 * 60 * 60 * 1000;
    let mut world = World::<B>::new().await;
    world.store.create_grant(limited(Some(1), Some(3))).await.unwrap();
    // at(0) is 08:00 UTC.
    let midnight = DAY - 8 * 60 * 60 * 1000;
    let done = |n, now| {
        let mut op = of("", n, at(now));
        op.inputs = vec![claimed(node("boot")), completed(1)];
        op
    };
    for n in 1..=3 {
        world.apply(done(n, 0)).await;
    }
    for _ in 0..2 {
        let refused = barred(world.store.apply(done(4, midnight - 1_500)).await);
        let again_in = std::time::Duration::from_millis(1_500);
        assert_eq!(refused, Barred::TasksPerDay { most: 3, again_in });
        world = world.reopen().await;
    }
    world.apply(done(4, midnight)).await;
    // A clock that is set back does not begin the day before anew.
    for n in 5..=6 {
        world.apply(done(n, midnight - 1)).await;
    }
    assert!(matches!(barred(world.store.apply(done(7, midnight - 1)).await), Barred::TasksPerDay { .. }));
    let usage = world.store.find_grant("g1").await.unwrap().unwrap().usage.unwrap();
    assert_eq!((usage.open, usage.made_on(at(midnight)), usage.made_on(at(midnight + DAY))), (0, 3, 0));
}

/// Whoever comes at the same time, no more get in than may.
pub async fn a_quota_holds_in_parallel<B: Backend>() {
    let world = World::<B>::new().await;
    world.store.create_grant(limited(Some(5), None)).await.unwrap();
    let answers = world.apply_all((0..40).map(|n| of("", n, at(0))).collect()).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 5);
    let refused = answers.into_iter().filter(Result::is_err).map(barred);
    refused.for_each(|why| assert_eq!(why, Barred::OpenTasks { most: 5 }));
}

pub async fn uses_are_kept<B: Backend>() {
    let world = World::<B>::new().await;
    for (id, digest) in [("g1", 1), ("g2", 2)] {
        world.store.create_grant(grant(id, digest, 0)).await.unwrap();
    }
    world.opens(1, 5).await;
    world.opens(1, 7).await;
    let used =
        async |world: &World<B>, id: &str| world.store.find_grant(id).await.unwrap().unwrap().last_used_at;
    assert_eq!(used(&world, "g1").await, Some(at(7)), "known before it is stored");
    assert_eq!((world.store.store_uses().await.unwrap(), world.store.store_uses().await.unwrap()), (1, 0));
    // A call that is refused is no use.
    world.regrant("g1", GrantChange::Pause, 8).await.unwrap();
    world.opens(1, 9).await;
    let world = world.reopen().await;
    assert_eq!((used(&world, "g1").await, used(&world, "g2").await), (Some(at(7)), None));
}

/// Two users of one grant are two owners: of tasks, contexts, pages, keys and webhooks.
pub async fn users_of_one_grant_do_not_meet<B: Backend>() {
    use baton_store::Delivery as _;
    let world = World::<B>::new().await;
    let mut made = grant("g1", 1, 0);
    made.verbs = Verb::ALL.to_vec();
    world.store.create_grant(made).await.unwrap();
    let keyed = |subject: &str, n| {
        let mut op = of(subject, n, at(0));
        op.create.as_mut().unwrap().idempotency =
            Some(baton_store::Idempotency { key: "same".into(), digest: [1; 32] });
        op
    };
    let first = world.apply(keyed("ann", 1)).await;
    let second = world.apply(keyed("bob", 2)).await;
    assert!(!first.repeated && !second.repeated, "one key of two users is two keys");
    assert_eq!(first.known.task().context_id, second.known.task().context_id);
    let by = |subject: &str| By::Owner(agent("echo"), Owner::new("g1", subject));
    for (mine, theirs, subject) in [(1, 2, "ann"), (2, 1, "bob")] {
        let by = by(subject);
        assert!(world.store.find(&by, task(mine)).await.unwrap().is_some());
        assert_eq!(world.store.find(&by, task(theirs)).await.unwrap(), None);
        let mut query = everything();
        query.owner = Owner::new("g1", subject);
        for context in [None, Some(new(1).context_id)] {
            query.context = context;
            let page = world.store.list(query.clone()).await.unwrap();
            let ids: Vec<_> = page.tasks.iter().map(|snapshot| snapshot.task.id).collect();
            assert_eq!((ids, page.total), (vec![task(mine)], 1));
        }
        let mut turn = change(task(theirs), vec![messaged("m", "x")], at(1));
        turn.by = by.clone();
        assert!(matches!(world.store.apply(turn).await, Err(Error::NotFound)));
        let put = world.store.put_push_config(&by, task(theirs), super::push::hook("a"), at(1)).await;
        assert!(matches!(put, Err(Error::NotFound)), "{put:?}");
        world.store.put_push_config(&by, task(mine), super::push::hook("b"), at(1)).await.unwrap();
        let deleted = world.store.delete_push_config((&by, at(1)), task(theirs), "b").await;
        assert!(matches!(deleted, Err(Error::NotFound)), "{deleted:?}");
    }
    // The end of the grant is the end for all of them.
    world.regrant("g1", GrantChange::Revoke, 2).await.unwrap();
    assert_eq!(world.store.open_of_revoked(9).await.unwrap(), [task(1), task(2)]);
}

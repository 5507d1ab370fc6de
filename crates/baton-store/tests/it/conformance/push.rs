//! Push configurations: stored with their task, owed what happens to it, settled try by try.

use std::time::Duration;

use baton_core::delivery::{End, Input as Happened, State};
use baton_core::ident::Owner;
use baton_core::limits::{PUSH_CONFIGS, WEBHOOK_ATTEMPTS};
use baton_core::task::{Input, Refusal};
use baton_store::{
    Access, Audit, AuditQuery, Barred, By, DeliveriesQuery, Delivery, DeliveryAttempt, Edition, Error,
    GrantChange, NewGrant, NewPush, Owed, PushConfig, Settle, Tasks, Verb,
};

use super::Backend;
use super::grants::{ann, grant};
use super::script::*;
use super::world::World;

const TARGET: &str = "https://hooks.example";

pub fn hook(id: &str) -> NewPush {
    hook_at(id, TARGET)
}

fn hook_at(id: &str, target: &str) -> NewPush {
    NewPush {
        id: id.into(),
        url: format!("{target}/hook?for={id}"),
        target: target.into(),
        scheme: Some("Bearer".into()),
        secret: Some(vec![1, 2, 3]),
        edition: Edition::V03,
    }
}

pub async fn put<B: Backend>(world: &World<B>, n: u128, new: NewPush, now: i64) -> PushConfig {
    world.store.put_push_config(&by_owner(), task(n), new, at(now)).await.unwrap()
}

async fn find<B: Backend>(world: &World<B>, n: u128, id: &str) -> PushConfig {
    world.store.find_push_config(task(n), id).await.unwrap().expect("it is there")
}

async fn owed<B: Backend>(world: &World<B>, now: i64) -> Vec<Owed> {
    world.store.owed(TARGET, at(now), 100).await.unwrap()
}

pub fn settle(config: &PushConfig, cursor: u64, input: Happened, now: i64) -> Settle {
    let attempt = DeliveryAttempt {
        number: 0,
        seq: cursor,
        at: at(now),
        took: Duration::from_millis(7),
        status: Some(200),
        error: None,
    };
    Settle {
        task: config.task,
        id: config.id.clone(),
        revision: config.revision,
        cursor,
        input,
        attempt: Some(attempt),
        now: at(now),
    }
}

/// The first revision of a configuration that was made at this time.
fn revision(millis: i64) -> u64 {
    u64::try_from(at(millis).as_millis()).unwrap()
}

pub const TAKEN: Happened = Happened::Taken { more: false };

const fn idle() -> State {
    State::Active { failures: 0, due_at: None }
}

pub async fn stored_with_its_task<B: Backend>() {
    let world = World::<B>::new().await;
    let mut op = create_with(new(1), vec![claimed(node("boot")), completed(1)], at(5));
    op.push = Some(hook("inline"));
    world.apply(op.clone()).await;
    let stored = find(&world, 1, "inline").await;
    let expected = PushConfig {
        task: task(1),
        id: "inline".into(),
        url: "https://hooks.example/hook?for=inline".into(),
        target: TARGET.into(),
        scheme: Some("Bearer".into()),
        edition: Edition::V03,
        created_at: at(5),
        state: State::Active { failures: 0, due_at: Some(at(5)) },
        cursor: 1,
        tries: 0,
        revision: revision(5),
    };
    assert_eq!(stored, expected);
    // Only a part of the commit: refused together.
    let mut refused = create_with(new(2), vec![completed(9)], at(5));
    refused.push = Some(hook("inline"));
    assert!(world.store.apply(refused).await.is_err());
    assert_eq!(world.store.find_push_config(task(2), "inline").await.unwrap(), None);
    op.repeat = true;
    assert!(world.apply(op).await.repeated);
    let world = world.reopen().await;
    assert_eq!(find(&world, 1, "inline").await, expected);
    let [found] = &owed(&world, 5).await[..] else { panic!("one is owed something") };
    assert_eq!((&found.config, found.secret.as_deref()), (&expected, Some(&[1, 2, 3][..])));
    assert_eq!(found.events.iter().map(|event| event.seq).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(*found.task, world.load(task(1)).await.task);
}

pub async fn owed_what_happens_afterwards<B: Backend>() {
    let mut world = World::<B>::new().await;
    world.apply(create_with(new(1), vec![claimed(node("boot"))], at(0))).await;
    world.apply(create(new(2), at(0))).await;
    assert_eq!(put(&world, 1, hook("a"), 1).await.state, idle());
    for reopened in [false, true] {
        if reopened {
            world = world.reopen().await;
        }
        assert_eq!(owed(&world, 1_000).await.len(), 0);
        // A task without a configuration owes nothing, and what is not told neither.
        world.change(task(2), vec![messaged("m", "more")], at(10)).await;
        world
            .change(
                task(1),
                vec![Input::Used { attempt: 1, usage: baton_core::json::Object::parse("{}").unwrap() }],
                at(10),
            )
            .await;
        assert_eq!(owed(&world, 1_000).await.len(), 0);
        let told = world.change(task(1), vec![wrote(1, chunk("x", "y", false))], at(20)).await;
        let due = find(&world, 1, "a").await;
        assert_eq!(due.state, State::Active { failures: 0, due_at: Some(at(20)) });
        assert_eq!(world.store.due_targets("", 9).await.unwrap()[0].first, at(20));
        assert_eq!(owed(&world, 19).await.len(), 0);
        let found = owed(&world, 20).await;
        let seq = told.events[0].seq;
        assert_eq!(found[0].events.last().unwrap().seq, seq);
        let state = world.store.settle(settle(&found[0].config, seq, TAKEN, 21)).await.unwrap();
        assert_eq!(state, Some(idle()));
        assert_eq!(find(&world, 1, "a").await.cursor, seq);
    }
}

pub async fn what_came_meanwhile_stays_owed<B: Backend>() {
    let world = World::<B>::new().await;
    world.apply(create_with(new(1), vec![claimed(node("boot"))], at(0))).await;
    let config = put(&world, 1, hook("a"), 0).await;
    world.change(task(1), vec![wrote(1, chunk("x", "y", false))], at(1)).await;
    let seen = owed(&world, 1).await.remove(0);
    world.change(task(1), vec![completed(1)], at(2)).await;
    let seq = seen.events[0].seq;
    let state = world.store.settle(settle(&config, seq, TAKEN, 3)).await.unwrap();
    assert_eq!(state, Some(State::Active { failures: 0, due_at: Some(at(3)) }));
    let rest = owed(&world, 3).await.remove(0);
    assert_eq!(rest.events.iter().map(|event| event.seq).collect::<Vec<_>>(), [seq + 1]);
    let last = world.store.settle(settle(&rest.config, seq + 1, TAKEN, 4)).await.unwrap();
    assert_eq!(last, Some(idle()));
    assert_eq!(world.store.due_targets("", 9).await.unwrap(), []);
    let log = world.store.delivery_attempts(task(1), "a", None, 9).await.unwrap();
    assert_eq!(log.iter().map(|try_| (try_.number, try_.seq)).collect::<Vec<_>>(), [(2, seq + 1), (1, seq)]);
    assert_eq!(world.store.delivery_attempts(task(1), "a", Some(2), 9).await.unwrap(), log[1..]);
}

pub async fn failures_suspend_and_a_replay_begins_again<B: Backend>() {
    let mut world = World::<B>::new().await;
    world.apply(create_with(new(1), vec![claimed(node("boot"))], at(0))).await;
    let config = put(&world, 1, hook("a"), 0).await;
    world.change(task(1), vec![completed(1)], at(0)).await;
    let failed = Happened::Failed { retry_after: None, chance: 0 };
    for n in 1..WEBHOOK_ATTEMPTS {
        let state = world.store.settle(settle(&config, 2, failed, 0)).await.unwrap();
        assert!(
            matches!(state, Some(State::Active { failures, due_at: Some(due) }) if failures == n && due > at(0))
        );
    }
    assert_eq!(world.store.settle(settle(&config, 2, failed, 0)).await.unwrap(), Some(State::Suspended));
    // Nothing moves it but the operator.
    assert_eq!(world.store.settle(settle(&config, 3, TAKEN, 0)).await.unwrap(), None);
    world = world.reopen().await;
    let suspended = find(&world, 1, "a").await;
    assert_eq!(
        (suspended.state, suspended.cursor, suspended.tries),
        (State::Suspended, 2, u64::from(WEBHOOK_ATTEMPTS))
    );
    assert_eq!(owed(&world, i64::from(i32::MAX)).await.len(), 0);
    let replayed = world.store.replay(task(1), "a", (&ann(), at(9))).await.unwrap();
    assert_eq!(replayed.state, State::Active { failures: 0, due_at: Some(at(9)) });
    assert_eq!(owed(&world, 9).await[0].events[0].seq, 3);
    assert!(matches!(world.store.replay(task(1), "b", (&ann(), at(9))).await, Err(Error::NotFound)));
}

pub async fn gone_is_the_end_of_one<B: Backend>() {
    let world = World::<B>::new().await;
    world.apply(create_with(new(1), vec![claimed(node("boot"))], at(0))).await;
    let (gone, stays) = (put(&world, 1, hook("gone"), 0).await, put(&world, 1, hook("stays"), 0).await);
    world.change(task(1), vec![wrote(1, chunk("x", "y", false))], at(1)).await;
    let ended = world.store.settle(settle(&gone, 2, Happened::Gone, 1)).await.unwrap();
    assert_eq!(ended, Some(State::Ended(End::Gone)));
    world.change(task(1), vec![completed(1)], at(2)).await;
    let found = owed(&world, 5).await;
    assert_eq!(found.iter().map(|owed| owed.config.id.clone()).collect::<Vec<_>>(), [stays.id]);
    // Made again, it gets what it missed.
    let again = put(&world, 1, hook("gone"), 6).await;
    assert_eq!((again.state, again.cursor), (State::Active { failures: 0, due_at: Some(at(6)) }, 2));
    assert_eq!(
        world.store.settle(settle(&gone, 4, TAKEN, 7)).await.unwrap(),
        None,
        "a try at the earlier one"
    );
    // Also where the later one was made from nothing.
    assert!(world.store.delete_push_config((&by_owner(), at(9)), task(1), "gone").await.unwrap());
    put(&world, 1, hook("gone"), 8).await;
    for earlier in [&gone, &again] {
        assert_eq!(world.store.settle(settle(earlier, 4, Happened::Gone, 9)).await.unwrap(), None);
    }
}

pub async fn sixteen_of_a_task<B: Backend>() {
    let world = World::<B>::new().await;
    world.apply(create(new(1), at(0))).await;
    for n in 0..PUSH_CONFIGS {
        put(&world, 1, hook(&format!("{n:02}")), 0).await;
    }
    let refused = world.store.put_push_config(&by_owner(), task(1), hook("more"), at(0)).await;
    assert!(matches!(refused, Err(Error::Refused(Refusal::TooManyPushConfigs))), "{refused:?}");
    assert_eq!(put(&world, 1, hook("07"), 1).await.revision, revision(0) + 1);
    let mut inline = change(task(1), vec![messaged("m", "x")], at(1));
    inline.push = Some(hook("more"));
    let before = world.load(task(1)).await;
    assert!(matches!(world.store.apply(inline).await, Err(Error::Refused(Refusal::TooManyPushConfigs))));
    assert_eq!(world.load(task(1)).await, before, "the message is refused with it");
    let world = world.reopen().await;
    assert_eq!(world.load(task(1)).await, before);
    assert_eq!(world.log(task(1)).await.len(), 1);
    let page = world.store.list_push_configs(task(1), "13", 9).await.unwrap();
    assert_eq!(page.iter().map(|config| &*config.id).collect::<Vec<_>>(), ["14", "15"]);
    assert_eq!(world.store.list_push_configs(task(1), "", 3).await.unwrap().len(), 3);
    assert!(world.store.delete_push_config((&by_owner(), at(9)), task(1), "00").await.unwrap());
    assert!(!world.store.delete_push_config((&by_owner(), at(9)), task(1), "00").await.unwrap());
    put(&world, 1, hook("more"), 2).await;
}

pub async fn only_who_sees_the_task<B: Backend>() {
    let world = World::<B>::new().await;
    world.apply(create(new(1), at(0))).await;
    put(&world, 1, hook("a"), 0).await;
    let eve = By::Owner(agent("echo"), Owner::new("local", "eve"));
    for (by, n) in [(&eve, 1), (&by_owner(), 99)] {
        let put = world.store.put_push_config(by, task(n), hook("a"), at(1)).await;
        assert!(matches!(put, Err(Error::NotFound)), "{put:?}");
        let deleted = world.store.delete_push_config((by, at(9)), task(n), "a").await;
        assert!(matches!(deleted, Err(Error::NotFound)), "{deleted:?}");
    }
    assert_eq!(find(&world, 1, "a").await.revision, revision(0));
}

pub async fn a_revoked_grant_ends_its_own<B: Backend>() {
    let world = World::<B>::new().await;
    let mut theirs = new(1);
    theirs.owner = Owner::new("g1", "");
    let grant = NewGrant { verbs: vec![Verb::Push], ..grant("g1", 1, 0) };
    world.store.create_grant(grant).await.unwrap();
    let mut op = create_with(theirs, vec![claimed(node("boot"))], at(0));
    op.push = Some(hook("a"));
    world.apply(op).await;
    world.apply(create(new(2), at(0))).await;
    put(&world, 2, hook("a"), 0).await;
    let under_way = owed(&world, 0).await.remove(0);
    let by = By::Owner(agent("echo"), Owner::new("g1", ""));
    world.store.put_push_config(&by, task(1), hook("gone"), at(0)).await.unwrap();
    let gone = find(&world, 1, "gone").await;
    world.store.settle(settle(&gone, 2, Happened::Gone, 0)).await.unwrap();
    world.regrant("g1", GrantChange::Revoke, 1).await.unwrap();
    world.change(task(1), vec![Input::GrantRevoked], at(2)).await;
    assert_eq!(find(&world, 1, "a").await.state, State::Ended(End::Revoked));
    assert_eq!(world.store.settle(settle(&under_way.config, 2, TAKEN, 3)).await.unwrap(), None);
    assert_eq!(
        world.store.replay(task(1), "a", (&ann(), at(4))).await.unwrap().state,
        State::Ended(End::Revoked)
    );
    let replayed = world.store.replay(task(1), "gone", (&ann(), at(4))).await.unwrap();
    assert_eq!(replayed.state, State::Ended(End::Revoked), "nothing brings back what had ended before");
    let query = AuditQuery { action: Some("delivery".into()), size: 9, ..AuditQuery::default() };
    assert_eq!(world.store.list_audit(query).await.unwrap(), [], "what changed nothing is not written down");
    assert_eq!(owed(&world, 1_000).await.len(), 0);
    assert_eq!(find(&world, 2, "a").await.state, idle());
    let refused = world.store.put_push_config(&by, task(1), hook("b"), at(5)).await;
    assert!(matches!(refused, Err(Error::Barred(Barred::Over))), "{refused:?}");
}

pub async fn targets_and_lists<B: Backend>() {
    let world = World::<B>::new().await;
    for n in 1..=6 {
        let mut op = create_with(
            new(n),
            vec![claimed(node("boot")), completed(1)],
            at(10 * i64::try_from(n).unwrap()),
        );
        op.push = Some(hook_at("a", &format!("https://h{}.example", n % 3)));
        world.apply(op).await;
    }
    let due = world.store.due_targets("", 9).await.unwrap();
    let short: Vec<_> = due.iter().map(|due| (&due.target[8..10], due.first)).collect();
    assert_eq!(short, [("h0", at(30)), ("h1", at(10)), ("h2", at(20))]);
    assert_eq!(world.store.due_targets("https://h0.example", 1).await.unwrap(), due[1..2]);
    let of = |target: &'static str, most| {
        let store = std::sync::Arc::clone(&world.store);
        async move { store.owed(target, at(1_000), most).await.unwrap() }
    };
    let tasks = |owed: Vec<Owed>| owed.iter().map(|owed| owed.config.task).collect::<Vec<_>>();
    assert_eq!(tasks(of("https://h1.example", 9).await), [task(1), task(4)], "the longest waiting first");
    assert_eq!(tasks(of("https://h1.example", 1).await), [task(1)]);
    world.store.settle(settle(&find(&world, 1, "a").await, 2, Happened::Gone, 50)).await.unwrap();
    let list = |state, of_task, after| {
        let store = std::sync::Arc::clone(&world.store);
        let query = DeliveriesQuery { state, task: of_task, after, size: 4 };
        async move {
            let found = store.list_deliveries(query).await.unwrap();
            found.iter().map(|config| config.task).collect::<Vec<_>>()
        }
    };
    assert_eq!(list(None, None, None).await, [task(6), task(5), task(4), task(3)]);
    assert_eq!(list(None, None, Some((task(3), "a".into()))).await, [task(2), task(1)]);
    assert_eq!(list(Some("ended"), None, None).await, [task(1)]);
    assert_eq!(list(Some("suspended"), None, None).await, []);
    assert_eq!(list(None, Some(task(5)), None).await, [task(5)]);
}

pub async fn pruned_with_its_task<B: Backend>() {
    let world = World::<B>::new().await;
    let mut op = create_with(new(1), vec![claimed(node("boot")), completed(1)], at(0));
    op.push = Some(hook("a"));
    world.apply(op).await;
    world.store.settle(settle(&find(&world, 1, "a").await, 2, TAKEN, 1)).await.unwrap();
    assert_eq!(world.store.prune_events(at(10), 9).await.unwrap(), 1);
    assert_eq!(world.store.find_push_config(task(1), "a").await.unwrap(), None);
    assert_eq!(world.store.delivery_attempts(task(1), "a", None, 9).await.unwrap(), []);
    assert_eq!(world.store.due_targets("", 9).await.unwrap(), []);
}

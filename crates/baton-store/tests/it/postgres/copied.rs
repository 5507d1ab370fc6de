//! A SQLite store, copied: the two cannot be told apart, but for what a node that is no more had in hand.

use std::sync::Arc;

use baton_core::ident::TaskId;
use baton_core::task::{HolderKind, LeaseLoss, New, Snapshot, State};
use baton_core::task::{Input, Task};
use baton_store::postgres::Postgres;
use baton_store::sqlite::Sqlite;
use baton_store::{
    Access, Audit, AuditQuery, By, Content, Copied, DeliveriesQuery, Delivery, Friends, FriendsQuery,
    GrantChange, Hold, Holds, ListAllQuery, Meta, NewGrant, Op, OpenError, Peers, Store, Tasks, copy,
};

use super::cluster::{Cluster, Schema};
use super::in_own_time;
use super::listener::Listener;
use crate::conformance::friends::asked as befriending;
use crate::conformance::grants::{ann, grant};
use crate::conformance::peers::peer;
use crate::conformance::push::{TAKEN, hook, settle};
use crate::conformance::script::*;
use crate::conformance::scripts::play;
use crate::conformance::world::World;
use crate::sqlite::Folder;

/// Something of every kind.
async fn fill(world: &World<Folder>) {
    play(world).await;
    let store = &world.store;
    let odd = "NUL \0, SUB \u{1a}, \u{1a}0, 🦀";
    let made = New { owner: baton_core::ident::Owner::new("g1", odd), message: user(odd, odd), ..new(800) };
    store.create_grant(grant("g1", 7, 0)).await.unwrap();
    store.apply(create_keyed(made, odd, 1, at(0))).await.unwrap();
    let limits = baton_store::GrantLimits { open_tasks: Some(9), ..baton_store::GrantLimits::default() };
    store.create_grant(NewGrant { limits, label: odd.into(), ..grant("g2", 8, 1) }).await.unwrap();
    let counted = New { owner: baton_core::ident::Owner::new("g2", ""), ..new(801) };
    store.apply(create(counted, at(1))).await.unwrap();
    store.change_grant("g1", GrantChange::Pause, &ann(), at(2)).await.unwrap();
    store.create_friend_request(befriending(1, "192.0.2.1", 3)).await.unwrap();
    store.create_friend_request(befriending(2, "192.0.2.1", 4)).await.unwrap();
    store.deny_friend_request(&befriending(2, "", 4).id, &ann(), at(5)).await.unwrap();
    store.create_peer(peer(1, 6), &ann()).await.unwrap();
    store.hold(Hold::PauseAgent(agent("echo")), true, (&ann(), at(7))).await.unwrap();
    let op = Op { push: Some(hook("h")), ..create_with(new(802), vec![claimed(node("boot"))], at(8)) };
    store.apply(op).await.unwrap();
    let config = store.find_push_config(task(802), "h").await.unwrap().unwrap();
    store.settle(settle(&config, 2, TAKEN, 9)).await.unwrap();
    store.put_meta("name", &[0, 1, 255]).await.unwrap();
    store.prune_events(at(5), 3).await.unwrap();
}

/// Everything that a store answers about what is in it.
async fn all(store: &impl Store) -> Vec<String> {
    let content = Content { messages: 1_000, artifacts: true };
    let query = ListAllQuery { agent: None, state: None, after: None, size: 100, content };
    let page = Tasks::list_all(store, query).await.unwrap();
    assert!(page.next.is_none() && page.tasks.len() > 20);
    let mut said = vec![format!("{} tasks, {:?}", page.total, store.status().await.unwrap().tasks)];
    for id in page.tasks.iter().map(|snapshot| snapshot.task.id) {
        let snapshot = store.find(&By::Node, id).await.unwrap().unwrap();
        said.push(format!("{:?}", without_lease(&snapshot)));
        said.push(format!("{:?}", store.events(id, 0, 20_000).await.unwrap()));
        said.push(format!("{:?}", store.attempts(id).await.unwrap()));
        said.push(format!("{:?}", store.list_push_configs(id, "", 99).await.unwrap()));
        said.push(format!("{:?}", store.delivery_attempts(id, "h", None, 99).await.unwrap()));
    }
    said.push(format!("{:?}", store.list_grants().await.unwrap()));
    let every = DeliveriesQuery { state: None, task: None, after: None, size: 99 };
    said.push(format!("{:?}", store.list_deliveries(every).await.unwrap()));
    let every = FriendsQuery { state: None, now: at(9), before: None, size: 99 };
    said.push(format!("{:?}", store.list_friend_requests(every).await.unwrap()));
    said.push(format!("{:?}", store.list_peers().await.unwrap()));
    said.push(format!("{:?}", store.list_holds().await.unwrap()));
    let mut needs = store.needs(9).await.unwrap();
    needs.waiting.iter_mut().for_each(|waiting| *waiting = Arc::new(without_lease(waiting)));
    said.push(format!("{needs:?}"));
    let every = AuditQuery { size: 999, ..AuditQuery::default() };
    said.push(format!("{:?}", store.list_audit(every).await.unwrap()));
    said.push(format!("{:?}", store.verify_audit(None).await.unwrap()));
    said.push(format!("{:?}", store.find_meta("name").await.unwrap()));
    said
}

/// What a node has in hand is held without a lease in the one, and with one that is over in the other.
fn without_lease(snapshot: &Snapshot) -> Snapshot {
    let mut snapshot = snapshot.clone();
    if let State::Running { attempt } | State::Interrupted { attempt: Some(attempt), .. } =
        &mut snapshot.task.state
        && attempt.holder.kind == HolderKind::Node
    {
        attempt.lease_until = None;
    }
    snapshot
}

async fn target(schema: &Schema) -> Postgres {
    Postgres::open(in_own_time(schema), Listener::watching(Vec::new())).await.unwrap()
}

#[tokio::test]
async fn everything_is_there_and_goes_on() {
    let world = World::<Folder>::new().await;
    fill(&world).await;
    let expected = all(&*world.store).await;
    let held: Vec<TaskId> = orphans(&world.store).await;
    let folder = world.close().await;
    let schema = Schema::fresh(Cluster::shared()).await;
    let mut told = Vec::new();
    let copied = copy(folder.path(), &schema.settings(), &mut |table: &Copied| told.push(table.clone()))
        .await
        .unwrap();
    assert_eq!(copied, told);
    let rows = |name: &str| copied.iter().find(|it| it.table == name).map(|it| it.rows);
    assert_eq!((rows("credential"), rows("hold"), rows("delivery")), (Some(2), Some(1), Some(1)));
    let store = target(&schema).await;
    let found = all(&store).await;
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len());

    // What the node had in hand is anybody's at once.
    assert!(!held.is_empty());
    let due = store.due(at(60 * 60 * 1000 * 24 * 365), 999).await.unwrap();
    for id in held {
        let lapsed = Input::LeaseLapsed { attempt: 1, loss: LeaseLoss::Expired };
        assert!(due.iter().any(|(task, input)| *task == id && *input == lapsed), "{id}: {due:?}");
    }
    // Numbers go on behind those that were given, keys stand for what they stood for, and so do limits.
    for n in 900..910 {
        store.apply(create(new(n), at(10))).await.unwrap();
    }
    store.change_grant("g1", GrantChange::Resume, &ann(), at(11)).await.unwrap();
    let odd = "NUL \0, SUB \u{1a}, \u{1a}0, 🦀";
    let again = New { owner: baton_core::ident::Owner::new("g1", odd), message: user(odd, odd), ..new(911) };
    let applied = store.apply(create_keyed(again, odd, 1, at(12))).await.unwrap();
    assert_eq!((applied.repeated, applied.known.task().id), (true, task(800)));
    let stranger = New { owner: baton_core::ident::Owner::new("g2", "new"), ..new(912) };
    store.apply(create(stranger, at(13))).await.unwrap();
    let usage = store.find_grant("g2").await.unwrap().unwrap().usage.unwrap();
    assert_eq!((usage.open, usage.made), (2, 2));
    assert_eq!(store.verify_audit(None).await.unwrap().broken, None);
}

/// What a node that is gone had in hand.
async fn orphans(store: &Arc<Sqlite>) -> Vec<TaskId> {
    let held = store.orphaned("another", 99).await.unwrap();
    let first = held.into_iter().filter(|(_, attempt)| *attempt == 1).map(|(id, _)| id);
    let mut ids = Vec::new();
    for id in first {
        let task: Arc<Task> = store.find_head(&By::Node, id).await.unwrap().unwrap();
        // A time limit of its own is told first.
        if matches!(task.state, State::Running { .. }) && task.deadline.is_none() {
            ids.push(id);
        }
    }
    ids
}

#[tokio::test]
async fn only_into_an_empty_one_and_only_from_one_that_is_there() {
    let world = World::<Folder>::new().await;
    world.apply(create(new(1), at(0))).await;
    let folder = world.backend().path().to_owned();
    let schema = Schema::fresh(Cluster::shared()).await;
    let copied = async || copy(&folder, &schema.settings(), &mut |_| {}).await;
    let locked = copied().await.unwrap_err();
    assert!(matches!(locked, OpenError::Locked { .. }), "{locked:?}");
    let _kept = world.close().await;
    let missing = tempfile::tempdir().unwrap();
    let refused = copy(missing.path(), &schema.settings(), &mut |_| {}).await.unwrap_err();
    assert!(matches!(refused, OpenError::Folder { .. }), "{refused:?}");
    // A node that runs on the empty one goes on afterwards.
    let store = target(&schema).await;
    copied().await.unwrap();
    store.apply(create(new(2), at(1))).await.unwrap();
    assert_eq!(store.list(everything()).await.unwrap().total, 2);
    let refused = copied().await.unwrap_err();
    assert!(matches!(&refused, OpenError::Occupied { .. }), "{refused:?}");
    assert!(refused.to_string().contains("empty"), "{refused}");
}

/// What cannot be written leaves nothing of what came before it.
#[tokio::test]
async fn all_or_nothing() {
    let world = World::<Folder>::new().await;
    fill(&world).await;
    let kept = world.close().await;
    let schema = Schema::fresh(Cluster::shared()).await;
    drop(target(&schema).await);
    let beside = schema.beside().await;
    beside.batch_execute("ALTER TABLE audit ADD CHECK (id < 3)").await.unwrap();
    let folder = kept.path();
    let refused = copy(folder, &schema.settings(), &mut |_| {}).await.unwrap_err();
    assert!(refused.to_string().contains("audit"), "{refused}");
    let store = target(&schema).await;
    assert_eq!(store.list(everything()).await.unwrap().total, 0);
    assert_eq!(store.list_grants().await.unwrap(), []);
    beside.batch_execute("ALTER TABLE audit DROP CONSTRAINT audit_id_check1").await.unwrap();
    copy(folder, &schema.settings(), &mut |_| {}).await.unwrap();
    assert!(store.list(everything()).await.unwrap().total > 20);
}

//! Several nodes on one database: what one does is told to the others, and what is one's is not another's.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use baton_core::ident::Owner;
use baton_core::task::{Input, LeaseLoss, New};
use baton_store::postgres::{Clock, Postgres, Settings};
use baton_store::{
    Access as _, Audit as _, Barred, Budget, By, Claim, Delivery as _, Elsewhere, Error, GrantChange,
    GrantLimits, Hold, Holds as _, Meta as _, NewGrant, Op, OpenError, Tasks as _,
};
use tokio::task::JoinSet;

use super::cluster::{Cluster, Schema};
use super::in_own_time;
use super::listener::Listener;
use crate::conformance::grants::{ann, grant};
use crate::conformance::push::hook;
use crate::conformance::script::*;
use crate::conformance::world::claim;

const HOUR: u64 = 60 * 60 * 1000;

/// Two nodes.
struct Pair {
    schema: Schema,
    one: Postgres,
    other: Postgres,
}

impl Pair {
    async fn new() -> Self {
        let schema = Schema::fresh(Cluster::shared()).await;
        let one = open(in_own_time(&schema), Listener::watching(Vec::new())).await;
        let other = open(in_own_time(&schema), Listener::watching(Vec::new())).await;
        Self { schema, one, other }
    }

    /// Each in turn.
    fn nodes(&self) -> impl Iterator<Item = &Postgres> {
        [&self.one, &self.other].into_iter().cycle()
    }
}

async fn open(settings: Settings, listener: Arc<Listener>) -> Postgres {
    Postgres::open(settings, listener).await.unwrap()
}

#[tokio::test]
async fn what_one_commits_is_told_to_the_other() {
    let schema = Schema::fresh(Cluster::shared()).await;
    let [ours, theirs] = [Listener::watching(Vec::new()), Listener::watching(Vec::new())];
    let one = open(schema.settings(), Arc::clone(&ours)).await;
    let other = open(schema.settings(), Arc::clone(&theirs)).await;
    one.apply(create(new(1), at(0))).await.unwrap();
    theirs.hears(Elsewhere::Task { id: task(1), seq: 1 }).await;
    theirs.hears(Elsewhere::Ready(agent("echo"))).await;
    let op = Op { push: Some(hook("h")), ..change(task(1), vec![claimed(node("boot"))], at(1)) };
    other.apply(op).await.unwrap();
    ours.hears(Elsewhere::Task { id: task(1), seq: 2 }).await;
    ours.hears(Elsewhere::Owed).await;
    one.create_grant(grant("g", 1, 0)).await.unwrap();
    theirs.hears(Elsewhere::Grants).await;
    one.hold(Hold::PauseNode, true, (&ann(), at(2))).await.unwrap();
    theirs.hears(Elsewhere::Holds).await;
    // Nobody is told of what it did itself.
    assert!(!ours.told().contains(&Elsewhere::Task { id: task(1), seq: 1 }), "{:?}", ours.told());
    assert!(!ours.told().contains(&Elsewhere::Holds));
    assert!(!theirs.told().contains(&Elsewhere::Task { id: task(1), seq: 2 }), "{:?}", theirs.told());
}

#[tokio::test]
async fn what_is_watched_is_told_without_notifications() {
    let schema = Schema::fresh(Cluster::shared()).await;
    let deaf = Listener::watching(vec![task(1), task(2)]);
    let one = open(schema.settings(), Listener::watching(Vec::new())).await;
    let mut settings = schema.settings();
    settings.listens = false;
    let other = open(settings, Arc::clone(&deaf)).await;
    one.apply(create(new(1), at(0))).await.unwrap();
    deaf.hears(Elsewhere::Task { id: task(1), seq: 1 }).await;
    one.apply(change(task(1), vec![claimed(node("boot")), completed(1)], at(1))).await.unwrap();
    deaf.hears(Elsewhere::Task { id: task(1), seq: 3 }).await;
    // Of what is not watched it is said that there may be something.
    deaf.hears(Elsewhere::Anything).await;
    assert!(other.find(&By::Node, task(1)).await.unwrap().is_some());
}

#[tokio::test]
async fn a_revocation_holds_everywhere_at_once() {
    let pair = Pair::new().await;
    pair.one.create_grant(grant("g", 7, 0)).await.unwrap();
    assert!(pair.other.find_credential(&[7; 32], at(1)).await.unwrap().is_some());
    let owner = Owner::new("g", "");
    let op = |n| {
        let made = New { owner: owner.clone(), ..new(n) };
        Op { by: By::Owner(agent("echo"), owner.clone()), ..create(made, at(1)) }
    };
    pair.other.apply(op(1)).await.unwrap();
    pair.one.change_grant("g", GrantChange::Revoke, &ann(), at(2)).await.unwrap();
    assert!(pair.other.find_credential(&[7; 32], at(3)).await.unwrap().is_none());
    let refused = pair.other.apply(op(2)).await;
    assert!(matches!(refused, Err(Error::Barred(Barred::Over))), "{refused:?}");
    assert_eq!(pair.other.open_of_revoked(9).await.unwrap(), [task(1)]);
}

#[tokio::test]
async fn a_quota_holds_across_nodes() {
    let pair = Pair::new().await;
    let limits = GrantLimits { open_tasks: Some(3), ..GrantLimits::default() };
    pair.one.create_grant(NewGrant { limits, ..grant("g", 1, 0) }).await.unwrap();
    let owner = Owner::new("g", "");
    let mut racing = JoinSet::new();
    for (n, node) in (0..20).zip(pair.nodes()) {
        let (node, owner) = (node.clone(), owner.clone());
        racing.spawn(async move {
            let made = New { owner: owner.clone(), ..new(n) };
            let op = Op { by: By::Owner(agent("echo"), owner), ..create(made, at(1)) };
            (n, node.apply(op).await)
        });
    }
    let answers = racing.join_all().await;
    assert_eq!(answers.iter().filter(|(_, answer)| answer.is_ok()).count(), 3);
    assert!(answers.iter().all(|(_, answer)| matches!(answer, Ok(_) | Err(Error::Barred(_)))), "{answers:?}");
    // One that ends on either node makes room on both.
    let (made, _) = answers.iter().find(|(_, answer)| answer.is_ok()).unwrap();
    let ended = vec![claimed(node("boot")), completed(1)];
    pair.other.apply(change(task(*made), ended, at(2))).await.unwrap();
    let usage = pair.one.find_grant("g").await.unwrap().unwrap().usage.unwrap();
    assert_eq!((usage.open, usage.made), (2, 3));
}

#[tokio::test]
async fn nobody_claims_what_another_node_has() {
    let pair = Pair::new().await;
    for n in 0..60 {
        pair.one.apply(create(new(n), at(0))).await.unwrap();
    }
    let mut claims = JoinSet::new();
    for node in pair.nodes().take(10) {
        let node = node.clone();
        claims.spawn(async move {
            let mut all = Vec::new();
            loop {
                let claimed = node.claim(claim(7, 1)).await.unwrap().tasks;
                if claimed.is_empty() {
                    return all;
                }
                all.extend(claimed.iter().map(|snapshot| snapshot.task.id));
            }
        });
    }
    let claimed: Vec<_> = claims.join_all().await.into_iter().flatten().collect();
    assert_eq!(claimed.len(), 60);
    assert_eq!(claimed.iter().collect::<HashSet<_>>().len(), 60);
}

#[tokio::test]
async fn budgets_and_concurrency_hold_across_nodes() {
    let pair = Pair::new().await;
    for n in 0..40 {
        pair.one.apply(create(new(n), at(0))).await.unwrap();
    }
    let race = async |claim: Claim| {
        let mut racing = JoinSet::new();
        for node in pair.nodes().take(10) {
            let (node, claim) = (node.clone(), claim.clone());
            racing.spawn(async move { node.claim(claim).await.unwrap().tasks.len() });
        }
        racing.join_all().await.iter().sum::<usize>()
    };
    let budget = Budget { claims: 1, per: Duration::from_mins(1) };
    assert_eq!(race(Claim { budget: Some(budget), ..claim(3, 5) }).await, 1);
    assert_eq!(race(Claim { concurrency: Some(4), ..claim(2, 5) }).await, 3);
    assert_eq!(race(Claim { concurrency: Some(4), ..claim(2, 5) }).await, 0);
}

#[tokio::test]
async fn one_key_is_one_task_on_two_nodes() {
    let pair = Pair::new().await;
    for round in 0..5 {
        let mut racing = JoinSet::new();
        for (n, node) in (0..10).zip(pair.nodes()) {
            let node = node.clone();
            let op = create_keyed(new(100 * round + n), &format!("key {round}"), 1, at(0));
            racing.spawn(async move { node.apply(op).await.unwrap().known.task().id });
        }
        let ids: HashSet<_> = racing.join_all().await.into_iter().collect();
        assert_eq!(ids.len(), 1);
    }
}

/// Groups of both nodes touch the same tasks in any order.
#[tokio::test]
async fn two_nodes_change_the_same_tasks() {
    let pair = Pair::new().await;
    for n in 0..20 {
        pair.one.apply(create(new(n), at(0))).await.unwrap();
    }
    let mut running = JoinSet::new();
    for (n, node) in (0..400_u128).zip(pair.nodes()) {
        let node = node.clone();
        let id = task(if n % 4 < 2 { n % 20 } else { 19 - n % 20 });
        let op = change(id, vec![messaged(&format!("m{n}"), "more")], at(1));
        running.spawn(async move { node.apply(op).await.unwrap() });
    }
    running.join_all().await;
    let mut total = 0;
    for n in 0..20 {
        let events = pair.other.events(task(n), 0, 1_000).await.unwrap();
        assert!(events.iter().zip(1..).all(|(event, seq)| event.seq == seq));
        total += events.len();
    }
    assert_eq!(total, 420);
    let page = pair.one.list(everything()).await.unwrap();
    assert_eq!((page.tasks.len(), page.total), (20, 20));
}

/// What one node has in hand another does not send; when it goes, the other does.
#[tokio::test]
async fn a_webhook_is_told_by_one_node() {
    let pair = Pair::new().await;
    let op = Op { push: Some(hook("h")), ..create_with(new(1), vec![claimed(node("boot"))], at(0)) };
    pair.one.apply(op).await.unwrap();
    let target = hook("h").target;
    let owed = async |node: &Postgres| node.owed(&target, at(1), 9).await.unwrap().len();
    assert_eq!(pair.one.due_targets("", 9).await.unwrap().len(), 1);
    assert_eq!(owed(&pair.one).await, 1);
    assert_eq!(owed(&pair.other).await, 0);
    assert_eq!(pair.other.due_targets("", 9).await.unwrap(), []);
    // Whoever has it in hand may look again.
    assert_eq!(owed(&pair.one).await, 1);
    pair.one.close().await;
    assert_eq!(pair.other.due_targets("", 9).await.unwrap().len(), 1);
    assert_eq!(owed(&pair.other).await, 1);
}

/// The callers' clocks are far ahead and far behind.
#[tokio::test]
async fn leases_run_on_the_databases_time() {
    let schema = Schema::fresh(Cluster::shared()).await;
    assert_eq!(schema.settings().clock, Clock::Database);
    let store = open(schema.settings(), Listener::watching(Vec::new())).await;
    assert!(store.shared());
    let years = i64::try_from(HOUR).unwrap() * 24 * 365 * 20;
    let held = |n, name: &str, lease| create_with(new(n), vec![leased(node(name), lease)], at(-years));
    for (n, name, lease) in [(1, "a", HOUR), (2, "a", 0), (3, "b", 0)] {
        store.apply(held(n, name, lease)).await.unwrap();
    }
    let ids = async || {
        let due = store.due(at(years), 9).await.unwrap();
        assert!(
            due.iter().all(|(_, input)| matches!(input, Input::LeaseLapsed { loss: LeaseLoss::Expired, .. }))
        );
        due.into_iter().map(|(id, _)| id).collect::<HashSet<_>>()
    };
    assert_eq!(ids().await, HashSet::from([task(2), task(3)]));
    assert_eq!(store.renew("a", Duration::from_hours(1)).await.unwrap(), 2);
    assert_eq!(ids().await, HashSet::from([task(3)]));
    assert_eq!(store.renew("nobody", Duration::from_hours(1)).await.unwrap(), 0);
    let early = Input::LeaseLapsed { attempt: 1, loss: LeaseLoss::Expired };
    let refused = store.apply(change(task(2), vec![early.clone()], at(years))).await;
    assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
    let applied = store.apply(change(task(3), vec![early], at(-years))).await.unwrap();
    assert!(applied.known.task().state.open_attempt().is_none());
    assert_eq!(ids().await, HashSet::new());
    assert_eq!(store.renew("b", Duration::from_hours(1)).await.unwrap(), 0);
}

#[tokio::test]
async fn nodes_that_start_at_once() {
    let schema = Schema::fresh(Cluster::shared()).await;
    let mut starting = JoinSet::new();
    for _ in 0..6 {
        let settings = schema.settings();
        starting.spawn(async move { Postgres::open(settings, Listener::watching(Vec::new())).await });
    }
    let nodes: Vec<_> = starting.join_all().await.into_iter().collect::<Result<_, OpenError>>().unwrap();
    for (n, node) in (0..).zip(&nodes) {
        node.apply(create(new(n), at(0))).await.unwrap();
    }
    assert_eq!(nodes[0].list(everything()).await.unwrap().total, 6);
    // What is kept under a name is what the first put there.
    let put: Vec<_> = ["a", "b"].into_iter().zip(&nodes).collect();
    for (value, node) in put {
        assert_eq!(node.put_meta("n", value.as_bytes()).await.unwrap(), b"a");
    }
    assert_eq!(nodes[5].find_meta("n").await.unwrap().as_deref(), Some(&b"a"[..]));
    assert_eq!(nodes[5].find_meta("m").await.unwrap(), None);
}

#[tokio::test]
async fn the_audit_log_is_one_on_all_nodes() {
    let pair = Pair::new().await;
    let mut running = JoinSet::new();
    for (n, node) in (0..30_u8).zip(pair.nodes()) {
        let node = node.clone();
        running.spawn(async move { node.create_grant(grant(&format!("g{n}"), n, 0)).await.unwrap() });
    }
    running.join_all().await;
    let report = pair.other.verify_audit(None).await.unwrap();
    assert_eq!((report.rows, report.broken), (30, None));
}

#[tokio::test]
async fn a_newer_schema_is_refused() {
    let pair = Pair::new().await;
    let raise = "UPDATE meta SET value = convert_to('99', 'UTF8') WHERE key = 'schema'";
    pair.schema.beside().await.batch_execute(raise).await.unwrap();
    let refused = Postgres::open(pair.schema.settings(), Listener::watching(Vec::new())).await.unwrap_err();
    assert!(matches!(refused, OpenError::Newer { found: 99, known: 1, .. }), "{refused:?}");
    assert!(refused.to_string().contains("newer program"), "{refused}");
}

//! The audit log: in order, chained, beside what it tells of.

use baton_store::{Access as _, Actor, Audit, AuditQuery, AuditRow, GrantChange, NewAudit, Walk};

use super::Backend;
use super::grants::{ann, grant};
use super::script::*;
use super::world::World;

fn entry(n: i64, actor: &str, action: &str, allowed: bool) -> NewAudit {
    NewAudit {
        at: at(n),
        by: Actor::new(actor, "192.0.2.1"),
        action: action.into(),
        target: format!("t{}", n % 2),
        allowed,
        detail: format!("{{\"n\":{n}}}"),
    }
}

fn all() -> AuditQuery {
    AuditQuery { size: 1_000, ..AuditQuery::default() }
}

impl<B: Backend> World<B> {
    async fn audit(&self, query: AuditQuery) -> Vec<AuditRow> {
        self.store.list_audit(query).await.unwrap()
    }
}

pub async fn told_with_the_change<B: Backend>() {
    let world = World::<B>::new().await;
    let empty = world.store.verify_audit(None).await.unwrap();
    assert_eq!((empty.rows, empty.head.0, empty.broken), (0, 0, None));
    world.store.create_grant(grant("g1", 1, 10)).await.unwrap();
    let change = async |change, now| world.store.change_grant("g1", change, &ann(), at(now)).await.unwrap();
    change(GrantChange::Pause, 20).await;
    change(GrantChange::Pause, 21).await;
    change(GrantChange::Revoke, 30).await;
    world.store.append_audit(vec![entry(40, "anonymous", "authenticate", false)]).await.unwrap();
    let rows = world.audit(all()).await;
    let short: Vec<_> = rows
        .iter()
        .map(|row| {
            let NewAudit { at, by, action, target, allowed, .. } = &row.entry;
            (row.id, at.as_millis() - at_zero(), &*by.name, &*by.origin, &**action, &**target, *allowed)
        })
        .collect();
    assert_eq!(
        short,
        [
            (4, 40, "anonymous", "192.0.2.1", "authenticate", "t0", false),
            (3, 30, "ann", "socket", "grant.revoke", "g1", true),
            (2, 20, "ann", "socket", "grant.pause", "g1", true),
            (1, 10, "ann", "socket", "grant.create", "g1", true),
        ],
        "what changes nothing is not told"
    );
    assert!(rows[3].entry.detail.contains("\"label\":\"for g1\""), "{:?}", rows[3]);
    let world = world.reopen().await;
    assert_eq!(world.audit(all()).await, rows);
    let report = world.store.verify_audit(None).await.unwrap();
    assert_eq!((report.rows, report.head, report.broken), (4, (4, rows[0].hash), None));
}

fn at_zero() -> i64 {
    at(0).as_millis()
}

pub async fn pages_and_filters<B: Backend>() {
    let world = World::<B>::new().await;
    let entries = (0..10).map(|n| {
        let (actor, action) = if n < 5 { ("ann", "grant.create") } else { ("bob", "key.create") };
        entry(n, actor, action, n != 7)
    });
    world.store.append_audit(entries.collect()).await.unwrap();
    let ids =
        async |query: AuditQuery| world.audit(query).await.into_iter().map(|row| row.id).collect::<Vec<_>>();
    assert_eq!(ids(AuditQuery { size: 3, ..all() }).await, [10, 9, 8]);
    assert_eq!(ids(AuditQuery { size: 3, before: Some(8), ..all() }).await, [7, 6, 5]);
    assert_eq!(ids(AuditQuery { since: Some(at(8)), ..all() }).await, [10, 9]);
    assert_eq!(ids(AuditQuery { actor: Some("ann".into()), before: Some(4), ..all() }).await, [3, 2, 1]);
    assert_eq!(ids(AuditQuery { action: Some("key".into()), size: 2, ..all() }).await, [10, 9]);
    assert_eq!(ids(AuditQuery { action: Some("key.create".into()), size: 1, ..all() }).await, [10]);
    assert!(ids(AuditQuery { action: Some("ke".into()), ..all() }).await.is_empty());
    assert_eq!(ids(AuditQuery { target: Some("t1".into()), since: Some(at(6)), ..all() }).await, [10, 8]);
    assert_eq!(ids(AuditQuery { allowed: Some(false), ..all() }).await, [8]);
    for (since, rows) in [(None, 10), (Some(at(0)), 10), (Some(at(4)), 6), (Some(at(99)), 0)] {
        let report = world.store.verify_audit(since).await.unwrap();
        assert_eq!((report.rows, report.head.0, report.broken), (rows, 10, None), "{since:?}");
    }
}

type Touch = fn(&mut AuditRow);

/// A row that is another one, in any of its parts, is found; so is one that is missing or comes twice.
pub async fn the_chain_breaks_where_it_was_touched<B: Backend>() {
    let world = World::<B>::new().await;
    world.store.append_audit((0..6).map(|n| entry(n, "ann", "x.y", true)).collect()).await.unwrap();
    let mut rows = world.audit(all()).await;
    rows.reverse();
    let anchor = world.store.verify_audit(Some(at(99))).await.unwrap().head;
    assert_eq!(anchor, (6, rows[5].hash));
    let walk = |rows: &[AuditRow]| {
        let mut walk = Walk::after(1, rows[0].hash);
        rows[1..].iter().all(|row| walk.step(row));
        walk.report().broken.map(|broken| broken.id)
    };
    assert_eq!(walk(&rows), None);
    let touches: [Touch; 8] = [
        |row| row.entry.at = at(77),
        |row| row.entry.by.name.push('x'),
        |row| row.entry.by.origin.push('x'),
        |row| row.entry.action.push('x'),
        |row| row.entry.target.push('x'),
        |row| row.entry.allowed = false,
        |row| row.entry.detail = "{}".into(),
        |row| row.hash[31] ^= 1,
    ];
    for (which, touch) in touches.iter().enumerate() {
        let mut touched = rows.clone();
        touch(&mut touched[3]);
        assert_eq!(walk(&touched), Some(4), "touch {which}");
    }
    let mut missing = rows.clone();
    missing.remove(3);
    assert_eq!(walk(&missing), Some(4));
    let mut twice = rows.clone();
    twice.insert(3, twice[2].clone());
    assert_eq!(walk(&twice), Some(4));
    let mut swapped = rows.clone();
    swapped.swap(3, 4);
    assert_eq!(walk(&swapped), Some(4));
}

//! What the database itself refuses, what one bad operation does to others, and what is on disk when a store is closed.

use std::sync::Arc;

use baton_core::task::Input;
use baton_store::postgres::Postgres;
use baton_store::{Access as _, Audit as _, By, Error, Op, Tasks as _};
use tokio::task::{JoinSet, yield_now};

use super::cluster::Schema;
use crate::conformance::grants::grant;
use crate::conformance::script::*;
use crate::conformance::world::{World, claim};

async fn world() -> World<Schema> {
    World::new().await
}

async fn refused(world: &World<Schema>, sql: &str) -> String {
    let why = world.backend().beside().await.batch_execute(sql).await.unwrap_err();
    why.as_db_error().map(|why| why.message().to_owned()).unwrap_or_default()
}

#[tokio::test]
async fn impossible_rows_are_refused() {
    let world = world().await;
    world.apply(create(new(1), at(0))).await;
    world.apply(create_with(new(2), vec![leased(worker("w"), 9)], at(0))).await;
    world.apply(create_with(new(3), vec![claimed(node("b")), asked(1)], at(0))).await;
    world.apply(create_with(new(4), vec![claimed(node("b")), completed(1)], at(0))).await;
    for (n, set) in [
        (1, "phase = 'running'"),
        (1, "phase = 'sleeping'"),
        (1, "holder_kind = 'node', holder = 'b', attempt_started_at = 1"),
        (1, "reason = 'failed'"),
        (1, "dead_letter = TRUE"),
        (1, "interruption = 'input'"),
        (1, "answer_until = 5"),
        (1, "counted = 1"),
        (1, "seq = 0"),
        (1, "shown_state = 0"),
        (1, "shown_state = 9"),
        (1, "priority = 101"),
        (1, "queued = FALSE"),
        (2, "holder = NULL"),
        (2, "holder = NULL, holder_kind = NULL, attempt_started_at = NULL"),
        (2, "holder_kind = 'nobody'"),
        (2, "not_before = 5"),
        (2, "begun = TRUE"),
        (2, "queued = TRUE"),
        (3, "interruption = 'coffee'"),
        (3, "answer_until = NULL"),
        (3, "phase = 'ready'"),
        (4, "phase = 'failed'"),
        (4, "phase = 'answered'"),
        (4, "due_at = 5"),
        (4, "dead_letter = TRUE"),
        (4, "attended = TRUE"),
    ] {
        let why = refused(&world, &format!("UPDATE task SET {set} WHERE id = '{}'", task(n))).await;
        assert!(why.contains("check constraint"), "{set}: {why}");
    }
    for insert in [
        "INSERT INTO event (key, holds, op, events) VALUES (9 << 14, 0, gen_random_uuid(), '[]')",
        "INSERT INTO event (key, holds, op, events) VALUES (9 << 14 | 10001, 0, gen_random_uuid(), '[]')",
        "INSERT INTO event (key, holds, op, events) VALUES (9 << 14 | 1, 8, gen_random_uuid(), '[]')",
        "INSERT INTO event SELECT * FROM event LIMIT 1",
        "INSERT INTO scope (agent, grant_id, subject) SELECT agent, grant_id, subject FROM scope LIMIT 1",
        "INSERT INTO idempotency VALUES (1, 'k', '\\x00', gen_random_uuid(), 1)",
        "INSERT INTO credential VALUES (decode(repeat('00', 31), 'hex'), 'g', 'h', 1, NULL)",
        "INSERT INTO budget VALUES ('echo', 0, -1)",
    ] {
        let why = refused(&world, insert).await;
        assert!(why.contains("constraint"), "{insert}: {why}");
    }
}

/// Operations that wait at the same time are one commit; one that cannot be written spoils no other.
#[tokio::test]
async fn one_bad_operation_spoils_no_group() {
    let world = world().await;
    world.apply(create(new(0), at(0))).await;
    let poison = "CREATE FUNCTION poisoned() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'poisoned'; END $$;
        CREATE TRIGGER poison BEFORE INSERT ON event FOR EACH ROW WHEN (NEW.events LIKE '%poison%')
        EXECUTE FUNCTION poisoned()";
    let beside = world.backend().beside().await;
    beside.batch_execute(poison).await.unwrap();
    let before = world.store.status().await.unwrap();
    let ops = (1..=40).map(|n| {
        let mut made = new(n);
        if n == 10 {
            made.message = user("m", "poison");
        }
        create_with(made, vec![messaged("m", "more")], at(1))
    });
    let answers = world.apply_all(ops.collect()).await;
    for (n, answer) in (1..).zip(&answers) {
        let found = world.store.find(&by_owner(), task(n)).await.unwrap();
        if n == 10 {
            assert!(matches!(answer, Err(Error::Unavailable(why)) if why.contains("poisoned")), "{answer:?}");
            assert_eq!(found, None);
        } else {
            assert_eq!(answer.as_ref().unwrap().known.task(), &found.unwrap().task);
        }
    }
    assert_eq!(world.store.list(everything()).await.unwrap().total, 40);
    assert_eq!(world.heard.events(task(10)), []);
    assert_eq!(world.heard.events(task(20)).len(), 2);
    let after = world.store.status().await.unwrap();
    assert_eq!(after.operations - before.operations, 39);

    // A group that is good is one commit, however many wait for it.
    let creates = (41..=80).map(|n| create(new(n), at(1))).collect();
    assert!(world.apply_all(creates).await.iter().all(Result::is_ok));
    let grouped = world.store.status().await.unwrap();
    assert_eq!(grouped.operations - after.operations, 40);
    assert!(grouped.commits - after.commits <= 5, "{} commits", grouped.commits - after.commits);
}

/// A change that cannot be written leaves everything as it was, and comes about the next time.
#[tokio::test]
async fn a_failed_change_changes_nothing() {
    let world = world().await;
    world.apply(create(new(1), at(0))).await;
    let before = world.load(task(1)).await;
    let beside = world.backend().beside().await;
    beside
        .batch_execute(
            "CREATE FUNCTION full_up() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'full'; END $$;
            CREATE TRIGGER full_up BEFORE INSERT ON event FOR EACH ROW EXECUTE FUNCTION full_up()",
        )
        .await
        .unwrap();
    let op = change(task(1), vec![claimed(node("boot")), completed(1)], at(1));
    assert!(matches!(world.store.apply(op.clone()).await, Err(Error::Unavailable(_))));
    assert!(matches!(world.store.claim(claim(5, 1)).await, Err(Error::Unavailable(_))));
    assert_eq!(world.load(task(1)).await, before);
    beside.batch_execute("DROP TRIGGER full_up ON event").await.unwrap();
    let applied = world.apply(Op { repeat: true, ..op }).await;
    assert!(!applied.repeated);
    assert_eq!(applied.events.iter().map(|event| event.seq).collect::<Vec<_>>(), [2, 3]);
}

#[tokio::test]
async fn closing_commits_what_is_queued() {
    let world = world().await;
    let mut running = JoinSet::new();
    for n in 0..300 {
        let store = Arc::clone(&world.store);
        running.spawn(async move { store.apply(create(new(n), at(0))).await });
    }
    // The runtime polls some sixty of them between two turns of this test.
    for _ in 0..10 {
        yield_now().await;
    }
    world.store.close().await;
    world.store.close().await;
    assert!(running.join_all().await.iter().all(Result::is_ok));
    let store: &Postgres = &world.store;
    let unavailable =
        |answer: Result<(), Error>| assert!(matches!(answer, Err(Error::Unavailable(_))), "{answer:?}");
    unavailable(store.apply(change(task(1), vec![Input::Shown], at(1))).await.map(drop));
    unavailable(store.claim(claim(1, 1)).await.map(drop));
    unavailable(store.find(&by_owner(), task(1)).await.map(drop));
    unavailable(store.ping().await);
    unavailable(store.prune_events(at(0), 1).await.map(drop));
    // Nothing of the node is left.
    let beside = world.backend().beside().await;
    let marks: i64 = beside.query_one("SELECT count(*) FROM mark", &[]).await.unwrap().get(0);
    assert_eq!(marks, 0);
    let world = world.reopen().await;
    assert_eq!(world.store.list(everything()).await.unwrap().total, 300);
    assert!(world.store.find(&By::Node, task(299)).await.unwrap().is_some());
}

/// A task that the state machine hands to nobody keeps no other from being claimed.
#[tokio::test]
async fn a_task_that_cannot_be_claimed_is_passed_over() {
    let world = world().await;
    for n in 1..=5 {
        world.apply(create(new(n), at(0))).await;
    }
    let beside = world.backend().beside().await;
    for n in [1, 3] {
        let full = format!("UPDATE task SET seq = 10000 WHERE id = '{}'", task(n));
        beside.batch_execute(&full).await.unwrap();
    }
    let ids = |claimed: Vec<Arc<baton_core::task::Snapshot>>| {
        claimed.iter().map(|snapshot| snapshot.task.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(world.claim(1, 1).await), [task(2)]);
    assert_eq!(ids(world.claim(9, 1).await), [task(4), task(5)]);
    assert_eq!(ids(world.claim(9, 1).await), []);
}

/// Whoever owns the tables can change it, and is found out; the database itself lets nobody.
#[tokio::test]
async fn the_audit_log_is_only_added_to() {
    let world = world().await;
    for n in 1..=3 {
        world.store.create_grant(grant(&format!("g{n}"), n, 0)).await.unwrap();
    }
    let copied = "at, 'x', origin, action, target, allowed, detail, hash FROM audit WHERE id = 2";
    for sql in [
        "UPDATE audit SET actor = 'nobody' WHERE id = 2",
        "DELETE FROM audit WHERE id = 2",
        "TRUNCATE audit",
        &format!("INSERT INTO audit SELECT 2, {copied}"),
        &format!("INSERT INTO audit SELECT 9, {copied}"),
    ] {
        let why = refused(&world, sql).await;
        assert!(why.contains("only added to"), "{sql}: {why}");
    }
    let beside = world.backend().beside().await;
    let broken = async |sql: &str| {
        beside.batch_execute(sql).await.unwrap();
        world.store.verify_audit(None).await.unwrap().broken
    };
    assert_eq!(broken("").await, None);
    let forged =
        broken("DROP TRIGGER audit_is_not_changed ON audit; UPDATE audit SET actor = 'nobody' WHERE id = 2");
    assert_eq!(forged.await.map(|broken| broken.id), Some(2));
    assert_eq!(broken("UPDATE audit SET actor = 'ann' WHERE id = 2").await, None);
    let first = broken("DELETE FROM audit WHERE id = 1").await.unwrap();
    assert_eq!((first.id, first.what.contains("missing")), (1, true), "{first:?}");
}

//! What is SQLite's own: files, the lock, groups of operations, constraints, closing.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use baton_core::delivery::{End, State as DeliveryState};
use baton_core::task::{Input, New};
use baton_store::sqlite::Sqlite;
use baton_store::{
    Access, Audit as _, Barred, By, Committed, Delivery, Error, GrantChange, Observer, OpenError, Tasks,
};
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::task::{JoinSet, yield_now};

use crate::conformance::grants::{ann, grant};
use crate::conformance::push::hook;
use crate::conformance::script::*;
use crate::conformance::world::{Heard, World, claim};
use crate::conformance::{Backend, suite};

/// A folder of its own.
pub struct Folder(TempDir);

impl Folder {
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Backend for Folder {
    type Store = Sqlite;

    async fn fresh() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    async fn open(&self, observer: Arc<dyn Observer>) -> Sqlite {
        Sqlite::open(self.0.path(), observer).unwrap()
    }

    async fn close(store: Sqlite) {
        store.close().await;
    }
}

suite!(Folder);

fn open(folder: &Path) -> Result<Sqlite, OpenError> {
    Sqlite::open(folder, Arc::new(Heard::default()))
}

/// A connection beside the store's own.
fn beside(folder: &Path) -> Connection {
    Connection::open(folder.join("baton.db")).unwrap()
}

/// Holds the database's write lock, so that operations queue up behind it.
struct Blocked(Connection);

impl Blocked {
    fn new(folder: &Path) -> Self {
        let connection = beside(folder);
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        Self(connection)
    }

    fn release(self) {
        self.0.execute_batch("ROLLBACK").unwrap();
    }
}

#[tokio::test]
async fn one_store_per_folder() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    let clone = store.clone();
    drop(store);
    let second = open(folder.path()).unwrap_err();
    let OpenError::Locked { holder, .. } = &second else { panic!("{second:?}") };
    assert_eq!(*holder, format!("process {}", std::process::id()));
    let text = second.to_string();
    assert!(text.contains("another node") && text.contains("--data-dir"), "{text}");
    clone.apply(create(new(1), at(0))).await.unwrap();
    drop(clone);
    let third = open(folder.path()).unwrap();
    assert_eq!(third.events(task(1), 0, 9).await.unwrap().len(), 1);
}

/// Nobody waits for the answers, and nobody closed the store: the folder is still free only when all is written.
#[tokio::test]
async fn a_dropped_store_writes_first() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(open(folder.path()).unwrap());
    let blocked = Blocked::new(folder.path());
    let mut abandoned = JoinSet::new();
    for n in 0..5 {
        let store = Arc::clone(&store);
        abandoned.spawn(async move { store.apply(create(new(n), at(0))).await });
    }
    yield_now().await;
    abandoned.shutdown().await;
    let release = std::thread::spawn(move || blocked.release());
    drop(Arc::into_inner(store).unwrap());
    let store = open(folder.path()).unwrap();
    for n in 0..5 {
        assert_eq!(store.events(task(n), 0, 9).await.unwrap().len(), 1);
    }
    release.join().unwrap();
}

#[tokio::test]
async fn a_newer_schema_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()).unwrap());
    let raise = |to: i64| {
        beside(folder.path()).execute("UPDATE meta SET value = ?1 WHERE key = 'schema'", [to]).unwrap();
    };
    raise(99);
    let refused = open(folder.path()).unwrap_err();
    assert!(matches!(refused, OpenError::Newer { found: 99, known: 2, .. }), "{refused:?}");
    assert!(refused.to_string().contains("newer program"), "{refused}");
    // Refusing it let go of the folder.
    raise(2);
    open(folder.path()).unwrap();
}

#[tokio::test]
async fn no_database_is_refused_as_such() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("baton.db"),
        "not a database, but long enough to be looked at. ".repeat(99),
    )
    .unwrap();
    let refused = open(folder.path()).unwrap_err();
    assert!(matches!(refused, OpenError::Database { .. }), "{refused:?}");
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert!(matches!(open(&file.join("data")).unwrap_err(), OpenError::Folder { .. }));
}

#[tokio::test]
async fn nobody_else_may_read() {
    let outside = tempfile::tempdir().unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let absent = outside.path().join("a/b");
    let present = outside.path().join("c");
    std::fs::create_dir(&present).unwrap();
    std::fs::set_permissions(&present, std::fs::Permissions::from_mode(0o755)).unwrap();
    for folder in [&absent, &present] {
        let store = open(folder).unwrap();
        store.apply(create(new(1), at(0))).await.unwrap();
        store.status().await.unwrap();
        let mut names: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["baton.db", "baton.db-shm", "baton.db-wal", "baton.lock"]);
        for name in names {
            assert_eq!(mode(&folder.join(&name)), 0o600, "{name:?}");
        }
    }
    assert_eq!((mode(&absent), mode(&outside.path().join("a"))), (0o700, 0o700));
}

/// Looks for every event that it is told of in the database.
struct Looks {
    folder: std::path::PathBuf,
    told: Mutex<Vec<u64>>,
}

impl Observer for Looks {
    fn committed(&self, commits: &[Committed]) {
        let connection = beside(&self.folder);
        for commit in commits {
            let id = commit.known.task().id;
            for event in &commit.events {
                let found: i64 = connection
                    .query_row(
                        "SELECT count(*) FROM log JOIN task ON task.key = log.task WHERE id = ?1 AND log.seq = ?2",
                        rusqlite::params![id.as_bytes(), event.seq],
                        |row| row.get(0),
                    )
                    .unwrap();
                assert_eq!(found, 1, "told before it was committed");
                self.told.lock().unwrap().push(event.seq);
            }
        }
    }
}

#[tokio::test]
async fn told_after_the_commit_and_before_the_answer() {
    let folder = tempfile::tempdir().unwrap();
    let looks = Arc::new(Looks { folder: folder.path().to_path_buf(), told: Mutex::default() });
    let store = Sqlite::open(folder.path(), Arc::clone(&looks) as Arc<dyn Observer>).unwrap();
    store.apply(create(new(1), at(0))).await.unwrap();
    assert_eq!(*looks.told.lock().unwrap(), [1]);
    let mut running = JoinSet::new();
    for _ in 0..5 {
        let store = store.clone();
        let op = change(task(1), vec![messaged("m", "x"), messaged("m", "y")], at(1));
        running.spawn(async move { store.apply(op).await.unwrap() });
    }
    running.join_all().await;
    assert_eq!(*looks.told.lock().unwrap(), (1..=11).collect::<Vec<_>>());
}

/// Operations that wait at the same time are one commit; one that cannot be written spoils no other.
#[tokio::test]
async fn one_bad_operation_spoils_no_group() {
    let world = World::<Folder>::new().await;
    let folder = world.backend().0.path().to_path_buf();
    world.apply(create(new(0), at(0))).await;
    beside(&folder)
        .execute_batch(
            "CREATE TRIGGER poison BEFORE INSERT ON event WHEN NEW.events LIKE '%poison%'
             BEGIN SELECT RAISE(ABORT, 'poisoned'); END",
        )
        .unwrap();
    let before = world.store.status().await.unwrap();
    let blocked = Blocked::new(&folder);
    let ops = (1..=20).map(|n| {
        let mut made = new(n);
        if n == 10 {
            made.message = user("m", "poison");
        }
        create_with(made, vec![messaged("m", "more")], at(1))
    });
    let answers = {
        let running = world.apply_all(ops.collect());
        let release = async {
            yield_now().await;
            yield_now().await;
            blocked.release();
        };
        tokio::join!(running, release).0
    };
    for (n, answer) in (1..).zip(&answers) {
        let found = world.store.find(&by_owner(), task(n)).await.unwrap();
        if n == 10 {
            assert!(matches!(answer, Err(Error::Unavailable(why)) if why.contains("poisoned")), "{answer:?}");
            assert_eq!(found, None);
        } else {
            assert_eq!(answer.as_ref().unwrap().known.snapshot(), found.as_ref());
        }
    }
    assert_eq!(world.store.list(everything()).await.unwrap().total, 20);
    // The bad one went through three places before it failed: none of them knows of it.
    assert_eq!(world.heard.events(task(10)), []);
    assert_eq!(world.heard.events(task(20)).len(), 2);
    let after = world.store.status().await.unwrap();
    assert_eq!(after.operations - before.operations, 19);

    // The next group is one commit again.
    let blocked = Blocked::new(&folder);
    let ops = (21..=40).map(|n| create(new(n), at(1))).collect();
    let release = async {
        yield_now().await;
        yield_now().await;
        blocked.release();
    };
    let (answers, ()) = tokio::join!(world.apply_all(ops), release);
    assert!(answers.iter().all(Result::is_ok));
    let grouped = world.store.status().await.unwrap();
    assert_eq!(grouped.operations - after.operations, 20);
    assert!(grouped.commits - after.commits <= 2, "{} commits", grouped.commits - after.commits);
    let world = world.reopen().await;
    assert_eq!(world.store.list(everything()).await.unwrap().total, 40);
}

/// What is in memory after a failure is what was before it.
#[tokio::test]
async fn a_failed_change_changes_no_memory() {
    let world = World::<Folder>::new().await;
    let folder = world.backend().0.path().to_path_buf();
    world.apply(create(new(1), at(0))).await;
    let before = world.load(task(1)).await;
    beside(&folder)
        .execute_batch("CREATE TRIGGER full BEFORE INSERT ON event BEGIN SELECT RAISE(ABORT, 'full'); END")
        .unwrap();
    let op = change(task(1), vec![claimed(node("boot")), completed(1)], at(1));
    assert!(matches!(world.store.apply(op.clone()).await, Err(Error::Unavailable(_))));
    assert!(matches!(world.store.claim(claim(5, 1)).await, Err(Error::Unavailable(_))));
    assert_eq!(world.load(task(1)).await, before);
    beside(&folder).execute_batch("DROP TRIGGER full").unwrap();
    let applied = world.apply(baton_store::Op { repeat: true, ..op }).await;
    assert!(!applied.repeated);
    assert_eq!(applied.events.iter().map(|event| event.seq).collect::<Vec<_>>(), [2, 3]);
    let hot = world.load(task(1)).await;
    assert_eq!(world.reopen().await.load(task(1)).await, hot);
}

#[tokio::test]
async fn impossible_rows_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    store.apply(create(new(1), at(0))).await.unwrap();
    store.apply(create_with(new(2), vec![leased(worker("w"), 9)], at(0))).await.unwrap();
    store.apply(create_with(new(3), vec![claimed(node("b")), asked(1)], at(0))).await.unwrap();
    store.apply(create_with(new(4), vec![claimed(node("b")), completed(1)], at(0))).await.unwrap();
    let connection = beside(folder.path());
    for (n, set) in [
        (1, "phase = 'running'"),
        (1, "phase = 'sleeping'"),
        (1, "holder_kind = 'node', holder = 'b', attempt_started_at = 1"),
        (1, "reason = 'failed'"),
        (1, "dead_letter = 1"),
        (1, "interruption = 'input'"),
        (1, "answer_until = 5"),
        (1, "counted = 1"),
        (1, "seq = 0"),
        (1, "shown_state = 0"),
        (1, "shown_state = 9"),
        (1, "pruned = 2"),
        (2, "holder = NULL"),
        (2, "holder = NULL, holder_kind = NULL, attempt_started_at = NULL"),
        (2, "holder_kind = 'nobody'"),
        (2, "not_before = 5"),
        (2, "begun = 1"),
        (2, "cancel_requested = 2"),
        (3, "interruption = 'coffee'"),
        (3, "answer_until = NULL"),
        (3, "phase = 'ready'"),
        (4, "phase = 'failed'"),
        (4, "phase = 'answered'"),
        (4, "due_at = 5"),
        (4, "dead_letter = 1"),
    ] {
        let changed = connection
            .execute(&format!("UPDATE task SET {set} WHERE id = ?1"), [task(n).as_bytes()])
            .unwrap_err();
        assert!(changed.to_string().contains("constraint failed"), "{set}: {changed}");
    }
    for insert in [
        "INSERT INTO event (key, holds, op, events) VALUES (9 << 14, 0, zeroblob(16), '[]')",
        "INSERT INTO event (key, holds, op, events) VALUES (9 << 14 | 10001, 0, zeroblob(16), '[]')",
        "INSERT INTO event (key, holds, op, events) VALUES (9 << 14 | 1, 8, zeroblob(16), '[]')",
        "INSERT INTO event (key, holds, op, events) VALUES (9 << 14 | 1, 0, zeroblob(15), '[]')",
        "INSERT INTO event (key, holds, op, events) SELECT key, holds, op, events FROM event LIMIT 1",
        "INSERT INTO scope (agent, grant_id, subject) SELECT agent, grant_id, subject FROM scope LIMIT 1",
        "INSERT INTO task_count VALUES (99, 1, 1)",
        "INSERT INTO idempotency VALUES (1, 'k', x'00', x'00', 1)",
        "INSERT INTO credential VALUES (zeroblob(31), 'g', 'h', 1, NULL)",
    ] {
        let refused = connection.execute(insert, []).unwrap_err();
        assert!(refused.to_string().contains("constraint failed"), "{insert}: {refused}");
    }
}

#[tokio::test]
async fn closing_commits_what_is_queued() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(open(folder.path()).unwrap());
    let mut running = JoinSet::new();
    for n in 0..300 {
        let store = Arc::clone(&store);
        running.spawn(async move { store.apply(create(new(n), at(0))).await });
    }
    // The runtime polls some sixty of them between two turns of this test.
    for _ in 0..10 {
        yield_now().await;
    }
    store.close().await;
    store.close().await;
    assert!(running.join_all().await.iter().all(Result::is_ok));

    let unavailable =
        |answer: Result<(), Error>| assert!(matches!(answer, Err(Error::Unavailable(_))), "{answer:?}");
    unavailable(store.apply(change(task(1), vec![Input::Shown], at(1))).await.map(drop));
    unavailable(store.claim(claim(1, 1)).await.map(drop));
    unavailable(store.find(&by_owner(), task(1)).await.map(drop));
    unavailable(store.list(everything()).await.map(drop));
    unavailable(store.events(task(1), 0, 1).await.map(drop));
    unavailable(store.due(at(0), 1).await.map(drop));
    unavailable(store.status().await.map(drop));
    unavailable(store.prune_events(at(0), 1).await.map(drop));
    unavailable(store.change_grant("g", GrantChange::Revoke, &ann(), at(0)).await.map(drop));
    drop(store);
    // The log was moved into the database.
    assert_eq!(std::fs::metadata(folder.path().join("baton.db-wal")).map_or(0, |wal| wal.len()), 0);
    let store = open(folder.path()).unwrap();
    assert_eq!(store.list(everything()).await.unwrap().total, 300);
}

/// A task that the state machine hands to nobody keeps no other from being claimed, and is no half-done claim.
#[tokio::test]
async fn a_task_that_cannot_be_claimed_is_passed_over() {
    let world = World::<Folder>::new().await;
    let folder = world.backend().0.path().to_path_buf();
    for n in 1..=5 {
        world.apply(create(new(n), at(0))).await;
    }
    for n in [1, 3] {
        beside(&folder).execute("UPDATE task SET seq = 10000 WHERE id = ?1", [task(n).as_bytes()]).unwrap();
    }
    let world = world.reopen().await;
    let ids = |claimed: Vec<Arc<baton_core::task::Snapshot>>| {
        claimed.iter().map(|snapshot| snapshot.task.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(world.claim(1, 1).await), [task(2)]);
    assert_eq!(ids(world.claim(9, 1).await), [task(4), task(5)]);
    assert_eq!(ids(world.claim(9, 1).await), []);
}

#[tokio::test]
async fn lapsed_keys_go() {
    let world = World::<Folder>::new().await;
    let folder = world.backend().0.path().to_path_buf();
    for n in 0..10 {
        world.apply(create_keyed(new(n), &format!("key {n}"), 1, at(0))).await;
    }
    let keys = || -> i64 {
        beside(&folder).query_row("SELECT count(*) FROM idempotency", [], |row| row.get(0)).unwrap()
    };
    assert_eq!(keys(), 10);
    for n in 10..20 {
        world.apply(create_keyed(new(n), &format!("key {n}"), 1, at(24 * 60 * 60 * 1000 + 1))).await;
    }
    assert_eq!(keys(), 10);
}

#[tokio::test]
async fn a_token_is_kept_as_its_digest() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    store.create_grant(grant("g1", 7, 0)).await.unwrap();
    let bob = baton_store::Actor::new("bob", "socket");
    store.change_grant("g1", GrantChange::Revoke, &bob, at(5)).await.unwrap();
    let connection = beside(folder.path());
    let credential: ([u8; 32], String, i64) = connection
        .query_row("SELECT digest, hint, expires_at FROM credential", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .unwrap();
    assert_eq!(credential, ([7; 32], "bt_7".to_owned(), at(5).as_millis()));
    let mut audit = connection.prepare("SELECT actor, action, target FROM audit ORDER BY id").unwrap();
    let rows: Vec<(String, String, String)> = audit
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let row = |actor: &str, action: &str| (actor.to_owned(), action.to_owned(), "g1".to_owned());
    assert_eq!(rows, [row("ann", "grant.create"), row("bob", "grant.revoke")]);
}

/// What is queued behind a revocation is refused, also where both are one commit.
#[tokio::test]
async fn nothing_comes_after_a_revocation_in_its_group() {
    let world = World::<Folder>::new().await;
    let folder = world.backend().0.path().to_path_buf();
    world.store.create_grant(grant("g1", 7, 0)).await.unwrap();
    let owner = baton_core::ident::Owner::new("g1", "");
    let by = By::Owner(agent("echo"), owner.clone());
    let made = New { owner, ..new(1) };
    world.store.apply(baton_store::Op { by: by.clone(), ..create(made, at(0)) }).await.unwrap();
    let before = world.store.status().await.unwrap();
    let blocked = Blocked::new(&folder);
    let put = |id: &str| world.store.put_push_config(&by, task(1), hook(id), at(1));
    let (first, revoked, second, ()) =
        tokio::join!(put("before"), world.regrant("g1", GrantChange::Revoke, 1), put("after"), async {
            yield_now().await;
            yield_now().await;
            blocked.release();
        });
    assert!(first.is_ok() && revoked.is_ok(), "{first:?} {revoked:?}");
    assert!(matches!(second, Err(Error::Barred(Barred::Over))), "{second:?}");
    let after = world.store.status().await.unwrap();
    assert!(after.commits - before.commits <= 2, "{} commits", after.commits - before.commits);
    let ended = world.store.find_push_config(task(1), "before").await.unwrap().unwrap();
    assert_eq!(ended.state, DeliveryState::Ended(End::Revoked));
    assert_eq!(world.store.find_push_config(task(1), "after").await.unwrap(), None);
}

#[tokio::test]
async fn a_replay_is_audited() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    store.apply(create(new(1), at(0))).await.unwrap();
    store.put_push_config(&by_owner(), task(1), hook("a"), at(0)).await.unwrap();
    store.replay(task(1), "a", (&ann(), at(5))).await.unwrap();
    let row: (i64, String, String, String) = beside(folder.path())
        .query_row("SELECT at, actor, action, target FROM audit", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
        .unwrap();
    let target = format!("{}/a", task(1));
    assert_eq!(row, (at(5).as_millis(), "ann".into(), "delivery.replay".into(), target));
}

/// Whoever has the file can change it, and is found out; the database itself lets nobody.
#[tokio::test]
async fn the_audit_log_is_only_added_to() {
    let world = World::<Folder>::new().await;
    let folder = world.backend().0.path().to_path_buf();
    for n in 1..=3 {
        world.store.create_grant(grant(&format!("g{n}"), n, 0)).await.unwrap();
    }
    let connection = beside(&folder);
    for sql in [
        "UPDATE audit SET actor = 'nobody' WHERE id = 2",
        "DELETE FROM audit WHERE id = 2",
        "INSERT OR REPLACE INTO audit SELECT 2, at, 'x', origin, action, target, allowed, detail, hash FROM audit WHERE id = 2",
        "INSERT INTO audit SELECT 9, at, 'x', origin, action, target, allowed, detail, hash FROM audit WHERE id = 2",
        "INSERT INTO audit SELECT 4, at, 'x', origin, action, target, 2, detail, hash FROM audit WHERE id = 2",
    ] {
        let refused = connection.execute(sql, []).unwrap_err().to_string();
        assert!(refused.contains("only added to") || refused.contains("CHECK"), "{sql}: {refused}");
    }
    let broken = async |sql: &str| {
        connection.execute_batch(sql).unwrap();
        world.store.verify_audit(None).await.unwrap().broken
    };
    assert_eq!(broken("").await, None);
    let forged = broken(
        "DROP TRIGGER audit_is_not_changed; DROP TRIGGER audit_is_not_shortened;
        UPDATE audit SET actor = 'nobody' WHERE id = 2",
    );
    assert_eq!(forged.await.map(|broken| broken.id), Some(2));
    let healed = broken("UPDATE audit SET actor = 'ann' WHERE id = 2");
    assert_eq!(healed.await, None);
    let first = broken("DELETE FROM audit WHERE id = 1").await.unwrap();
    assert_eq!((first.id, first.what.contains("missing")), (1, true), "{first:?}");
    let since = world.store.verify_audit(Some(at(0))).await.unwrap();
    assert_eq!(since.broken.map(|broken| broken.id), Some(2), "what it began with is gone");
}

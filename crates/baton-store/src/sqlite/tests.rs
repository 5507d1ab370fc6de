//! What can be seen from inside only: the writer's pragmas, the plans of its statements, a full disk.

use std::sync::Arc;

use baton_core::ident::{AgentName, ContextId, Owner, TaskId};
use baton_core::model::{Message, Role};
use baton_core::task::{Holder, HolderKind, Input, New, Policy, Request};
use baton_core::time::Timestamp;
use rusqlite::Connection;
use tempfile::TempDir;
use uuid::Uuid;

use super::{
    DATABASE, Sqlite, access, apply, audit, befriend, claim, delivery, friends, list, lock, log, needs, open,
    peers, push, retire, scope, tasks,
};
use crate::{By, Claim, Claimed, Committed, Content, Create, Error, ListQuery, Observer, Op, Tasks as _};

struct Silent;

impl Observer for Silent {
    fn committed(&self, _: &[Committed]) {}
}

/// A store over a connection that `prepare` may change first.
fn store(folder: &TempDir, prepare: impl FnOnce(&Connection)) -> Sqlite {
    let lock = lock::Lock::take(folder.path()).unwrap();
    let connection = open::writer(&folder.path().join(DATABASE)).unwrap();
    prepare(&connection);
    Sqlite::start(folder.path(), lock, connection, Arc::new(Silent)).unwrap()
}

fn create(n: u128, text: &str) -> Op {
    let id = TaskId::new(Uuid::from_u128(n));
    let new = New {
        id,
        agent: AgentName::parse("echo").unwrap(),
        owner: Owner::new("local", ""),
        context_id: ContextId::parse("talk").unwrap(),
        policy: Policy::default(),
        request: Request::default(),
        message: Arc::new(Message::text(Role::User, "m", text)),
        deadline: None,
        not_before: None,
        priority: 0,
        shown: false,
    };
    Op {
        id: Uuid::from_u128(n),
        task: id,
        by: By::Node,
        create: Some(Create { new, idempotency: None }),
        inputs: Vec::new(),
        push: None,
        now: Timestamp::from_millis(1),
        repeat: false,
    }
}

#[test]
fn a_commit_is_synced() {
    let folder = tempfile::tempdir().unwrap();
    let connection = open::writer(&folder.path().join(DATABASE)).unwrap();
    let ask = |pragma: &str| -> String {
        let sql = format!("SELECT CAST(value AS TEXT) FROM (SELECT {pragma} AS value FROM pragma_{pragma})");
        connection.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    assert_eq!(ask("journal_mode"), "wal");
    assert_eq!(ask("synchronous"), "2");
    assert_eq!(ask("foreign_keys"), "1");
    let reader = open::reader(&folder.path().join(DATABASE)).unwrap();
    let refused = reader.execute("DELETE FROM meta", []).unwrap_err();
    assert!(refused.to_string().contains("readonly"), "{refused}");
}

/// Each statement looks up what it needs in the index that was made for it, already in order.
#[test]
fn statements_use_their_indexes() {
    let folder = tempfile::tempdir().unwrap();
    let connection = open::writer(&folder.path().join(DATABASE)).unwrap();
    for (sql, index) in [
        (list::LIST_BY_STATE, "COVERING INDEX task_by_state"),
        (list::LIST_ALL, "INDEX sqlite_autoindex_task"),
        (list::LIST_ALL_OF_STATE, "INDEX task_of_state"),
        (list::LIST_ALL_AT_WORK, "COVERING INDEX task_by_state"),
        (needs::LIST_ASKING, "INDEX task_of_state"),
        (needs::COUNT_ASKING, "INDEX task_of_state"),
        (needs::LIST_UNATTENDED, "INDEX task_unattended"),
        (needs::COUNT_UNATTENDED, "INDEX task_unattended"),
        (&needs::LIST_FAILING.replace("{}", delivery::CONFIG), "INDEX push_failing"),
        (needs::COUNT_FAILING, "INDEX push_failing"),
        (log::FIRST_MESSAGE, "INTEGER PRIMARY KEY"),
        (list::LIST_BY_CONTEXT, "COVERING INDEX task_by_context"),
        (scope::FIND_SCOPE, "INDEX sqlite_autoindex_scope"),
        (list::COUNT_KEPT, "PRIMARY KEY"),
        (list::COUNT_SINCE, "COVERING INDEX task_by_state"),
        (list::COUNT_CONTEXT, "COVERING INDEX task_by_context"),
        (claim::LIST_READY, "INDEX task_ready"),
        (claim::LIST_RUNNING, "INDEX task_by_state"),
        (retire::LIST_AGED, "COVERING INDEX task_by_state"),
        (retire::LIST_OLDEST, "SCAN task"),
        (log::FIND_OP, "INTEGER PRIMARY KEY"),
        (apply::FIND_KEY, "PRIMARY KEY"),
        (apply::FORGET_KEYS, "INDEX idempotency_at"),
        (tasks::LIST_DUE, "INDEX task_due"),
        (tasks::LIST_ORPHANED, "INDEX task_by_state"),
        (tasks::NEXT_READY, "INDEX task_ready"),
        (tasks::LIST_OPEN_OF_REVOKED, "INDEX task_by_state"),
        (log::LIST_EVENTS, "INTEGER PRIMARY KEY"),
        (log::LIST_CONTENT, "INTEGER PRIMARY KEY"),
        (log::LIST_NEWEST_MESSAGES, "INTEGER PRIMARY KEY"),
        (log::LIST_ATTEMPTS, "INTEGER PRIMARY KEY"),
        (log::FIND_STATUS, "INTEGER PRIMARY KEY"),
        (log::PRUNE_EVENTS, "INTEGER PRIMARY KEY"),
        (audit::LIST_AUDIT, "INTEGER PRIMARY KEY"),
        (audit::WALK_AUDIT, "INTEGER PRIMARY KEY"),
        (audit::FIRST_AUDIT_SINCE, "COVERING INDEX audit_at"),
        (access::END_PUSH_CONFIGS, "INDEX push_of_grant"),
        (push::MARK_OWED, "PRIMARY KEY"),
        (delivery::LIST_DUE_TARGETS, "INDEX push_due"),
        (&delivery::LIST_OWED.replace("{}", delivery::CONFIG), "INDEX push_due"),
        (delivery::LIST_DELIVERY_ATTEMPTS, "PRIMARY KEY"),
        (&friends::LIST_FRIEND_REQUESTS.replace("{}", friends::REQUEST), "PRIMARY KEY"),
        (befriend::COUNT_FRIEND_REQUESTS, "INDEX friend_request_from"),
        (befriend::COUNT_PENDING, "INDEX friend_request_due"),
        (befriend::LIST_LAPSED, "INDEX friend_request_due"),
        (&peers::LIST_DUE_PEERS.replace("{}", peers::PEER), "INDEX peer_due"),
    ] {
        let plan = plan(&connection, sql);
        assert!(plan.contains(index), "{sql}\n{plan}");
        // Grants are few; tasks of an earlier run are looked for once; and of those at work, the identifiers are sorted.
        let of_grants = std::ptr::eq(sql, tasks::LIST_OPEN_OF_REVOKED);
        let once = [tasks::LIST_ORPHANED, claim::LIST_RUNNING];
        let of_open = once.contains(&sql) || std::ptr::eq(sql, list::LIST_ALL_AT_WORK);
        // The oldest are what it comes to first.
        let of_oldest = std::ptr::eq(sql, retire::LIST_OLDEST);
        // What a statement made itself has no index, and these two hold nothing but what is looked for.
        let scans = |step: &str| {
            let own = ["walk", "subquery", "CONSTANT ROW", "task_unattended", "push_failing"];
            step.contains("SCAN") && !own.iter().any(|name| step.contains(name))
        };
        assert!(of_grants || of_open || of_oldest || !plan.lines().any(scans), "{sql}\n{plan}");
        let sorts_few = of_grants || of_open;
        assert!(sorts_few || !plan.contains("TEMP B-TREE"), "{sql}\n{plan}");
    }
}

fn plan(connection: &Connection, sql: &str) -> String {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let mut rows = statement.raw_query();
    let mut plan = String::new();
    while let Some(row) = rows.next().unwrap() {
        plan += &row.get::<_, String>(3).unwrap();
        plan.push('\n');
    }
    plan
}

/// What a store of the first schema holds is there in this one, and can be claimed.
#[tokio::test]
async fn an_earlier_schema_is_taken_over() {
    let (earlier, now) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let made = store(&now, |_| {});
    let put_off = Timestamp::from_millis(5_000);
    for n in 1..=3 {
        let mut op = create(n, "text");
        op.create.as_mut().unwrap().new.not_before = (n == 3).then_some(put_off);
        op.inputs = if n == 1 { vec![Input::CancelRequested] } else { Vec::new() };
        made.apply(op).await.unwrap();
    }
    let mut before = Vec::new();
    for n in 1..=3 {
        before.push(made.find(&By::Node, TaskId::new(Uuid::from_u128(n))).await.unwrap().unwrap());
    }
    made.close().await;
    drop(made);
    move_back(&now, &earlier);
    let again = store(&earlier, |_| {});
    for was in &before {
        assert_eq!(again.find(&By::Node, was.task.id).await.unwrap().as_ref(), Some(was));
    }
    let claim = |now| Claim {
        agent: AgentName::parse("echo").unwrap(),
        holder: Holder { kind: HolderKind::Node, name: "node".into() },
        by: None,
        lease: None,
        task: None,
        most: 9,
        concurrency: Some(2),
        budget: None,
        now: Timestamp::from_millis(now),
    };
    let ids = |claimed: Claimed| claimed.tasks.iter().map(|it| it.task.id).collect::<Vec<_>>();
    assert_eq!(ids(again.claim(claim(10)).await.unwrap()), [before[1].task.id]);
    assert_eq!(ids(again.claim(claim(5_000)).await.unwrap()), [before[2].task.id]);
    again.close().await;
}

/// Makes a store of the first schema with the rows of another.
fn move_back(from: &TempDir, to: &TempDir) {
    let connection = Connection::open(to.path().join(DATABASE)).unwrap();
    connection
        .execute_batch("CREATE TABLE meta (key TEXT NOT NULL PRIMARY KEY, value ANY) WITHOUT ROWID")
        .unwrap();
    connection.execute_batch(open::MIGRATIONS[0]).unwrap();
    connection.execute("INSERT INTO meta (key, value) VALUES ('schema', 1)", []).unwrap();
    let path = from.path().join(DATABASE);
    connection.execute("ATTACH ?1 AS newer", [path.to_str().unwrap()]).unwrap();
    for table in ["scope", "task", "event", "task_count"] {
        let list = format!("SELECT group_concat(name) FROM pragma_table_info('{table}', 'main')");
        let columns: String = connection.query_row(&list, [], |row| row.get(0)).unwrap();
        let copy = format!("INSERT INTO main.{table} ({columns}) SELECT {columns} FROM newer.{table}");
        assert!(connection.execute(&copy, []).unwrap() > 0, "{table}");
    }
}

/// What was acknowledged is there, what was not is nowhere, in memory and on disk alike, and the store works again when
/// there is room.
#[tokio::test]
async fn a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let full = store(&folder, |connection| {
        let pages: i64 =
            connection.query_row("SELECT page_count FROM pragma_page_count", [], |row| row.get(0)).unwrap();
        connection.execute_batch(&format!("PRAGMA max_page_count = {}", pages + 40)).unwrap();
    });
    let text = "x".repeat(10_000);
    let ops: Vec<_> = (0..40).map(|n| create(n, if n % 4 == 3 { "small" } else { &text })).collect();
    let mut running = tokio::task::JoinSet::new();
    for op in ops.clone() {
        let store = full.clone();
        running.spawn(async move { (op.task, store.apply(op).await) });
    }
    let answers = running.join_all().await;
    let refused: Vec<_> = answers.iter().filter(|(_, answer)| answer.is_err()).collect();
    assert!(refused.len() > 10 && refused.len() < 40, "{}", refused.len());
    for (id, answer) in &answers {
        let found = full.find(&By::Node, *id).await.unwrap();
        match answer {
            Ok(applied) => assert_eq!(found.as_ref(), applied.known.snapshot()),
            Err(why) => {
                assert!(matches!(why, Error::Unavailable(text) if text.contains("full")), "{why:?}");
                assert_eq!(found, None);
            }
        }
    }
    // A change that cannot be written leaves the task as it was.
    let (id, _) = answers.iter().find(|(_, answer)| answer.is_ok()).unwrap();
    let before = full.find(&By::Node, *id).await.unwrap();
    let more = Arc::new(Message::text(Role::User, "m", "x".repeat(400_000)));
    let inputs = vec![Input::Messaged { message: more }];
    let change = Op { id: Uuid::from_u128(99), task: *id, create: None, inputs, ..create(0, "") };
    assert!(matches!(full.apply(change.clone()).await, Err(Error::Unavailable(_))));
    assert_eq!(full.find(&By::Node, *id).await.unwrap(), before);
    full.close().await;
    drop(full);

    let roomy = store(&folder, |_| {});
    assert_eq!(roomy.find(&By::Node, *id).await.unwrap(), before);
    let total = |store: &Sqlite| {
        let (agent, owner) = (AgentName::parse("echo").unwrap(), Owner::new("local", ""));
        let query = ListQuery {
            agent,
            owner,
            context: None,
            state: None,
            since: None,
            after: None,
            size: 100,
            content: Content::default(),
        };
        let store = store.clone();
        async move { store.list(query).await.unwrap() }
    };
    let page = total(&roomy).await;
    assert_eq!((page.tasks.len(), page.total), (40 - refused.len(), 40 - refused.len() as u64));
    for op in ops {
        let was_refused = refused.iter().any(|(id, _)| *id == op.task);
        let applied = roomy.apply(Op { repeat: true, ..op }).await.unwrap();
        assert_eq!(applied.repeated, !was_refused);
    }
    assert!(!roomy.apply(Op { repeat: true, ..change }).await.unwrap().repeated);
    assert_eq!(total(&roomy).await.total, 40);
}

/// As by a process that a node was just starting when it was killed.
#[test]
fn a_lock_that_is_held_for_a_moment_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("baton.lock");
    let open = || std::fs::File::options().create(true).append(true).open(&path).unwrap();
    let (file, mut holder) = (open(), Some(open()));
    rustix::fs::flock(holder.as_ref().unwrap(), rustix::fs::FlockOperation::LockExclusive).unwrap();
    let mut pauses = 0;
    lock::patiently(&file, |_| {
        pauses += 1;
        if pauses == 3 {
            holder = None;
        }
    })
    .unwrap();
    assert_eq!(pauses, 3);
    // One that stays held is given up.
    let other = open();
    let mut waited = std::time::Duration::ZERO;
    let gave_up = lock::patiently(&other, |pause| waited += pause).unwrap_err();
    assert_eq!((gave_up, waited), (rustix::io::Errno::WOULDBLOCK, std::time::Duration::from_secs(1)));
}

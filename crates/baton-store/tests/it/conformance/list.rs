//! `list`: filters, order, pages, and how many there are in all.

use std::sync::Arc;

use baton_core::ident::{ContextId, Owner, TaskId};
use baton_core::model::TaskState;
use baton_core::task::{Input, Interruption, Policy, Snapshot};
use baton_core::time::Timestamp;
use baton_store::{By, Content, ListAllQuery, ListQuery, Tasks};

use super::Backend;
use super::script::*;
use super::world::World;

fn context(name: &str) -> ContextId {
    ContextId::parse(name).unwrap()
}

/// All pages one after the other; each says the same total.
async fn walk<B: Backend>(world: &World<B>, query: &ListQuery) -> (Vec<TaskId>, u64) {
    let mut query = query.clone();
    let mut found = Vec::new();
    loop {
        let page = world.store.list(query.clone()).await.unwrap();
        assert!(page.tasks.len() <= query.size);
        assert!(page.next.is_none() || page.tasks.len() == query.size, "a page in the middle is full");
        found.extend(page.tasks.iter().map(|snapshot| snapshot.task.id));
        query.after = page.next;
        if page.next.is_none() {
            return (found, page.total);
        }
        assert!(found.len() <= 1_000, "pages that never end");
    }
}

/// What brings a task into the `n`-th state of [`TaskState::ALL`], a direct message being the first.
fn into_state(n: usize) -> Vec<Input> {
    let then = |input| vec![claimed(worker("w")), input];
    match n {
        0 => then(Input::Replied { attempt: 1, message: said("hi") }),
        1 => Vec::new(),
        2 => vec![claimed(worker("w"))],
        3 => then(completed(1)),
        4 => then(Input::Failed {
            attempt: 1,
            reason: baton_core::task::Reason::Failed,
            message: None,
            retryable: false,
        }),
        5 => then(Input::CancelRequested),
        6 => then(asked(1)),
        7 => then(Input::Rejected { attempt: 1, message: None }),
        _ => then(Input::Asked { attempt: 1, kind: Interruption::Auth, message: None }),
    }
}

pub async fn newest_status_first<B: Backend>() {
    let world = World::<B>::new().await;
    for n in 1..=4 {
        world.apply(create(new(n), at(i64::try_from(n).unwrap()))).await;
    }
    world.change(task(2), vec![claimed(node("boot"))], at(10)).await;
    world.change(task(2), vec![completed(1)], at(11)).await;
    // Nothing of the status changes: neither does its place.
    world.change(task(1), vec![messaged("m2", "more")], at(12)).await;
    let page = world.store.list(everything()).await.unwrap();
    assert_eq!(
        page.tasks.iter().map(|it| it.task.id).collect::<Vec<_>>(),
        [task(2), task(4), task(3), task(1)]
    );
    assert_eq!((page.total, page.next), (4, None));
    for listed in &page.tasks {
        assert_eq!(*listed, world.load(listed.task.id).await);
    }
    assert_eq!(page.tasks[3].messages.len(), 2);
}

/// Every combination of filters against the plain reading of them.
pub async fn every_filter<B: Backend>() {
    let world = World::<B>::new().await;
    let mut all: Vec<Arc<Snapshot>> = Vec::new();
    for n in 0..36_usize {
        let mut made = new(n as u128);
        made.context_id = context(["talk", "work"][n / 9 % 2]);
        made.policy = Policy { replies: true, ..Policy::default() };
        // Three tasks share each millisecond.
        let now = at(i64::try_from(n / 3).unwrap());
        let applied = world.apply(create_with(made, into_state(n % 9), now)).await;
        all.push(Arc::clone(applied.known.snapshot().unwrap()));
    }
    let world = world.reopen().await;
    let shown = |snapshot: &Snapshot| snapshot.task.state.shown();
    all.retain(|snapshot| shown(snapshot) != TaskState::Unspecified);
    all.sort_by_key(|snapshot| std::cmp::Reverse((snapshot.task.status.at, snapshot.task.id)));
    assert_eq!(all.len(), 32);
    let states: Vec<_> = std::iter::once(None).chain(TaskState::ALL.iter().copied().map(Some)).collect();
    let contexts = [None, Some(context("talk")), Some(context("work")), Some(context("unknown"))];
    let times: [Option<Timestamp>; 5] = [None, Some(at(-5)), Some(at(4)), Some(at(11)), Some(at(12))];
    for (state, context, since) in states
        .iter()
        .flat_map(|state| contexts.iter().map(move |context| (state, context)))
        .flat_map(|(state, context)| times.iter().map(move |since| (*state, context.clone(), *since)))
    {
        let matches = |snapshot: &&Arc<Snapshot>| {
            state.is_none_or(|state| shown(snapshot) == state)
                && context.as_ref().is_none_or(|context| snapshot.task.context_id == *context)
                && since.is_none_or(|since| snapshot.task.status.at >= since)
        };
        let expected: Vec<_> = all.iter().filter(matches).map(|snapshot| snapshot.task.id).collect();
        for size in [1, 5, 100] {
            let query = ListQuery { context: context.clone(), state, since, size, ..everything() };
            let (found, total) = walk(&world, &query).await;
            assert_eq!(found, expected, "{query:?}");
            assert_eq!(total, expected.len() as u64, "{query:?}");
        }
    }
}

/// Hundreds of tasks in one millisecond: no page skips or repeats one.
pub async fn equal_times<B: Backend>() {
    let world = World::<B>::new().await;
    let creates = (0..250_u16)
        .map(|n| {
            let inputs = into_state(usize::from(n % 5) + 1);
            create_with(new(u128::from(n)), inputs, at(7))
        })
        .collect();
    assert!(world.apply_all(creates).await.iter().all(Result::is_ok));
    let newest_first: Vec<_> = (0..250).rev().map(task).collect();
    for size in (1..=12).chain([24, 25, 26, 49, 50, 51, 99, 100]) {
        for context in [None, Some(context("talk"))] {
            let query = ListQuery { size, context, ..everything() };
            assert_eq!(walk(&world, &query).await, (newest_first.clone(), 250), "pages of {size}");
        }
        let query = ListQuery { size, state: Some(TaskState::Working), ..everything() };
        let (working, total) = walk(&world, &query).await;
        assert_eq!((working.len(), total), (50, 50));
    }
    for since in [Some(at(7)), Some(at(8))] {
        let query = ListQuery { size: 100, since, ..everything() };
        let expected = if since == Some(at(7)) { 250 } else { 0 };
        assert_eq!(walk(&world, &query).await.1, expected);
    }
}

pub async fn others_are_invisible<B: Backend>() {
    let world = World::<B>::new().await;
    let mut foreign: Vec<_> = (1..=4).map(new).collect();
    foreign[0].owner = Owner::new("local", "ann");
    foreign[1].owner = Owner::new("other", "");
    foreign[2].agent = agent("other");
    foreign[3].policy = Policy { replies: true, ..Policy::default() };
    for (n, new) in foreign.into_iter().enumerate() {
        let inputs = if n == 3 { into_state(0) } else { Vec::new() };
        let mut op = create_with(new, inputs, at(0));
        op.by = By::Node;
        world.apply(op).await;
    }
    for state in std::iter::once(None).chain(TaskState::ALL.iter().copied().map(Some)) {
        for context in [None, Some(context("talk"))] {
            for since in [None, Some(at(0))] {
                let query = ListQuery { context: context.clone(), state, since, ..everything() };
                assert_eq!(walk(&world, &query).await, (Vec::new(), 0), "{query:?}");
            }
        }
    }
    let query = ListQuery { owner: Owner::new("local", "ann"), ..everything() };
    assert_eq!(walk(&world, &query).await, (vec![task(1)], 1));
    let query = ListQuery { agent: agent("other"), ..everything() };
    assert_eq!(walk(&world, &query).await, (vec![task(3)], 1));
}

/// What an operator sees: every owner's tasks, newest created first, and no direct message.
pub async fn everybodys_tasks<B: Backend>() {
    let world = World::<B>::new().await;
    for n in 0..20_u8 {
        let mut made = new(u128::from(n));
        made.owner = Owner::new(["local", "other"][usize::from(n % 2)], "");
        made.agent = agent(["echo", "other"][usize::from(n % 4 / 2)]);
        made.policy = Policy { replies: true, ..Policy::default() };
        let mut op = create_with(made, into_state(usize::from(n % 5)), at(i64::from(n)));
        op.by = By::Node;
        world.apply(op).await;
    }
    let world = world.reopen().await;
    for wanted_agent in [None, Some("echo"), Some("other"), Some("nobody")] {
        for state in std::iter::once(None).chain(TaskState::ALL.iter().copied().map(Some)) {
            let matches = |n: &u8| {
                let shown = TaskState::ALL[usize::from(n % 5)];
                shown != TaskState::Unspecified
                    && state.is_none_or(|state| state == shown)
                    && wanted_agent.is_none_or(|name| name == ["echo", "other"][usize::from(n % 4 / 2)])
            };
            let expected: Vec<_> = (0..20).rev().filter(matches).map(|n| task(u128::from(n))).collect();
            for size in [1, 4, 100] {
                let wanted_agent = wanted_agent.map(agent);
                let mut query = ListAllQuery {
                    agent: wanted_agent,
                    state,
                    after: None,
                    size,
                    content: Content::default(),
                };
                let mut found = Vec::new();
                loop {
                    let page = world.store.list_all(query.clone()).await.unwrap();
                    assert_eq!(page.total, expected.len() as u64, "{query:?}");
                    let begins =
                        |snapshot: &Arc<Snapshot>| *snapshot.messages[0].1 == *user("first", "hello");
                    assert!(page.tasks.iter().all(begins), "{query:?}");
                    found.extend(page.tasks.iter().map(|snapshot| snapshot.task.id));
                    query.after = page.next;
                    if page.next.is_none() {
                        break;
                    }
                }
                assert_eq!(found, expected, "{query:?}");
            }
        }
    }
}

pub async fn nothing<B: Backend>() {
    let world = World::<B>::new().await;
    for state in [None, Some(TaskState::Working)] {
        for context in [None, Some(context("talk"))] {
            for since in [None, Some(at(0))] {
                let query = ListQuery { context: context.clone(), state, since, ..everything() };
                let page = world.store.list(query).await.unwrap();
                assert_eq!((page.tasks, page.next, page.total), (Vec::new(), None, 0));
            }
        }
    }
}

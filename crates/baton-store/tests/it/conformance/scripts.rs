//! Tasks in every state, and what is stored of them: read back, each is what was answered.

use std::sync::Arc;

use baton_core::json::Object;
use baton_core::task::{
    Event, Input, Interruption, LeaseLoss, New, Policy, Reason, Request, Snapshot, State, replay,
};

use baton_store::Tasks as _;

use super::Backend;
use super::script::*;
use super::world::World;

/// A new task and the operations after it, one millisecond apart.
type Script = (New, Vec<Vec<Input>>);

fn failed(attempt: u32, retryable: bool) -> Input {
    Input::Failed { attempt, reason: Reason::Transient, message: Some(said("not now")), retryable }
}

fn usage() -> Input {
    Input::Used { attempt: 1, usage: Object::parse(r#"{"tokens":3.0,"cost":1e400}"#).unwrap() }
}

/// One for every state, and for what a state can carry.
pub fn scripts() -> Vec<Script> {
    let once = |n| (new(n), Vec::new());
    let run = |n, inputs: Vec<Vec<Input>>| (new(n), [vec![vec![claimed(node("boot"))]], inputs].concat());
    let mut full = new(1);
    full.request = Request {
        accepted_output_modes: vec!["text/plain".into()],
        metadata: Some(Object::parse(r#"{"n":9007199254740993}"#).unwrap()),
        extensions: vec!["urn:x:cites".into()],
    };
    full.deadline = Some(at(100_000));
    full.policy = Policy { retry: false, max_attempts: 2, takes_messages: true, ..Policy::default() };
    full.shown = true;
    let once_only = |n| New { policy: Policy { max_attempts: 1, ..Policy::default() }, ..new(n) };
    let replying = New { policy: Policy { replies: true, ..Policy::default() }, ..new(18) };
    let auth = Input::Asked { attempt: 1, kind: Interruption::Auth, message: None };
    let progress = Input::Progressed { attempt: 1, message: said("half way") };
    let gone = Input::HolderGone { attempt: 1, message: None };
    let lapsed = Input::LeaseLapsed { attempt: 1, loss: LeaseLoss::NodeDied };
    let rejected = Input::Rejected { attempt: 1, message: Some(said("no")) };
    vec![
        once(0),
        (
            full,
            vec![
                vec![messaged("m2", "one more thing")],
                vec![claimed(node("boot"))],
                vec![messaged("m3", "!")],
            ],
        ),
        (new(2), vec![vec![leased(worker("w"), 60_000)]]),
        run(3, vec![vec![progress.clone()], vec![wrote(1, chunk("a", "x", false))], vec![usage()]]),
        run(4, vec![vec![asked(1)]]),
        run(5, vec![vec![auth]]),
        run(6, vec![vec![asked(1)], vec![gone.clone()]]),
        run(7, vec![vec![asked(1)], vec![gone.clone()], vec![messaged("m2", "that one")]]),
        run(8, vec![vec![asked(1)], vec![messaged("m2", "that one")]]),
        run(9, vec![vec![failed(1, true)]]),
        run(10, vec![vec![Input::Released { attempt: 1, message: Some(said("not mine")) }]]),
        run(11, vec![vec![Input::CancelRequested]]),
        run(12, vec![vec![progress], vec![completed(1)]]),
        run(13, vec![vec![failed(1, false)]]),
        (once_only(14), vec![vec![claimed(node("boot"))], vec![failed(1, true)]]),
        run(15, vec![vec![Input::CancelRequested], vec![Input::CancelConfirmed { attempt: 1 }]]),
        run(16, vec![vec![rejected]]),
        run(17, vec![vec![lapsed]]),
        (
            replying,
            vec![vec![claimed(node("boot"))], vec![Input::Replied { attempt: 1, message: said("hi") }]],
        ),
        (new(19), vec![vec![Input::GrantRevoked]]),
        (new(20), vec![vec![Input::Shown]]),
        run(21, vec![vec![gone]]),
        run(
            22,
            vec![vec![
                wrote(1, chunk("a", "1", false)),
                wrote(1, chunk("b", "2", false)),
                wrote(1, chunk("a", "3", false)),
                wrote(1, chunk("b", "4", true)),
            ]],
        ),
    ]
}

/// What was answered last, and everything that happened.
pub type Played = (New, Arc<Snapshot>, Vec<Arc<Event>>);

pub async fn play<B: Backend>(world: &World<B>) -> Vec<Played> {
    let mut played = Vec::new();
    for (new, operations) in scripts() {
        let mut applied = world.apply(create(new.clone(), at(0))).await;
        let mut events = applied.events.clone();
        for (inputs, now) in operations.into_iter().zip(1..) {
            applied = world.change(new.id, inputs, at(now)).await;
            events.extend(applied.events.iter().cloned());
        }
        let loaded = world.load(new.id).await;
        assert_eq!(*applied.known.task(), loaded.task);
        let whole = applied.known.snapshot();
        // Where nobody else changes anything, so small a task is at hand as a whole.
        assert!(whole.is_some() || world.store.shared());
        played.push((new, whole.map_or(loaded, Arc::clone), events));
    }
    played
}

pub async fn what_was_answered_is_read_back<B: Backend>() {
    let world = World::<B>::new().await;
    let played = play(&world).await;
    for (new, answered, _) in &played {
        assert_eq!(world.load(new.id).await, *answered);
    }
    let world = world.reopen().await;
    for (new, answered, _) in &played {
        assert_eq!(world.load(new.id).await, *answered);
    }
    let states =
        |wanted: fn(&State) -> bool| played.iter().filter(|(_, known, _)| wanted(&known.task.state)).count();
    assert_eq!(states(|state| matches!(state, State::Ready { not_before: Some(_), begun: true })), 3);
    assert_eq!(states(|state| matches!(state, State::Interrupted { attempt: None, .. })), 1);
    assert_eq!(states(|state| matches!(state, State::Failed { dead_letter: true, .. })), 1);
    assert_eq!(states(|state| *state == State::Answered), 1);
}

pub async fn the_log_is_read_back<B: Backend>() {
    let world = World::<B>::new().await;
    let played = play(&world).await;
    let world = world.reopen().await;
    for (new, answered, events) in &played {
        let log = world.log(new.id).await;
        assert_eq!(log, *events);
        let mut replayed =
            replay(new, &log.iter().map(|event| Event::clone(event)).collect::<Vec<_>>()).unwrap();
        // That a client saw the task is no event.
        replayed.shown = answered.task.shown;
        assert_eq!(replayed, answered.task);
    }
}

pub async fn tasks_go_on_after_a_restart<B: Backend>() {
    let world = World::<B>::new().await;
    let played = play(&world).await;
    let world = world.reopen().await;
    for (new, answered, events) in &played {
        if answered.task.state.is_terminal() {
            continue;
        }
        let attempt = answered.task.state.open_attempt().map_or(0, |attempt| attempt.number);
        let input = match attempt {
            0 => Input::CancelRequested,
            attempt => Input::Completed { attempt, message: None },
        };
        let applied = world.change(new.id, vec![input], at(50)).await;
        assert!(applied.known.task().state.is_terminal());
        let now = world.load(new.id).await;
        assert_eq!(now.task, *applied.known.task());
        assert_eq!(now.artifacts, answered.artifacts);
        assert_eq!(world.log(new.id).await.len(), events.len() + 1);
    }
}

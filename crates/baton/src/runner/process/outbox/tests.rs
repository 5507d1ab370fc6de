//! Gathering, order and refusals, on a scripted reporter.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use baton_core::model::{Artifact, Message, Part, Role};
use baton_core::task::{Chunk, Reason};
use tokio::time::Instant;

use super::{GATHER, GATHER_BYTES, Outbox, SOON};
use crate::runner::{Fact, Refused, Report, Reporter};

#[derive(Default)]
struct Script {
    answers: Mutex<VecDeque<Result<(), Refused>>>,
    heard: Mutex<Vec<Vec<Fact>>>,
}

#[async_trait]
impl Report for Script {
    async fn report(&self, facts: Vec<Fact>) -> Result<(), Refused> {
        let answer = self.answers.lock().unwrap().pop_front().unwrap_or(Ok(()));
        if answer.is_ok() {
            self.heard.lock().unwrap().push(facts);
        }
        answer
    }
}

fn outbox(answers: impl IntoIterator<Item = Result<(), Refused>>) -> (Outbox, Arc<Script>) {
    let script = Arc::new(Script { answers: Mutex::new(answers.into_iter().collect()), ..Script::default() });
    let outbox = Outbox::new(Reporter::new(script.clone()));
    (outbox, script)
}

fn chunk(id: &str, text: &str, append: bool) -> Fact {
    let artifact = Artifact { artifact_id: id.into(), parts: vec![Part::text(text)], ..Artifact::default() };
    Fact::Artifact(Chunk { artifact: Arc::new(artifact), append, last_chunk: false })
}

fn progress(text: &str) -> Fact {
    Fact::Progress(Message::text(Role::Agent, "m", text))
}

#[tokio::test]
async fn pieces_of_text_become_one() {
    let (mut outbox, script) = outbox([]);
    let now = Instant::now();
    outbox.push(chunk("a", "one ", false), now);
    outbox.push(chunk("a", "two ", true), now);
    outbox.push(chunk("b", "other", false), now);
    outbox.push(chunk("a", "three", true), now);
    assert_eq!(outbox.due(), Some(now + GATHER));
    outbox.flush().await.unwrap();
    assert_eq!(outbox.due(), None);
    let expected = vec![chunk("a", "one two ", false), chunk("b", "other", false), chunk("a", "three", true)];
    assert_eq!(*script.heard.lock().unwrap(), [expected]);
}

#[tokio::test]
async fn the_end_takes_everything_along_at_once() {
    let (mut outbox, script) = outbox([]);
    let now = Instant::now();
    outbox.push(progress("x"), now);
    assert_eq!(outbox.due(), Some(now + SOON));
    outbox.push(chunk("a", &"x".repeat(GATHER_BYTES), false), now);
    assert!(outbox.is_urgent(), "a full box does not wait");
    outbox.finish(Fact::Complete(None)).await;
    assert_eq!(script.heard.lock().unwrap()[0].len(), 3);
}

#[tokio::test]
async fn what_came_before_a_refusal_is_kept() {
    let invalid = || Err(Refused::Invalid("no artifact of this id was begun".into()));
    let (mut outbox, script) = outbox([invalid(), Ok(()), invalid()]);
    outbox.push(progress("x"), Instant::now());
    outbox.push(chunk("a", "y", true), Instant::now());
    outbox.finish(Fact::Complete(None)).await;
    let heard = script.heard.lock().unwrap();
    assert_eq!(heard[0], [progress("x")]);
    assert!(matches!(heard[1][..], [Fact::Fail { reason: Reason::InvalidAgentResponse, .. }]), "{heard:?}");
}

#[tokio::test]
async fn a_cancelled_task_hears_only_the_end() {
    let (mut outbox, script) = outbox([Err(Refused::Canceling), Err(Refused::Canceling)]);
    outbox.push(progress("x"), Instant::now());
    outbox.flush().await.unwrap();
    outbox.push(progress("y"), Instant::now());
    outbox.finish(Fact::Reply(Message::text(Role::Agent, "", "z"))).await;
    assert_eq!(*script.heard.lock().unwrap(), [vec![Fact::Canceled]]);
}

/// Whether the piece was refused before the end or together with it.
#[tokio::test]
async fn an_answer_that_lacks_a_piece_is_not_complete() {
    for before in [true, false] {
        let (mut outbox, script) = outbox([Err(Refused::Canceling)]);
        outbox.push(chunk("a", "x", false), Instant::now());
        if before {
            outbox.flush().await.unwrap();
        }
        outbox.finish(Fact::Complete(None)).await;
        assert_eq!(*script.heard.lock().unwrap(), [vec![Fact::Canceled]], "{before}");
    }
    let (mut outbox, script) = outbox([Err(Refused::Canceling)]);
    outbox.push(progress("almost"), Instant::now());
    outbox.finish(Fact::Complete(None)).await;
    assert_eq!(*script.heard.lock().unwrap(), [vec![Fact::Complete(None)]], "it lacks nothing");
}

#[tokio::test]
async fn a_store_that_recovers_gets_it_again() {
    let (mut outbox, script) = outbox([Err(Refused::Unavailable), Ok(())]);
    outbox.finish(Fact::Complete(None)).await;
    assert_eq!(*script.heard.lock().unwrap(), [vec![Fact::Complete(None)]]);
}

//! The binary kills itself at named points, is started again, and everything is accounted for.

use baton::crash;
use baton_store::crash as writer;

use super::node::Place;
use super::trial::{Trial, was_killed};

/// Dies at a point under load and goes on.
async fn dies_at(point: &str, n: usize) {
    let mut trial = Trial::new(Place::new());
    let node = trial.start_to_die(point, n).await.unwrap();
    trial.dies(node).await;
    trial.account().await.assert_sound();
}

#[tokio::test]
async fn before_a_transaction() {
    dies_at(writer::BEFORE_BEGIN, 60).await;
}

#[tokio::test]
async fn before_a_commit() {
    dies_at(writer::BEFORE_COMMIT, 60).await;
}

#[tokio::test]
async fn after_a_commit_that_nobody_heard_of() {
    dies_at(writer::COMMITTED, 60).await;
}

#[tokio::test]
async fn after_a_commit_that_was_not_answered() {
    dies_at(writer::OBSERVED, 60).await;
}

#[tokio::test]
async fn after_a_claim() {
    dies_at(crash::CLAIMED, 6).await;
}

#[tokio::test]
async fn after_the_start_of_a_child() {
    dies_at(crash::SPAWNED, 4).await;
}

#[tokio::test]
async fn after_the_first_word_of_a_child() {
    dies_at(crash::HEARD, 4).await;
}

#[tokio::test]
async fn after_a_report() {
    dies_at(crash::REPORTED, 6).await;
}

/// Dies, and dies again while it recovers, twice.
#[tokio::test]
async fn in_the_middle_of_a_recovery() {
    let mut trial = Trial::new(Place::new());
    let node = trial.start_to_die(crash::HEARD, 6).await.unwrap();
    trial.dies(node).await;
    for point in [writer::BEFORE_COMMIT, crash::LAPSED] {
        let status = trial.place.start_to_die(point, 1).ready().await.expect_err("it dies before it answers");
        was_killed(status);
    }
    trial.account().await.assert_sound();
}

/// Dies at a point of a drain that comes while there is work.
async fn dies_draining_at(point: &str) {
    let mut trial = Trial::new(Place::new());
    let node = trial.start_to_die(point, 1).await.unwrap();
    trial.load.send(&super::client::Send::new("hello", "first", "there")).await;
    node.terminate();
    trial.dies(node).await;
    trial.account().await.assert_sound();
}

#[tokio::test]
async fn at_the_begin_of_a_drain() {
    dies_draining_at(crash::DRAINING).await;
}

#[tokio::test]
async fn at_the_end_of_a_drain() {
    dies_draining_at(crash::STOPPED).await;
}

//! What opens a grant beside the tokens that were made with it.

use baton_core::time::Timestamp;
use baton_store::{Access, GrantChange, NewGrant};

use super::Backend;
use super::grants::grant;
use super::script::*;
use super::world::World;

impl<B: Backend> World<B> {
    /// The ids of the open grants of a name.
    async fn named(&self, name: &str, now: i64) -> Vec<String> {
        let found = self.store.find_grants_named(name, at(now)).await.unwrap();
        let mut ids: Vec<_> = found.iter().map(|grant| grant.id.to_string()).collect();
        ids.sort();
        ids
    }

    async fn used_at(&self, id: &str) -> Option<Timestamp> {
        self.store.find_grant(id).await.unwrap().unwrap().last_used_at
    }
}

pub async fn a_name_is_an_id_or_else_a_label<B: Backend>() {
    let world = World::<B>::new().await;
    let labelled = |id: &str, digest, label: &str| NewGrant { label: label.into(), ..grant(id, digest, 0) };
    for new in [labelled("g1", 1, "ci"), labelled("g2", 2, "ada"), labelled("g3", 3, "g2")] {
        world.store.create_grant(new).await.unwrap();
    }
    assert_eq!(world.named("ci", 5).await, ["g1"]);
    assert_eq!(world.used_at("g1").await, Some(at(5)));
    assert_eq!(world.named("g2", 6).await, ["g2"], "an id comes before a label");
    assert_eq!(world.named("nobody", 6).await, [""; 0]);
    assert_eq!(world.named("CI", 6).await, [""; 0]);

    let timed = NewGrant { expires_at: Some(at(100)), ..labelled("g4", 4, "ci") };
    world.store.create_grant(timed).await.unwrap();
    assert_eq!(world.named("ci", 7).await, ["g1", "g4"]);
    assert_eq!(
        (world.used_at("g1").await, world.used_at("g4").await),
        (Some(at(5)), None),
        "neither is meant"
    );
    assert_eq!(world.named("ci", 100).await, ["g1"], "the other is over");

    world.regrant("g1", GrantChange::Pause, 101).await.unwrap();
    assert_eq!(world.named("g1", 102).await, ["g1"], "a paused grant keeps its name");
    assert_eq!(world.used_at("g1").await, Some(at(100)), "but is not used");
    let world = world.reopen().await;
    assert_eq!(world.named("ci", 102).await, ["g1"]);
    world.regrant("g1", GrantChange::Revoke, 103).await.unwrap();
    assert_eq!(world.named("ci", 103).await, [""; 0]);
    assert_eq!(world.named("g1", 103).await, [""; 0]);
    let again = labelled("g5", 5, "ci");
    world.store.create_grant(NewGrant { now: at(104), ..again }).await.unwrap();
    assert_eq!(world.named("ci", 104).await, ["g5"]);
}

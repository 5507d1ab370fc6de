//! Grants: made, found by token, listed, revoked, and what a revoked one still does.

use std::sync::Arc;

use baton_core::ident::Owner;
use baton_core::task::Input;
use baton_store::{Access, By, Error, GrantState, NewCredential, NewGrant, Tasks, Verb};

use super::Backend;
use super::script::*;
use super::world::World;

fn grant(id: &str, digest: u8, now: i64) -> NewGrant {
    NewGrant {
        id: id.into(),
        label: format!("for {id}"),
        agents: vec![agent("echo"), agent("other")],
        verbs: vec![Verb::Send, Verb::Read, Verb::ExtendedCard],
        credential: NewCredential { digest: [digest; 32], hint: format!("bt_{id}") },
        actor: "operator".into(),
        now: at(now),
    }
}

pub async fn create_list_revoke<B: Backend>() {
    let world = World::<B>::new().await;
    assert_eq!(world.store.list_grants().await.unwrap(), []);
    let first = world.store.create_grant(grant("g1", 1, 10)).await.unwrap();
    let second = world.store.create_grant(grant("g2", 2, 20)).await.unwrap();
    let third = world.store.create_grant(grant("g3", 3, 20)).await.unwrap();
    assert_eq!(
        (first.label.as_str(), first.state, first.hints.clone()),
        ("for g1", GrantState::Active, vec!["bt_g1".to_owned()])
    );
    assert_eq!(first.verbs, [Verb::Send, Verb::Read, Verb::ExtendedCard]);
    assert_eq!(first.agents, [agent("echo"), agent("other")]);
    let listed = vec![third.clone(), second.clone(), first.clone()];
    assert_eq!(world.store.list_grants().await.unwrap(), listed);
    let world = world.reopen().await;
    assert_eq!(world.store.list_grants().await.unwrap(), listed);
    assert_eq!(world.store.find_credential(&[1; 32]).await.unwrap(), Some(Arc::clone(&first)));
    assert_eq!(world.store.find_credential(&[9; 32]).await.unwrap(), None);

    let revoked = world.store.revoke_grant("g1", "operator", at(30)).await.unwrap();
    assert_eq!(revoked.state, GrantState::Revoked { at: at(30) });
    assert_eq!((&revoked.id, &revoked.hints), (&first.id, &first.hints));
    let again = world.store.revoke_grant("g1", "operator", at(40)).await.unwrap();
    assert_eq!(again, revoked);
    let unknown = world.store.revoke_grant("g9", "operator", at(40)).await;
    assert!(matches!(unknown, Err(Error::NotFound)));
    let listed = vec![third, second, revoked];
    assert_eq!(world.store.list_grants().await.unwrap(), listed);
    assert_eq!(world.store.find_credential(&[1; 32]).await.unwrap(), None);
    let world = world.reopen().await;
    assert_eq!(world.store.list_grants().await.unwrap(), listed);
    assert_eq!(world.store.find_credential(&[1; 32]).await.unwrap(), None);
    assert!(world.store.find_credential(&[2; 32]).await.unwrap().is_some());
    let again = world.store.revoke_grant("g1", "operator", at(50)).await.unwrap();
    assert_eq!(again.state, GrantState::Revoked { at: at(30) });
}

pub async fn a_revoked_grant_takes_nothing<B: Backend>() {
    let mut world = World::<B>::new().await;
    let owned = |n| {
        let mut made = new(n);
        made.owner = Owner::new("g1", "ann");
        made
    };
    let by = By::Owner(agent("echo"), Owner::new("g1", "ann"));
    let unknown = world.store.apply(create(owned(1), at(0))).await;
    assert!(matches!(unknown, Err(Error::GrantInactive)), "{unknown:?}");
    world.store.create_grant(grant("g1", 1, 0)).await.unwrap();
    let sent = create(owned(1), at(0));
    world.apply(sent.clone()).await;
    world.store.revoke_grant("g1", "operator", at(1)).await.unwrap();
    for _ in 0..2 {
        let mut follow_up = change(task(1), vec![messaged("m2", "more")], at(2));
        follow_up.by = by.clone();
        for op in [create(owned(2), at(2)), follow_up, sent.clone()] {
            let refused = world.store.apply(op).await;
            assert!(matches!(refused, Err(Error::GrantInactive)), "{refused:?}");
        }
        assert_eq!(world.store.find(&By::Node, task(2)).await.unwrap(), None);
        world = world.reopen().await;
    }
    // The node still ends what came in by it.
    assert_eq!(world.store.open_of_revoked(9).await.unwrap(), [task(1)]);
    let applied = world.change(task(1), vec![Input::GrantRevoked], at(3)).await;
    assert!(applied.known.task().state.is_terminal());
    assert_eq!(world.store.open_of_revoked(9).await.unwrap(), []);
}

pub async fn open_tasks_of_revoked_grants<B: Backend>() {
    let world = World::<B>::new().await;
    for (id, digest) in [("gone", 1), ("good", 2)] {
        world.store.create_grant(grant(id, digest, 0)).await.unwrap();
    }
    for (n, of, inputs) in [
        (1, "gone", vec![]),
        (2, "gone", vec![claimed(node("boot"))]),
        (3, "gone", vec![claimed(node("boot")), asked(1)]),
        (4, "gone", vec![claimed(node("boot")), completed(1)]),
        (5, "good", vec![]),
        (6, "local", vec![]),
    ] {
        let mut made = new(n);
        made.owner = Owner::new(of, "somebody");
        let mut op = create_with(made, inputs, at(0));
        op.by = By::Node;
        world.apply(op).await;
    }
    assert_eq!(world.store.open_of_revoked(9).await.unwrap(), []);
    world.store.revoke_grant("gone", "operator", at(1)).await.unwrap();
    assert_eq!(world.store.open_of_revoked(9).await.unwrap(), [task(1), task(2), task(3)]);
    assert_eq!(world.store.open_of_revoked(2).await.unwrap(), [task(1), task(2)]);
    // A holder that was told to end its work is not told again.
    world.change(task(2), vec![Input::GrantRevoked], at(1)).await;
    assert_eq!(world.store.open_of_revoked(9).await.unwrap(), [task(1), task(3)]);
}

pub async fn two_revocations_at_once<B: Backend>() {
    let world = World::<B>::new().await;
    world.store.create_grant(grant("g1", 1, 0)).await.unwrap();
    let both = tokio::join!(
        world.store.revoke_grant("g1", "ann", at(5)),
        world.store.revoke_grant("g1", "bob", at(6)),
    );
    let (first, second) = (both.0.unwrap(), both.1.unwrap());
    assert_ne!(first.state, GrantState::Active);
    assert_eq!(first, second);
}

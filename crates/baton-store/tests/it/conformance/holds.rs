//! What an operator holds back stays held back until it is let go.

use baton_store::{Actor, Audit, AuditQuery, AuditRow, Held, Hold, Holds, NODE};

use super::Backend;
use super::script::{agent, at};
use super::world::World;

pub async fn kept_until_they_are_let_go<B: Backend>() {
    let world = World::<B>::new().await;
    assert_eq!(world.store.list_holds().await.unwrap(), []);
    let held = |hold, since| Held { hold, since: at(since), by: "operator".to_owned() };
    let all = [
        held(Hold::FreezeNode, 4),
        held(Hold::FreezeGrant("g1".into()), 3),
        held(Hold::FreezeGrant("g2".into()), 6),
        held(Hold::PauseNode, 1),
        held(Hold::PauseAgent(agent("echo")), 2),
    ];
    for Held { hold, since, by } in all.clone() {
        assert!(
            world.store.hold(hold.clone(), true, (&Actor::new(by, "socket"), since)).await.unwrap(),
            "{hold:?}"
        );
        assert!(
            !world.store.hold(hold, true, (&Actor::new("another", "socket"), at(9))).await.unwrap(),
            "it is held already"
        );
    }
    assert_eq!(world.store.list_holds().await.unwrap(), all);
    let world = world.reopen().await;
    assert_eq!(world.store.list_holds().await.unwrap(), all, "and by whom it was held first");
    let mut rest = all.to_vec();
    while let Some(Held { hold, .. }) = rest.pop() {
        assert!(world.store.hold(hold.clone(), false, (&operator(), at(9))).await.unwrap(), "{hold:?}");
        assert!(!world.store.hold(hold, false, (&operator(), at(9))).await.unwrap(), "it is let go already");
        assert_eq!(world.store.list_holds().await.unwrap(), rest);
    }
    // What changed nothing is not written down.
    let query = AuditQuery { action: Some("node".into()), size: 100, ..AuditQuery::default() };
    let mut rows = world.store.list_audit(query).await.unwrap();
    rows.reverse();
    let told = |row: AuditRow| (row.entry.by, row.entry.action, row.entry.target, row.entry.at);
    let by = |action: &str, second| (operator(), action.to_owned(), NODE.to_owned(), at(second));
    assert_eq!(
        rows.into_iter().map(told).collect::<Vec<_>>(),
        [by("node.freeze", 4), by("node.pause", 1), by("node.resume", 9), by("node.unfreeze", 9)]
    );
}

fn operator() -> Actor {
    Actor::new("operator", "socket")
}

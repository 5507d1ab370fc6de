//! Peers: asked, watched, and the credential that comes of it.

use baton_core::friend::peer::{Input, State, begin, step};
use baton_core::time::Timestamp;
use baton_store::{
    Actor, Asked, Audit, AuditQuery, Error, Friends, Granted, GrantedAgent, Mark, Peer, PeerChange, Peers,
};

use super::Backend;
use super::grants::ann;
use super::script::*;
use super::world::World;

pub fn peer(n: u32, now: i64) -> Peer {
    Peer {
        id: format!("0199f0a2-7c1e-7d3a-8f00-{n:012}"),
        name: format!("Peer {n}"),
        origin: "https://peer.example".into(),
        card_url: format!("https://peer.example/{n}.json"),
        mark: Mark { at: at(now), digest: format!("d{n}"), key: None },
        asked: Asked {
            url: "https://peer.example/friend-requests/1".into(),
            code: "CODE".into(),
            as_card: "https://us.example/card.json".into(),
            agents: vec![agent("echo")],
            verbs: vec!["send".into()],
            why: "because".into(),
        },
        state: begin(at(now), at(now + 1_000_000)),
        secret: Some(vec![1, 2, 3]),
        credential: None,
        granted: None,
        problem: None,
        created_at: at(now),
        created_by: "ann".into(),
        changed_at: at(now),
    }
}

fn granted() -> Granted {
    let agents = vec![GrantedAgent { name: "echo".into(), url: "https://peer.example/a2a/echo".into() }];
    Granted { agents, verbs: vec!["send".into()], expires_at: Some(at(9_000)) }
}

fn change(state: State) -> PeerChange {
    PeerChange { state, picked: None, problem: None }
}

impl<B: Backend> World<B> {
    async fn peer(&self, n: u32) -> Peer {
        self.store.find_peer(&peer(n, 0).id).await.unwrap().expect("the peer is there")
    }

    async fn peer_actions(&self) -> Vec<String> {
        let query = AuditQuery { action: Some("peer".into()), size: 100, ..AuditQuery::default() };
        let mut rows = self.store.list_audit(query).await.unwrap();
        rows.reverse();
        rows.into_iter().map(|row| row.entry.action).collect()
    }
}

pub async fn kept_and_watched<B: Backend>() {
    let world = World::<B>::new().await;
    for n in [2, 1] {
        world.store.create_peer(peer(n, i64::from(n)), &ann()).await.unwrap();
    }
    let world = world.reopen().await;
    assert_eq!(world.store.list_peers().await.unwrap(), [peer(2, 2), peer(1, 1)]);
    let due = peer(1, 1).state.due_at().unwrap();
    assert_eq!(world.store.due_peers(Timestamp::from_millis(due.as_millis() - 1), 10).await.unwrap(), []);
    assert_eq!(world.store.due_peers(due, 10).await.unwrap(), [peer(1, 1)]);
    let late = Timestamp::from_millis(due.as_millis() + 10);
    assert_eq!(world.store.due_peers(late, 1).await.unwrap(), [peer(1, 1)], "who waited longest comes first");
    let state = step(peer(1, 1).state, Input::Nothing, late);
    let silent = PeerChange { problem: Some("nobody answers".into()), ..change(state) };
    let after = world.store.change_peer(&peer(1, 1), silent, (&Actor::node(), late)).await.unwrap();
    assert_eq!(
        (after.state, after.problem.as_deref(), after.changed_at),
        (state, Some("nobody answers"), late)
    );
    assert_eq!(world.store.due_peers(late, 10).await.unwrap(), [peer(2, 2)]);
    assert_eq!(
        world.peer_actions().await,
        ["peer.ask", "peer.ask"],
        "a look that brought nothing is not told"
    );
    assert!(world.store.find_peer("other").await.unwrap().is_none());
}

pub async fn a_credential_is_kept_until_the_end<B: Backend>() {
    let world = World::<B>::new().await;
    world.store.create_peer(peer(1, 0), &ann()).await.unwrap();
    let asked = world.peer(1).await;
    let picked = PeerChange {
        picked: Some((vec![9], granted())),
        ..change(step(asked.state, Input::PickedUp, at(5)))
    };
    let held = world.store.change_peer(&asked, picked, (&Actor::node(), at(5))).await.unwrap();
    assert_eq!((held.credential.as_deref(), held.secret.is_some()), (Some(&[9][..]), true));
    // What was read before somebody else changed it decides nothing.
    let late = change(State::Denied);
    let kept = world.store.change_peer(&asked, late, (&Actor::node(), at(6))).await.unwrap();
    assert_eq!(kept, held);
    let world = world.reopen().await;
    assert_eq!(world.peer(1).await, held);
    assert_eq!(world.store.find_pin(&held.card_url).await.unwrap(), None);
    let friend =
        world.store.change_peer(&held, change(State::Friend), (&Actor::node(), at(7))).await.unwrap();
    assert_eq!((friend.secret, friend.granted, friend.state), (None, Some(granted()), State::Friend));
    assert_eq!(world.store.find_pin(&held.card_url).await.unwrap().unwrap().digest, "d1");
    let friend = world.peer(1).await;
    let ended = world.store.change_peer(&friend, change(State::Ended), (&ann(), at(8))).await.unwrap();
    assert_eq!((ended.credential, ended.state), (None, State::Ended));
    world.store.delete_peer(&ended.id, &ann(), at(9)).await.unwrap();
    assert!(matches!(world.store.delete_peer(&ended.id, &ann(), at(9)).await, Err(Error::NotFound)));
    assert_eq!(world.store.list_peers().await.unwrap(), []);
    let told = ["peer.ask", "peer.picked", "peer.friend", "peer.ended", "peer.forget"];
    assert_eq!(world.peer_actions().await, told);
}

//! Doorbells: who hears what, when again, and that nobody who does not listen keeps anybody from hearing.

use std::time::Duration;

use baton::config::settings::Settings;
use baton_core::ident::AgentName;
use baton_store::Verb;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use super::{Client, Ear};
use crate::harness::{PATIENCE, TestNode, User, soon};
use crate::push::{Mute, allow_loopback};
use crate::work::clerk;

/// Time goes by by itself too, while a test runs.
const MARGIN: Duration = Duration::from_mins(1);

const QUEUE: &str = "baton://queues/clerk";

/// Two sessions of one grant that listen to the queue of `clerk`.
struct Two {
    user: User,
    clients: [Client; 2],
    ears: [Ear; 2],
}

impl Two {
    async fn new(node: &TestNode) -> Self {
        let (_, user) = node.grant(&["clerk", "script"], &Verb::ALL).await;
        let clients = [Client::new(&user).await, Client::new(&user).await];
        let ears = [clients[0].listen().await, clients[1].listen().await];
        for client in &clients {
            client.subscribe(QUEUE).await;
        }
        Self { user, clients, ears }
    }

    /// One of the two hears of the queue: which.
    async fn rings(&mut self) -> usize {
        let [one, two] = &mut self.ears;
        tokio::select! {
            () = hears(one, QUEUE) => 0,
            () = hears(two, QUEUE) => 1,
        }
    }

    /// Neither was told anything of the queue up to now.
    async fn are_quiet(&mut self, node: &TestNode) {
        let (uri, attempt) = marker(node, &self.user).await;
        for client in &self.clients {
            client.subscribe(&uri).await;
        }
        attempt.complete().await;
        for ear in &mut self.ears {
            hears_without(ear, &uri, QUEUE).await;
        }
    }

    async fn end(self) {
        for client in self.clients {
            assert_eq!(client.end().await, 204);
        }
    }
}

/// A task that has begun: what is said of it comes after what was to be said before.
async fn marker(node: &TestNode, user: &User) -> (String, crate::harness::Attempt) {
    let id = user.to("script").hand_in("mark").await;
    (format!("baton://tasks/{id}"), node.attempt("script").await)
}

/// Hears of a resource; of tasks that were over before too.
async fn hears(ear: &mut Ear, uri: &str) {
    while ear.rings().await != uri {}
}

async fn hears_without(ear: &mut Ear, uri: &str, never: &str) {
    loop {
        let heard = ear.rings().await;
        assert_ne!(heard, never);
        if heard == uri {
            return;
        }
    }
}

/// Beside `clerk`, another agent whose tasks wait for workers.
fn clerk_and_typist(settings: &mut Settings) {
    clerk(settings);
    let name = AgentName::parse("typist").unwrap();
    let mut typist = settings.agents[&AgentName::parse("clerk").unwrap()].clone();
    typist.name = name.clone();
    settings.agents.insert(name, typist);
}

/// Has the bells look at their queues: something came to be claimed somewhere.
async fn look(node: &TestNode) {
    node.anyone("typist").hand_in("look").await;
}

#[tokio::test]
async fn each_task_rings_one_session() {
    let node = TestNode::with(clerk).await;
    let mut two = Two::new(&node).await;
    let owner = node.grant(&["clerk"], &[Verb::Send]).await.1;
    let mut rung = [0, 0];
    for _ in 0..6 {
        owner.hand_in("go").await;
        rung[two.rings().await] += 1;
        two.are_quiet(&node).await;
    }
    assert_eq!(rung, [3, 3], "they take turns");
    // Who does not listen any more is passed over.
    let [one, second] = two.ears;
    drop(second);
    two.clients[1].end().await;
    let mut one = one;
    for _ in 0..3 {
        owner.hand_in("go").await;
        hears(&mut one, QUEUE).await;
    }
    two.clients[0].ask("resources/unsubscribe", json!({"uri": QUEUE})).await;
    owner.hand_in("go").await;
    let (uri, attempt) = marker(&node, &two.user).await;
    two.clients[0].subscribe(&uri).await;
    attempt.complete().await;
    hears_without(&mut one, &uri, QUEUE).await;
    assert_eq!(two.clients[0].end().await, 204);
    node.finish().await;
}

/// A session that has subscribed and reads no stream is rung for only where nobody else is, and hears of it when it comes.
#[tokio::test]
async fn who_listens_is_rung_first() {
    let node = TestNode::with(clerk).await;
    let (_, user) = node.grant(&["clerk"], &Verb::ALL).await;
    let (deaf, client) = (Client::new(&user).await, Client::new(&user).await);
    deaf.subscribe(QUEUE).await;
    let mut ear = client.listen().await;
    client.subscribe(QUEUE).await;
    for _ in 0..4 {
        user.hand_in("go").await;
        hears(&mut ear, QUEUE).await;
    }
    assert_eq!(client.end().await, 204);
    user.hand_in("go").await;
    let mut late = deaf.listen().await;
    hears(&mut late, QUEUE).await;
    assert_eq!(deaf.end().await, 204);
    node.finish().await;
}

#[tokio::test]
async fn it_rings_again_until_somebody_claims() {
    let node = TestNode::with(clerk_and_typist).await;
    let mut two = Two::new(&node).await;
    let (user, worker) = (two.user.clone(), Client::new(&two.user).await);
    let claim = async |id: &str| {
        let claimed = worker.does("claim", json!({"task_id": id, "lease_seconds": 86400})).await;
        json!({"task_id": id, "lease_token": claimed["tasks"][0]["lease_token"], "result": "x"})
    };
    user.hand_in("go").await;
    two.rings().await;
    let mut since = Duration::ZERO;
    for minutes in [5, 20, 60, 360] {
        let at = Duration::from_mins(minutes);
        node.clock.advance(at.checked_sub(since + MARGIN).unwrap());
        // A second task shows that the queue was looked at, and that nothing is due yet.
        let other = user.hand_in("go").await;
        two.rings().await;
        worker.does("complete", claim(&other).await).await;
        two.are_quiet(&node).await;
        node.clock.advance(MARGIN);
        since = at;
        look(&node).await;
        two.rings().await;
        two.are_quiet(&node).await;
    }
    // And never again; nor for one that somebody has.
    let taken = user.hand_in("go").await;
    two.rings().await;
    let done = claim(&taken).await;
    for _ in 0..2 {
        node.clock.advance(Duration::from_hours(6));
        let other = user.hand_in("go").await;
        two.rings().await;
        worker.does("complete", claim(&other).await).await;
        two.are_quiet(&node).await;
    }
    worker.does("complete", done).await;
    two.end().await;
    assert_eq!(worker.end().await, 204);
    node.finish().await;
}

/// A bell says which resource, and a message of the channel what to do: nothing of what the task says.
#[tokio::test]
async fn a_bell_has_no_payload() {
    let node = TestNode::with(clerk).await;
    let (_, user) = node.grant(&["clerk", "script"], &Verb::ALL).await;
    let plain = Client::new(&user).await;
    let channel = Client::declaring(&user, json!({"experimental": {"claude/channel": {}}})).await;
    let (mut hears_plain, mut hears_channel) = (plain.listen().await, channel.listen().await);
    let (uri, attempt) = marker(&node, &user).await;
    for client in [&plain, &channel] {
        client.subscribe(&uri).await;
    }
    let updated =
        json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}});
    attempt.progress("the secret").await;
    assert_eq!(hears_plain.next().await.unwrap(), updated);
    assert_eq!(hears_channel.next().await.unwrap(), updated);
    let said = hears_channel.next().await.unwrap();
    assert_eq!(said["method"], "notifications/claude/channel");
    assert_eq!(said["params"]["meta"], json!({"uri": uri}));
    let text = said["params"]["content"].as_str().unwrap();
    assert!(text.contains("get_task") && !said.to_string().contains("secret"), "{said}");
    attempt.complete_saying("the secret").await;
    assert_eq!(hears_plain.next().await.unwrap(), updated, "and no message of the channel in between");
    // The same of a queue.
    let queue = Client::declaring(&user, json!({"experimental": {"claude/channel": {}}})).await;
    let mut ear = queue.listen().await;
    queue.subscribe(QUEUE).await;
    user.hand_in("the secret").await;
    assert_eq!(ear.rings().await, QUEUE);
    let said = ear.next().await.unwrap();
    let text = said["params"]["content"].as_str().unwrap();
    assert!(
        text.contains("claim_next") && text.contains("clerk") && !said.to_string().contains("secret"),
        "{said}"
    );
    for client in [plain, channel, queue] {
        assert_eq!(client.end().await, 204);
    }
    node.finish().await;
}

/// The stream of a session that is opened and never read.
async fn never_read(client: &Client, node: &TestNode) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    // As little as the kernel keeps for who does not read.
    socket.set_recv_buffer_size(1024).unwrap();
    let address = node.url().trim_start_matches("http://").parse().unwrap();
    let mut stream = soon(socket.connect(address)).await.unwrap();
    let (session, token) = (client.session.as_deref().unwrap(), client.user.token());
    let head = format!(
        "GET /mcp HTTP/1.1\r\nhost: {address}\r\naccept: text/event-stream\r\nmcp-session-id: {session}\r\n\
         authorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut begun = [0; 12];
    soon(stream.read_exact(&mut begun)).await.unwrap();
    assert_eq!(&begun, b"HTTP/1.1 200");
    stream
}

/// Nothing waits for a session whose client stopped reading: not the bells of others, and not the end of others.
#[tokio::test]
async fn who_does_not_read_keeps_nobody_waiting() {
    let node = TestNode::with(clerk).await;
    let (grant, user) = node.grant(&["clerk", "script"], &Verb::ALL).await;
    let stuck = Client::declaring(&user, json!({"experimental": {"claude/channel": {}}})).await;
    let _stream = never_read(&stuck, &node).await;
    let (uri, attempt) = marker(&node, &user).await;
    stuck.subscribe(&uri).await;
    stuck.subscribe(QUEUE).await;
    // What it is told fills all buffers on the way, until the session itself stands still.
    let fill = async {
        loop {
            for _ in 0..200 {
                attempt.progress("more").await;
            }
            if timeout(Duration::from_millis(500), stuck.try_ask("tools/list", "{}")).await.is_err() {
                return;
            }
        }
    };
    timeout(PATIENCE * 3, fill).await.expect("a session that is not read stands still");
    attempt.complete().await;

    let (other_grant, other) = node.grant(&["clerk"], &Verb::ALL).await;
    let client = Client::new(&other).await;
    let mut ear = client.listen().await;
    client.subscribe(QUEUE).await;
    for _ in 0..4 {
        other.hand_in("go").await;
        hears(&mut ear, QUEUE).await;
    }
    node.revoke(&grant).await;
    node.revoke(&other_grant).await;
    ear.ends().await;
    // Of the one that stood still nothing is left either: nobody watches its task.
    node.finish().await;
}

/// A receiver of webhooks that never answers holds up no bell.
#[tokio::test]
async fn a_webhook_that_hangs_holds_up_no_bell() {
    let node = TestNode::with(|settings| {
        clerk(settings);
        allow_loopback(settings);
    })
    .await;
    let mut two = Two::new(&node).await;
    let mute = Mute::start().await;
    for _ in 0..3 {
        let config = json!({"url": mute.url});
        crate::push::hand_in(&two.user, "go", &config).await;
        two.rings().await;
        // The receiver is told that somebody has begun.
        let given = two.clients[0].claim().await;
        let done = json!({"task_id": given["task_id"], "lease_token": given["lease_token"], "result": "x"});
        two.clients[0].does("complete", done).await;
    }
    crate::harness::until("the receiver is asked", async || mute.connections() > 0).await;
    two.user.hand_in("go").await;
    two.rings().await;
    two.end().await;
    node.finish_owing().await;
}

/// The revision without sessions listens with one request, and hears the same.
#[tokio::test]
async fn without_a_session_too() {
    let node = TestNode::with(clerk).await;
    let (grant, user) = node.grant(&["clerk"], &Verb::ALL).await;
    let filter = json!({"notifications": {"resourceSubscriptions": [QUEUE]}});
    let mut ear = super::auth::stateless_stream(&user, "subscriptions/listen", filter).await;
    let acknowledged = ear.next().await.unwrap();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged", "{acknowledged}");
    user.hand_in("go").await;
    let said: Value = ear.next().await.unwrap();
    assert_eq!(
        (&said["method"], &said["params"]["uri"]),
        (&json!("notifications/resources/updated"), &json!(QUEUE))
    );
    node.revoke(&grant).await;
    while let Some(last) = ear.next().await {
        assert_ne!(last["method"], "notifications/resources/updated", "{last}");
    }
    node.finish().await;
}

//! `baton login`: the operator's link, and nobody else's.

use super::Desk;
use super::node::Node;

/// A node whose agent tries to sign in to it, as the node's user or as another.
async fn node_with_thief(user: Option<&str>) -> Node {
    let desk = Desk::new();
    let (baton, data) = (env!("CARGO_BIN_EXE_baton"), desk.path().join("baton-data"));
    let script = format!("id -u; '{baton}' login --data-dir '{}' 2>&1; echo \"exit $?\"", data.display());
    let user = user.map(|user| format!("user = \"{user}\"\n")).unwrap_or_default();
    std::fs::write(
        desk.path().join("baton.toml"),
        format!(
            "[node]\ndev = true\nlisten = [\"http://127.0.0.1:0\"]\n[agents.thief.runner]\nkind = \"process\"\n\
             protocol = \"text\"\ncommand = [\"sh\", \"-c\", '''{script}''']\n{user}"
        ),
    )
    .unwrap();
    Node::start(desk, &[]).await
}

#[tokio::test]
async fn the_operator_gets_a_link() {
    let node = node_with_thief(None).await;
    let base = node.url("thief").replace("/a2a/thief", "");
    let said = node.desk.run(&["login"]).await;
    assert!(said.err.contains("works once, within 5 minutes"), "{said:?}");
    let link = said.ok();
    let code = link.trim().strip_prefix(&format!("{base}/console/login#")).expect(&link);
    assert_eq!(code.len(), 43, "256 bits");
    let json = node.desk.run(&["login", "--json"]).await.json();
    assert!(json["url"].as_str().unwrap().ends_with(json["code"].as_str().unwrap()));
    assert_ne!(json["code"], code);
    // Not by way of a listener, even where dev mode lets every local program call.
    let elsewhere = node.desk.run(&["login", "--node", &base]).await;
    assert_eq!((elsewhere.code, elsewhere.out.as_str()), (3, ""), "{elsewhere:?}");
    node.stop().await;
}

#[tokio::test]
async fn an_agent_cannot_sign_in() {
    let node = node_with_thief(None).await;
    let said = node.desk.run(&["send", &node.url("thief"), "go"]).await.ok();
    assert!(said.contains("exit 3") && !said.contains("/console/login#"), "{said}");
    assert!(said.contains("operator"), "it says why: {said}");
    node.stop().await;
}

#[tokio::test]
async fn an_agent_of_another_user_does_not_even_reach_the_socket() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("not tried: only root runs an agent as another user");
        return;
    }
    let node = node_with_thief(Some("nobody")).await;
    let said = node.desk.run(&["send", &node.url("thief"), "go"]).await.ok();
    assert!(!said.starts_with("0\n"), "it runs as another user: {said}");
    assert!(!said.contains("exit 0") && !said.contains("/console/login#"), "{said}");
    node.stop().await;
}

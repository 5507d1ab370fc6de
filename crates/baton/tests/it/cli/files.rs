//! Files through the command line: sent with `--file`, kept with `--save`.

use std::fs;

use super::Desk;
use super::node::Node;

async fn node() -> Node {
    let desk = Desk::new();
    let file = "[node]\ndev = true\nlisten = [\"http://127.0.0.1:0\"]\n[agents.echo]\nrunner = { kind = \"echo\" }\n";
    fs::write(desk.path().join("baton.toml"), file).unwrap();
    let script = desk.path().join("pieces.sh");
    let lines = r#"#!/bin/sh
echo '{"type":"ready"}'
read -r line
echo '{"type":"artifact","artifact":{"artifactId":"a","parts":[{"raw":"b25lIA==","filename":"../x.bin"}]}}'
echo '{"type":"artifact","artifact":{"artifactId":"a","parts":[{"raw":"dHdv","filename":"../x.bin"}]},"append":true}'
echo '{"type":"complete"}'
"#;
    fs::write(&script, lines).unwrap();
    let mut toml = fs::read_to_string(desk.path().join("baton.toml")).unwrap();
    toml.push_str("[agents.pieces.runner]\nkind = \"process\"\nprotocol = \"jsonl\"\ncommand = [\"sh\", \"");
    toml.push_str(script.to_str().unwrap());
    toml.push_str("\"]\n");
    fs::write(desk.path().join("baton.toml"), toml).unwrap();
    Node::start(desk, &["--agent", "shell=cat"]).await
}

#[tokio::test]
async fn what_is_sent_as_a_file_comes_back_as_one() {
    let node = node().await;
    let desk = &node.desk;
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    fs::write(desk.path().join("in.bin"), &bytes).unwrap();
    let url = node.url("echo");
    let sent = desk.run(&["send", &url, "--file", "in.bin", "--save", "out", "see this"]).await;
    assert_eq!((sent.code, sent.out.as_str()), (0, "see this\n"), "{sent:?}");
    assert!(sent.err.contains("saved out/in.bin (100000 bytes)"), "{sent:?}");
    assert_eq!(fs::read(desk.path().join("out/in.bin")).unwrap(), bytes);
    let again = desk.run(&["send", &url, "--file", "in.bin", "--save", "out", "see this"]).await;
    assert!(again.code == 1 && again.err.contains("--force"), "{again:?}");
    desk.run(&["send", &url, "--file", "in.bin", "--save", "out", "--force", "see this"]).await.ok();
    node.stop().await;
}

#[tokio::test]
async fn pieces_are_put_together_and_names_lead_nowhere() {
    let node = node().await;
    let desk = &node.desk;
    let sent = desk.run(&["send", &node.url("pieces"), "go", "--save", "out", "--json"]).await;
    assert_eq!(sent.code, 0, "{sent:?}");
    assert_eq!(fs::read_to_string(desk.path().join("out/x.bin")).unwrap(), "one two");
    assert!(!desk.path().join("x.bin").exists());
    let tasks = desk.run(&["task", "list", "--json"]).await.json();
    let id = tasks["tasks"][0]["task"]["id"].as_str().unwrap();
    desk.run(&["task", "get", id, "--save", "later"]).await.ok();
    assert_eq!(fs::read_to_string(desk.path().join("later/x.bin")).unwrap(), "one two");
    node.stop().await;
}

#[tokio::test]
async fn a_text_agent_says_that_it_takes_no_files() {
    let node = node().await;
    fs::write(node.desk.path().join("a.png"), [0x89, 0x50, 0, 1]).unwrap();
    let sent = node.desk.run(&["send", &node.url("shell"), "--file", "a.png", "see this"]).await;
    assert_eq!(sent.code, 3, "{sent:?}");
    assert!(sent.err.contains("image/png") && sent.err.contains("text/plain"), "{sent:?}");
    node.stop().await;
}

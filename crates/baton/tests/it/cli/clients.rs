//! `baton clients`: who was let in by the browser, and out again.

use super::Desk;
use super::node::Node;
use crate::authentication::asking::{ECHO, Program, Tokens, approve};
use crate::console::Person;

#[tokio::test]
async fn clients_are_listed_and_signed_out() {
    let node = Node::start(Desk::new(), &["--listen", "http://127.0.0.1:0"]).await;
    let base = node.url("echo").replace("/a2a/echo", "");
    let desk = &node.desk;
    let none = desk.run(&["clients", "list"]).await.ok();
    assert_eq!(none.lines().count(), 1, "{none}");

    let program = Program::at(&base).await;
    let login = desk.run(&["login", "--json"]).await.json();
    let person = Person::by_code(&base, login["code"].as_str().unwrap()).await;
    let code = approve(&person, &program.query(&[("resource", &format!("{base}/mcp"))]), &ECHO).await;
    let waiting = desk.run(&["clients", "list"]).await.ok();
    assert!(waiting.contains("waiting") && waiting.contains("never"), "{waiting}");
    let tokens = Tokens::of(&program.redeem(&code).await);

    let listed = desk.run(&["clients", "list"]).await.ok();
    for said in ["signed-in", "send,read", &format!("{base}/mcp"), "Desk"] {
        assert!(listed.contains(said), "{said}: {listed}");
    }
    assert!(![&code, &tokens.access, &tokens.refresh].iter().any(|secret| listed.contains(*secret)));
    let json = desk.run(&["clients", "list", "--json"]).await.json();
    let client = &json["clients"][0];
    let (id, grant) = (client["id"].as_str().unwrap(), client["grant"].as_str().unwrap());
    assert_eq!(client["clientId"], program.id);
    assert_eq!(desk.run(&["clients", "list", "--grant", grant, "--json"]).await.json(), json);
    assert_eq!(desk.run(&["clients", "list", "--grant", "made-up"]).await.code, 3);

    let said = desk.run(&["clients", "sign-out", id]).await;
    assert!(said.err.contains(&format!("signed out {id}")), "{said:?}");
    assert_eq!(said.code, 0);
    assert_eq!(desk.run(&["clients", "sign-out", id]).await.code, 3);
    assert_eq!(program.refresh(&tokens.refresh, &[]).await.status, 400);
    assert_eq!(desk.run(&["clients", "list"]).await.ok(), none);
    node.stop().await;
}

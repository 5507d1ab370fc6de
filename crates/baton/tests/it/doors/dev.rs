//! Dev mode takes requests of this machine's programs, not of web pages.

use baton_wire::fault::Kind;
use serde_json::json;

use crate::harness::{Door, TestNode, User, message};

/// A send with this header, as this binding spells it.
async fn send_with(user: &User, headers: &[(&str, &str)]) -> crate::harness::Answer {
    let user = headers.iter().fold(user.clone(), |user, (name, value)| user.with(name, value));
    user.try_send(message("x")).await
}

#[tokio::test]
async fn a_web_page_cannot_drive_the_node() {
    let node = TestNode::start().await;
    let port = node.url().rsplit_once(':').unwrap().1;
    for user in node.doors("echo") {
        for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1.nip.io", "10.0.0.1"] {
            send_with(&user, &[("host", host)]).await.refused(Kind::PermissionDenied);
        }
        for origin in
            ["http://evil.example", "null", "http://127.0.0.1:1", &format!("https://127.0.0.1:{port}")]
        {
            send_with(&user, &[("origin", origin)]).await.refused(Kind::PermissionDenied);
        }
        for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
            send_with(&user, &[("content-type", kind)]).await.refused(Kind::ContentTypeNotSupported);
        }
        let sent = user.door as u64;
        assert_eq!(user.list(json!({})).await["totalSize"], sent, "nothing was done");

        let (host, origin) = (format!("localhost:{port}"), format!("http://localhost:{port}"));
        send_with(&user, &[("host", &host), ("origin", &origin)]).await.ok();
    }
    node.finish().await;
}

/// A page can send a body without a type; it is not read.
#[tokio::test]
async fn a_body_without_a_content_type_is_not_read() {
    let node = TestNode::start().await;
    for user in node.json_doors("echo") {
        let mut request =
            user.request(baton_wire::operation::Operation::SendMessage, &json!({"message": message("x")}));
        request.headers_mut().remove("content-type");
        user.ask(request).await.refused(Kind::ContentTypeNotSupported);
        assert_eq!(user.list(json!({})).await["totalSize"], 0);
    }
    node.finish().await;
}

/// A token that is sent counts: a wrong one is refused, a right one is not `local`.
#[tokio::test]
async fn a_token_counts_in_dev_mode_too() {
    let node = TestNode::start().await;
    let holder = node.holder("echo").await;
    for (user, holder) in node.doors("echo").into_iter().zip(holder.doors()) {
        user.with("authorization", "Bearer x").try_send(message("x")).await.refused(Kind::Unauthenticated);
        let id = holder.send("x").await["id"].as_str().unwrap().to_owned();
        user.call(baton_wire::operation::Operation::GetTask, json!({"id": id}))
            .await
            .refused(Kind::TaskNotFound);
    }
    node.finish().await;
}

/// `local` never is the operator, and neither is a holder of every verb.
#[tokio::test]
async fn the_operators_door_is_the_socket_only() {
    let node = TestNode::start().await;
    let holder = node.holder("echo").await;
    for path in ["/api/v1/grants", "/api/v1/tasks", "/api/v1/status", "/api/v1/agents"] {
        let url = format!("{}{path}", node.url());
        let bearer = format!("Bearer {}", holder.token());
        for headers in [&[][..], &[("authorization", bearer.as_str())]] {
            let request = crate::harness::request("GET", &url, headers, "");
            let answer = holder.over(Door::Rest).ask(request).await;
            answer.refused(Kind::PermissionDenied);
        }
        assert_eq!(node.operator("GET", path, None).await.status, 200);
    }
    node.finish().await;
}

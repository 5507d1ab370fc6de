//! What clients of OAuth find before an operator has heard of them: the metadata, and where they register.

use baton_store::{Per, Rate};
use baton_wire::fault::Kind;
use serde_json::json;

use super::asking::{ECHO, Program, decide, error, get, register};
use crate::console::Person;
use crate::harness::{Door, TestNode, User, message, request};

#[tokio::test]
async fn registrations_give_an_id_and_nothing_else() {
    let node = TestNode::closed().await;
    let registered = register(
        &node,
        &json!({"redirect_uris": ["cursor://anysphere/back"], "client_name": "C", "contacts": ["x"]}),
    )
    .await;
    assert_eq!((registered.status, registered.header("cache-control")), (201, Some("no-store")));
    let said = registered.json();
    assert_eq!(
        (&said["redirect_uris"], &said["client_name"]),
        (&json!(["cursor://anysphere/back"]), &json!("C"))
    );
    assert_eq!(
        (&said["token_endpoint_auth_method"], &said["grant_types"], said.get("client_secret")),
        (&json!("none"), &json!(["authorization_code", "refresh_token"]), None)
    );
    let id = said["client_id"].as_str().unwrap();
    User::new(node.url(), "echo", Some(id)).try_send(message("x")).await.refused(Kind::Unauthenticated);
    let (many, long) = (vec!["https://a.example/"; 17], format!("https://a.example/{}", "x".repeat(2_000)));
    for (metadata, expected) in [
        (json!({}), "invalid_redirect_uri"),
        (json!({"redirect_uris": []}), "invalid_redirect_uri"),
        (json!({"redirect_uris": many}), "invalid_redirect_uri"),
        (json!({"redirect_uris": [long]}), "invalid_redirect_uri"),
        (json!({"redirect_uris": ["https://a.example/", "http://a.example/"]}), "invalid_redirect_uri"),
        (json!({"redirect_uris": ["javascript:alert(1)"]}), "invalid_redirect_uri"),
        (json!({"redirect_uris": "https://a.example/"}), "invalid_client_metadata"),
        (
            json!({"redirect_uris": ["https://a.example/"], "client_name": "x".repeat(201)}),
            "invalid_client_metadata",
        ),
        (
            json!({"redirect_uris": ["https://a.example/"], "grant_types": ["client_credentials"]}),
            "invalid_client_metadata",
        ),
        (
            json!({"redirect_uris": ["https://a.example/"], "response_types": ["token"]}),
            "invalid_client_metadata",
        ),
        (json!([]), "invalid_client_metadata"),
        (
            json!({"redirect_uris": ["https://a.example/"], "x": "y".repeat(70_000)}),
            "invalid_client_metadata",
        ),
    ] {
        error(&register(&node, &metadata).await, 400, expected);
    }

    // One address holds no more than its share: its own oldest go.
    let first = Program::new(&node).await;
    for _ in 0..20 {
        Program::new(&node).await;
    }
    let forgotten = get(&node, &format!("/oauth/authorize?{}", first.query(&[]))).await;
    assert!(forgotten.status == 400 && forgotten.text().contains("add it again"), "{}", forgotten.text());
    let node = node.restart_with(|settings| settings.auth.registration = false).await;
    assert_eq!(register(&node, &json!({"redirect_uris": ["https://a.example/"]})).await.status, 404);
    let metadata = get(&node, "/.well-known/oauth-authorization-server").await.json();
    assert_eq!(
        (metadata.get("registration_endpoint"), &metadata["client_id_metadata_document_supported"]),
        (None, &json!(true))
    );
    node.finish().await;
}

#[tokio::test]
async fn whoever_tries_too_often_waits() {
    let node = TestNode::with(|settings| {
        settings.node.dev = false;
        settings.limits.failures_per_address = Some(Rate { requests: 1, per: Per::Minute, burst: 3 });
    })
    .await;
    let program = Program::new(&node).await;
    let mut said = Vec::new();
    for _ in 0..4 {
        let answer = program.redeem("guess").await;
        said.push(answer.status);
        assert_eq!(answer.header("retry-after").is_some(), answer.status == 429);
    }
    assert_eq!(said, [400, 400, 400, 429]);
    // A good code is taken from the same address all the same.
    let tokens = program.signed_in(&node, &[], &ECHO).await;
    tokens.user(&node, "echo").send("x").await;
    let mut said = Vec::new();
    for _ in 0..3 {
        said.push(register(&node, &json!({"redirect_uris": ["https://a.example/"]})).await.status);
    }
    assert_eq!(said, [201, 201, 429], "one registered before");
    node.finish().await;
}

/// Clients in browsers read what there is; nothing of it knows a cookie. The page of the operator is nobody else's.
#[tokio::test]
async fn pages_of_others_may_ask_the_endpoints() {
    let node = TestNode::start().await;
    let user = node.anyone("echo").over(Door::Rest);
    let origin = ("origin", "http://localhost:6274");
    for path in [
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server",
        "/oauth/register",
        "/oauth/token",
        "/oauth/revoke",
    ] {
        let asked = [
            origin,
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "mcp-protocol-version"),
        ];
        let answer = user.ask(request("OPTIONS", &user.at_origin(path), &asked, "")).await;
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (204, Some("*")), "{path}");
        assert!(answer.header("access-control-allow-headers").unwrap().contains("mcp-protocol-version"));
        let method = if path.starts_with("/oauth") { "POST" } else { "GET" };
        let answer = user.ask(request(method, &user.at_origin(path), &[origin], "")).await;
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{path}");
        assert_eq!(answer.header("access-control-allow-credentials"), None);
    }
    for path in ["/oauth/authorize", "/console/authorize", "/a2a/echo"] {
        let answer = user.ask(request("GET", &user.at_origin(path), &[origin], "")).await;
        assert_eq!(answer.header("access-control-allow-origin"), None, "{path}");
    }
    node.finish().await;
}

#[tokio::test]
async fn metadata_names_all_of_it() {
    for base in [None, Some("https://agents.example.com/below")] {
        let node = TestNode::with(|settings| settings.node.public_url = base.map(str::to_owned)).await;
        let base = base.unwrap_or(node.url()).to_owned();
        let path = base.strip_prefix("https://agents.example.com").unwrap_or_default();
        let server = get(&node, &format!("/.well-known/oauth-authorization-server{path}")).await;
        assert_eq!(
            server.json(),
            json!({
                "issuer": base, "authorization_endpoint": format!("{base}/oauth/authorize"), "token_endpoint": format!("{base}/oauth/token"),
                "registration_endpoint": format!("{base}/oauth/register"), "revocation_endpoint": format!("{base}/oauth/revoke"),
                "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"],
                "revocation_endpoint_auth_methods_supported": ["none"],
                "grant_types_supported": ["client_credentials", "authorization_code", "refresh_token"],
                "response_types_supported": ["code"], "response_modes_supported": ["query"], "code_challenge_methods_supported": ["S256"],
                "scopes_supported": ["send", "read", "cancel", "push", "work", "extended-card"],
                "client_id_metadata_document_supported": true, "authorization_response_iss_parameter_supported": true,
            })
        );
        let mcp = get(&node, &format!("/.well-known/oauth-protected-resource{path}/mcp")).await.json();
        assert_eq!(
            mcp,
            json!({
                "resource": format!("{base}/mcp"), "authorization_servers": [base], "bearer_methods_supported": ["header"],
                "scopes_supported": ["send", "read", "cancel", "work"],
            })
        );
        node.finish().await;
    }
    let node = TestNode::with(|settings| {
        settings.auth.authorization_code = false;
        settings.node.dev = false;
    })
    .await;
    let server = get(&node, "/.well-known/oauth-authorization-server").await.json();
    let members: Vec<_> = server.as_object().unwrap().keys().collect();
    assert_eq!(
        members,
        [
            "grant_types_supported",
            "issuer",
            "response_types_supported",
            "scopes_supported",
            "token_endpoint",
            "token_endpoint_auth_methods_supported"
        ]
    );
    let program = Program::known_as(&node, "client_x");
    for path in [
        format!("/oauth/authorize?{}", program.query(&[])),
        "/oauth/register".to_owned(),
        "/oauth/revoke".to_owned(),
    ] {
        let method = if path.contains('?') { "GET" } else { "POST" };
        let user = node.anyone("echo").over(Door::Rest);
        assert_eq!(user.ask(request(method, &user.at_origin(&path), &[], "")).await.status, 404, "{path}");
    }
    error(&program.redeem("x").await, 400, "unsupported_grant_type");
    node.finish().await;
}

/// Neither page can be put into another, where a click would be stolen, or kept by anybody.
#[tokio::test]
async fn pages_cannot_be_framed() {
    let node = TestNode::closed().await;
    let (program, person) = (Program::new(&node).await, Person::signed_in(&node).await);
    let query = program.query(&[]);
    for page in [
        get(&node, &format!("/oauth/authorize?{query}")).await,
        get(&node, "/oauth/authorize").await,
        person.get(&format!("/console/authorize?{query}")).await,
        decide(&person, &query, &[&[("act", "look")][..], &ECHO].concat()).await,
        decide(&person, &query, &[&[("act", "approve")][..], &ECHO].concat()).await,
        decide(&person, &query, &[("act", "deny")]).await,
    ] {
        let policy = page.header("content-security-policy").unwrap();
        assert!(
            policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{page:?}"
        );
        for (name, value) in [
            ("x-frame-options", "DENY"),
            ("cache-control", "no-store"),
            ("referrer-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
        ] {
            assert_eq!(page.header(name), Some(value), "{page:?}");
        }
        assert_eq!(page.header("access-control-allow-origin"), None);
    }
    node.finish().await;
}

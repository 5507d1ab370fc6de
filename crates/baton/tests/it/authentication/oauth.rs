//! Access tokens: had at the node's own endpoint, in return for the token of a grant, and good for a while.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use baton_store::{Per, Rate, Verb};
use baton_wire::fault::Kind;
use serde_json::{Value, json};

use super::ending::is_cut;
use crate::harness::{Answer, DOORS, Door, TestNode, User, message, request};

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// One request to the token endpoint.
async fn ask(node: &TestNode, headers: &[(&str, &str)], form: &str) -> Answer {
    let url = format!("{}/oauth/token", node.url());
    let headers: Vec<_> = [FORM].iter().chain(headers).copied().collect();
    node.anyone("echo").over(Door::Rest).ask(request("POST", &url, &headers, form.to_owned())).await
}

fn basic(id: &str, secret: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{id}:{secret}")))
}

/// A grant and its token.
async fn grant(node: &TestNode, verbs: &[Verb]) -> (String, String) {
    let (id, holder) = node.grant(&["echo", "script"], verbs).await;
    (id, holder.token().to_owned())
}

/// An access token, in return for a grant's; with the rest of the form.
async fn exchange(node: &TestNode, (id, secret): &(String, String), more: &str) -> Value {
    let header = basic(id, secret);
    let answer =
        ask(node, &[("authorization", &header)], &format!("grant_type=client_credentials{more}")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

fn with(node: &TestNode, granted: &Value) -> User {
    User::new(node.url(), "echo", granted["access_token"].as_str())
}

#[tokio::test]
async fn a_client_gets_a_token_that_reaches_its_tasks() {
    let node = TestNode::closed().await;
    let client = grant(&node, &Verb::ALL).await;
    let (id, secret) = &client;
    let holder = User::new(node.url(), "echo", Some(secret));
    let posted =
        format!("grant_type=client_credentials&client_id={id}&client_secret={secret}&resource=x&scope=");
    let by_post = ask(&node, &[], &posted).await;
    assert_eq!(by_post.header("cache-control"), Some("no-store"));
    assert_eq!(by_post.header("content-type"), Some("application/json"));
    let tokens = [
        exchange(&node, &client, "").await,
        exchange(&node, &client, &format!("&client_id={id}")).await,
        by_post.json(),
    ];
    for granted in &tokens {
        let members: Vec<_> = granted.as_object().unwrap().keys().collect();
        assert_eq!(members, ["access_token", "expires_in", "scope", "token_type"]);
        assert_eq!((&granted["token_type"], &granted["expires_in"]), (&json!("Bearer"), &json!(3600)));
        assert_eq!(granted["scope"], "send read cancel push work extended-card");
        assert!(granted["access_token"].as_str().unwrap().starts_with("ba_"));
        for user in with(&node, granted).doors() {
            let task = user.send("x").await;
            assert_eq!(holder.state(task["id"].as_str().unwrap()).await, "COMPLETED", "one owner");
        }
    }
    assert_ne!(tokens[0]["access_token"], tokens[1]["access_token"]);

    // Not in the database, not in what the operator sees; after a restart it is good all the same.
    let token = tokens[0]["access_token"].as_str().unwrap();
    let shown = node.operator("GET", &format!("/api/v1/grants/{id}"), None).await;
    assert_eq!(shown.json()["credentials"].as_array().unwrap().len(), 1);
    for file in std::fs::read_dir(node.folder().join("data")).unwrap() {
        let path = file.unwrap().path();
        let bytes = if path.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
        assert!(!bytes.windows(token.len()).any(|at| at == token.as_bytes()), "{}", path.display());
    }
    let node = node.restart().await;
    assert_eq!(with(&node, &tokens[0]).list(json!({})).await["totalSize"], 9);
    node.clock.advance(Duration::from_secs(3_599));
    with(&node, &tokens[0]).send("x").await;
    node.clock.advance(Duration::from_secs(2));
    with(&node, &tokens[0]).try_send(message("x")).await.refused(Kind::Unauthenticated);
    assert_eq!(node.node().service.store.tidy_access_tokens(node.clock.now()).await.unwrap(), 1);
    assert_eq!(node.node().service.store.tidy_access_tokens(node.clock.now()).await.unwrap(), 0);
    node.finish().await;
}

#[tokio::test]
async fn what_is_wrong_is_said_as_rfc_6749_says_it() {
    let node = TestNode::closed().await;
    let (id, secret) = &grant(&node, &[Verb::Send, Verb::Read]).await;
    let (other, _) = grant(&node, &[Verb::Send]).await;
    let good = basic(id, secret);
    let header = |value: &str| vec![("authorization".to_owned(), value.to_owned())];
    let form = "grant_type=client_credentials";
    let posted = |id: &str, secret: &str| format!("{form}&client_id={id}&client_secret={secret}");
    let access = exchange(&node, &(id.clone(), secret.clone()), "").await;
    let access = access["access_token"].as_str().unwrap();
    for (headers, form, status, error) in [
        (header(&good), String::new(), 400, "invalid_request"),
        (header(&good), "grant_type=".to_owned(), 400, "invalid_request"),
        (header(&good), format!("{form}&{form}"), 400, "invalid_request"),
        (header(&good), format!("{form}&scope=send&scope=send"), 400, "invalid_request"),
        (header(&good), posted(id, secret), 400, "invalid_request"),
        (header(&good), format!("{form}&client_id={other}"), 400, "invalid_request"),
        ([header(&good), header(&good)].concat(), form.to_owned(), 400, "invalid_request"),
        (header(&good), format!("{form}&x={}", "y".repeat(17_000)), 400, "invalid_request"),
        (
            header(&good),
            "grant_type=password&username=a&password=b".to_owned(),
            400,
            "unsupported_grant_type",
        ),
        (header(&good), "grant_type=authorization_code&code=x".to_owned(), 400, "invalid_request"),
        (header(&good), format!("{form}&scope=cancel"), 400, "invalid_scope"),
        (header(&good), format!("{form}&scope=send+cancel"), 400, "invalid_scope"),
        (header(&good), format!("{form}&scope=send++read"), 400, "invalid_scope"),
        (header(&good), format!("{form}&scope=admin"), 400, "invalid_scope"),
        (vec![], form.to_owned(), 401, "invalid_client"),
        (vec![], posted(id, &format!("{}x", &secret[..45])), 401, "invalid_client"),
        (vec![], posted(&other, secret), 401, "invalid_client"),
        (vec![], posted("", secret), 401, "invalid_client"),
        (vec![], posted(id, access), 401, "invalid_client"),
        (vec![], format!("{form}&client_id={id}"), 401, "invalid_client"),
        (header(&basic(id, "wrong")), form.to_owned(), 401, "invalid_client"),
        (header(&basic(&other, secret)), form.to_owned(), 401, "invalid_client"),
        (header("Basic !"), form.to_owned(), 401, "invalid_client"),
        (
            header(&format!("Basic {}", BASE64_STANDARD.encode("no colon"))),
            form.to_owned(),
            401,
            "invalid_client",
        ),
        (header(&format!("Bearer {secret}")), form.to_owned(), 401, "invalid_client"),
    ] {
        let headers: Vec<_> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        let answer = ask(&node, &headers, &form).await;
        let said = answer.json();
        assert_eq!((answer.status, &said["error"]), (status, &json!(error)), "{form} {answer:?}");
        assert_eq!(said.as_object().unwrap().len(), 2, "{said}");
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("www-authenticate"), (status == 401).then_some("Basic realm=\"baton\""));
        assert!(!answer.text().contains("bt_") && !answer.text().contains("ba_"));
    }
    let (url, user) = (format!("{}/oauth/token", node.url()), node.anyone("echo").over(Door::Rest));
    let json =
        user.ask(request("POST", &url, &[("content-type", "application/json")], posted(id, secret))).await;
    assert_eq!((json.status, &json.json()["error"]), (400, &json!("invalid_request")));
    let got = user.ask(request("GET", &format!("{url}?{}", posted(id, secret)), &[], "")).await;
    assert_eq!((got.status, got.header("allow")), (405, Some("POST,OPTIONS")));
    node.finish().await;
}

#[tokio::test]
async fn a_scope_narrows_what_the_token_may_do() {
    let node = TestNode::closed().await;
    let client = grant(&node, &[Verb::Send, Verb::Read, Verb::Cancel]).await;
    let granted = exchange(&node, &client, "&scope=read+send+read").await;
    assert_eq!(granted["scope"], "read send");
    let node = node.restart().await;
    for user in with(&node, &granted).doors() {
        let task = user.send("x").await;
        let answer = user.cancel(task["id"].as_str().unwrap()).await;
        answer.refused(Kind::PermissionDenied);
        let challenge = "Bearer realm=\"baton\", error=\"insufficient_scope\", scope=\"cancel\"";
        assert_eq!(answer.header("www-authenticate"), Some(challenge));
        let whole = User::new(node.url(), "echo", Some(&client.1)).over(user.door);
        whole.cancel(task["id"].as_str().unwrap()).await.refused(Kind::TaskNotCancelable);
    }
    node.finish().await;
}

#[tokio::test]
async fn it_ends_with_its_grant_and_with_every_rotation() {
    let node = TestNode::closed().await;
    for (at, door) in DOORS.into_iter().enumerate() {
        let client = grant(&node, &Verb::ALL).await;
        let id = &client.0;
        let act = async |what: &str, body: Option<&Value>| {
            node.operator("POST", &format!("/api/v1/grants/{id}/{what}"), body).await.json()
        };
        let user = with(&node, &exchange(&node, &client, "").await).over(door).to("script");
        let stream = user.stream("x").await;
        let attempt = node.attempt("script").await;
        act("pause", None).await;
        is_cut(stream).await;
        user.try_send(message("x")).await.refused(Kind::GrantPaused);
        let paused =
            ask(&node, &[("authorization", &basic(id, &client.1))], "grant_type=client_credentials").await;
        assert_eq!((paused.status, &paused.json()["error"]), (400, &json!("unauthorized_client")));
        act("resume", None).await;

        let stream = user.subscribe(&attempt.task()).await;
        act("rotate", Some(&json!({"overlap": "1h"}))).await;
        is_cut(stream).await;
        user.try_send(message("x")).await.refused(Kind::Unauthenticated);
        // The old secret is good for a while, and a token for it no longer.
        node.clock.advance(Duration::from_mins(10));
        let granted = exchange(&node, &client, "").await;
        assert!((2_990..=3_000).contains(&granted["expires_in"].as_u64().unwrap()), "{granted}");
        let user = with(&node, &granted).over(door).to("script");
        user.subscribe(&attempt.task()).await;

        let stream = user.subscribe(&attempt.task()).await;
        tokio::join!(node.revoke(id), attempt.stops());
        drop(stream.lines().await);
        user.try_send(message("x")).await.refused(Kind::Unauthenticated);
        let gone =
            ask(&node, &[("authorization", &basic(id, &client.1))], "grant_type=client_credentials").await;
        assert_eq!((gone.status, at), (401, at));
    }
    node.finish().await;
}

/// Whoever asks for more and more keeps the newest hundred.
#[tokio::test]
async fn there_are_so_many_of_a_grant_and_no_more() {
    let node = TestNode::closed().await;
    let client = grant(&node, &Verb::ALL).await;
    let mut all = Vec::new();
    for _ in 0..101 {
        node.clock.advance(Duration::from_secs(1));
        all.push(exchange(&node, &client, "").await);
    }
    with(&node, &all[0]).try_send(message("x")).await.refused(Kind::Unauthenticated);
    for granted in [&all[1], &all[100]] {
        with(&node, granted).send("x").await;
    }
    let node = node.restart().await;
    with(&node, &all[0]).try_send(message("x")).await.refused(Kind::Unauthenticated);
    with(&node, &all[1]).send("x").await;
    node.finish().await;
}

#[tokio::test]
async fn whoever_asks_too_often_waits() {
    let limited = async |grant_rate: Option<&str>| {
        let node = TestNode::with(|settings| {
            settings.node.dev = false;
            let rate = Rate { requests: 1, per: Per::Minute, burst: 3 };
            settings.limits.failures_per_address = grant_rate.is_none().then_some(rate);
        })
        .await;
        let limits = grant_rate.map_or(json!({}), |rate| json!({"rate": rate, "burst": 3}));
        let body = json!({"label": "x", "agents": ["echo"], "verbs": ["send"], "limits": limits});
        let made = node.operator("POST", "/api/v1/grants", Some(&body)).await.json();
        let header = basic(made["id"].as_str().unwrap(), made["token"].as_str().unwrap());
        // Whoever is no client uses up nothing of one.
        for _ in 0..2 {
            let form = "grant_type=client_credentials&client_id=a&client_secret=b";
            assert_eq!(ask(&node, &[], form).await.status, 401);
        }
        let mut said = Vec::new();
        for _ in 0..4 {
            let answer = ask(&node, &[("authorization", &header)], "grant_type=client_credentials").await;
            said.push(answer.status);
            if answer.status == 429 {
                assert_eq!(answer.json()["error"], "temporarily_unavailable");
                assert!(answer.header("retry-after").is_some());
            }
        }
        node.finish().await;
        said
    };
    assert_eq!(limited(None).await, [200, 200, 200, 429], "by address");
    assert_eq!(limited(Some("1/m")).await, [200, 200, 200, 429], "by grant");
}

/// Failures count as all failed authentication does: with them, the address hears less elsewhere.
#[tokio::test]
async fn wrong_secrets_are_counted_and_told() {
    let node = TestNode::with(|settings| {
        settings.node.dev = false;
        settings.limits.failures_per_address = Some(Rate { requests: 1, per: Per::Minute, burst: 2 });
    })
    .await;
    for _ in 0..2 {
        let form = "grant_type=client_credentials&client_id=a&client_secret=b";
        assert_eq!(ask(&node, &[], form).await.status, 401);
    }
    node.anyone("echo").try_send(message("x")).await.refused(Kind::RateLimited);
    node.clock.advance(Duration::from_mins(2));
    baton::worker::clerk::sweep(&node.node().service).await;
    let audit = node.operator("GET", "/api/v1/audit?action=oauth", None).await.json();
    let rows = audit["entries"].as_array().or_else(|| audit["rows"].as_array());
    assert!(audit.to_string().contains("oauth.token"), "{audit} {rows:?}");
    node.finish().await;
}

#[tokio::test]
async fn metadata_says_what_there_is() {
    let node = TestNode::with(|settings| {
        settings.node.dev = false;
        settings.auth.authorization_code = false;
    })
    .await;
    let user = node.anyone("echo").over(Door::Rest);
    let get = async |path: &str| user.ask(request("GET", &user.at_origin(path), &[], "")).await;
    let base = node.url();
    let verbs = json!(["send", "read", "cancel", "push", "work", "extended-card"]);
    let server = get("/.well-known/oauth-authorization-server").await;
    assert_eq!(
        server.json(),
        json!({
            "issuer": base, "token_endpoint": format!("{base}/oauth/token"), "scopes_supported": verbs,
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
            "grant_types_supported": ["client_credentials"], "response_types_supported": [],
        })
    );
    // Whether there is such an agent is not said here.
    for (path, resource) in
        [("", ""), ("/a2a/echo", "/a2a/echo"), ("/a2a/no-such", "/a2a/no-such"), ("/a2a/echo/", "/a2a/echo")]
    {
        assert_eq!(
            get(&format!("/.well-known/oauth-protected-resource{path}")).await.json(),
            json!({
                "resource": format!("{base}{resource}"), "authorization_servers": [base],
                "bearer_methods_supported": ["header"], "scopes_supported": verbs,
            }),
        );
    }
    for path in ["/x", "/a2a", "/a2a/Bad", "/a2a/echo/tasks", "/a2a/a/b"] {
        assert_eq!(get(&format!("/.well-known/oauth-protected-resource{path}")).await.status, 404, "{path}");
        assert_eq!(
            get(&format!("/.well-known/oauth-authorization-server{path}")).await.status,
            404,
            "{path}"
        );
    }
    // What a challenge names is there.
    let challenged = user.try_send(message("x")).await;
    let challenge = challenged.header("www-authenticate").unwrap();
    let named = challenge.split_once("resource_metadata=\"").unwrap().1.trim_end_matches('"');
    assert_eq!(get(named.strip_prefix(base).unwrap()).await.json()["resource"], format!("{base}/a2a/echo"));
    node.finish().await;
}

#[tokio::test]
async fn what_is_switched_off_is_not_there() {
    let node = TestNode::with(|settings| {
        settings.node.dev = false;
        settings.auth.client_credentials = false;
        settings.auth.authorization_code = false;
        settings.node.public_url = Some("https://agents.example.com/base".to_owned());
    })
    .await;
    let client = grant(&node, &Verb::ALL).await;
    let refused =
        ask(&node, &[("authorization", &basic(&client.0, &client.1))], "grant_type=client_credentials").await;
    assert_eq!(refused.status, 404);
    let user = User::new(node.url(), "echo", Some(&client.1)).over(Door::Rest);
    let get = async |path: &str| user.ask(request("GET", &user.at_origin(path), &[], "")).await;
    assert_eq!(get("/.well-known/oauth-authorization-server").await.status, 404);
    let resource = get("/.well-known/oauth-protected-resource/base/a2a/echo").await.json();
    assert_eq!(
        (&resource["resource"], resource.get("authorization_servers")),
        (&json!("https://agents.example.com/base/a2a/echo"), None)
    );
    let card = get("/.well-known/agent-card.json").await.json();
    let schemes: Vec<_> = card["securitySchemes"].as_object().unwrap().keys().collect();
    assert_eq!(schemes, ["bearer"]);
    user.send("x").await;

    let node = node
        .restart_with(|settings| {
            settings.auth.client_credentials = true;
            settings.auth.tokens = false;
        })
        .await;
    let user = User::new(node.url(), "echo", Some(&client.1)).over(Door::Rest);
    user.try_send(message("x")).await.refused(Kind::Unauthenticated);
    let granted = exchange(&node, &client, "").await;
    with(&node, &granted).send("x").await;
    let node = node.restart_with(|settings| settings.auth.client_credentials = false).await;
    with(&node, &granted).try_send(message("x")).await.refused(Kind::Unauthenticated);
    node.finish().await;
}

//! Access by an operator's approval: the code, its tokens, and everything that must give none.

use std::time::Duration;

use baton_store::Verb;
use baton_wire::fault::Kind;
use serde_json::{Value, json};

use super::asking::{
    BACK, ECHO, Program, Tokens, VERIFIER, approve, brought, decide, error, get, grants, leads_to, told,
};
use super::ending::is_cut;
use crate::console::{Person, code, form};
use crate::harness::{DOORS, Door, TestNode, message, request};

#[tokio::test]
async fn a_client_gets_in_when_an_operator_says_so() {
    let node = TestNode::closed().await;
    let program = Program::new(&node).await;
    let query = program.query(&[("resource", node.url())]);

    // The client sends a browser to the node, which goes on by itself; whoever is not signed in does that first.
    let begun = get(&node, &format!("/oauth/authorize?{query}")).await;
    assert_eq!(begun.status, 200, "{begun:?}");
    let at = leads_to(&begun).unwrap();
    assert_eq!(at, format!("/console/authorize?{query}"));
    let mut person = Person::stranger(&node);
    let asked = person.get(&at).await;
    let login = asked.header("location").unwrap();
    assert!(
        asked.status == 303 && login.starts_with("/console/login?to=%2Fconsole%2Fauthorize%3F"),
        "{asked:?}"
    );
    let entered = person.post("/console/login", &[("code", &code(&node).await), ("to", &at)]).await;
    assert_eq!(entered.header("location"), Some(&*at));
    person.keep(&entered);
    let page = person.get(&at).await;
    assert_eq!(page.status, 200);
    for said in
        ["Desk", "chosen by the client itself", "127.0.0.1:33418", "send, read", "value=\"MCP: Desk\""]
    {
        let said = if said.starts_with("value") { "value=\"OAuth: Desk\"" } else { said };
        assert!(page.text().contains(said), "{said}: {}", page.text());
    }
    assert_eq!(
        (grants(&node).await.len(), told(&node, "oauth").await.len()),
        (0, 0),
        "nothing is given by looking"
    );

    let fields = [&[("act", "approve"), ("expires", "30d")][..], &ECHO].concat();
    let approved = decide(&person, &query, &fields).await;
    let to = leads_to(&approved).unwrap();
    assert!(to.starts_with("http://127.0.0.1:33418/back?a=b&code="), "{to}");
    assert_eq!(brought(&approved, "state").as_deref(), Some("st&te"));
    assert_eq!(brought(&approved, "iss").as_deref(), Some(node.url()));
    let made = &grants(&node).await[0];
    assert_eq!(
        (&made["label"], &made["agents"], &made["verbs"]),
        (&json!("MCP: Desk"), &json!(["echo"]), &json!(["send", "read"]))
    );
    assert_eq!((&made["createdBy"], &made["credentials"]), (&json!("operator"), &json!([])));
    assert!(made["expiresAt"].is_string());

    let tokens = Tokens::of(&program.redeem(&brought(&approved, "code").unwrap()).await);
    assert_eq!(tokens.scope, "send read");
    let id = made["id"].as_str().unwrap();
    for user in tokens.user(&node, "echo").doors() {
        let task = user.send("x").await;
        let task = task["id"].as_str().unwrap();
        user.cancel(task).await.refused(Kind::PermissionDenied);
        user.to("script").try_send(message("x")).await.refused(Kind::UnknownPath);
    }
    let rows = told(&node, "oauth").await;
    assert_eq!(
        rows,
        [("oauth.approve".to_owned(), "operator".to_owned()), ("oauth.sign-in".to_owned(), id.to_owned())]
    );
    assert_eq!(told(&node, "grant").await, [("grant.create".to_owned(), "operator".to_owned())]);

    // None of it is in the database as it is, and all of it is good after a restart.
    let code = brought(&approved, "code").unwrap();
    none_is_kept_as_it_is(&node, &[&tokens.access, &tokens.refresh, &code]);
    let node = goes_on_after_a_restart(node, &program, &tokens).await;
    node.finish().await;
}

async fn goes_on_after_a_restart(node: TestNode, program: &Program, tokens: &Tokens) -> TestNode {
    let node = node.restart().await;
    let program = Program::known_as(&node, &program.id);
    assert_eq!(tokens.user(&node, "echo").list(json!({})).await["totalSize"], 3);
    let next = Tokens::of(&program.refresh(&tokens.refresh, &[]).await);
    assert_ne!((&next.access, &next.refresh), (&tokens.access, &tokens.refresh));
    next.user(&node, "echo").send("x").await;
    node.clock.advance(Duration::from_mins(61));
    next.user(&node, "echo").try_send(message("x")).await.refused(Kind::Unauthenticated);
    let next = Tokens::of(&program.refresh(&next.refresh, &[]).await);
    next.user(&node, "echo").send("x").await;
    node
}

#[track_caller]
fn none_is_kept_as_it_is(node: &TestNode, secrets: &[&str]) {
    for file in std::fs::read_dir(node.folder().join("data")).unwrap() {
        let path = file.unwrap().path();
        let bytes = if path.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
        for secret in secrets {
            assert!(!bytes.windows(secret.len()).any(|at| at == secret.as_bytes()), "{}", path.display());
        }
    }
}

/// Whatever is asked: before it is known that a place is the client's, there is a page and no way on.
#[tokio::test]
async fn nobody_is_sent_where_the_client_is_not() {
    let node = TestNode::closed().await;
    let (program, person) = (Program::new(&node).await, Person::signed_in(&node).await);
    let stranger = Person::stranger(&node);
    for change in [
        [("client_id", "client_x"), ("state", "x")],
        [("client_id", "x"), ("state", "x")],
        [("client_id", ""), ("state", "x")],
        [("redirect_uri", ""), ("state", "x")],
        [("redirect_uri", "https://evil.example/back"), ("response_type", "x")],
        [("redirect_uri", "https://desk.example/back/"), ("state", "x")],
        [("redirect_uri", "https://desk.example:8443/back"), ("state", "x")],
        [("redirect_uri", "http://127.0.0.1:1/back?a=b&c=d"), ("state", "x")],
        [("redirect_uri", "http://127.0.0.1:1/other?a=b"), ("state", "x")],
        [("redirect_uri", "http://localhost:1/back?a=b"), ("state", "x")],
        [("redirect_uri", "http://evil.example@127.0.0.1/back?a=b"), ("state", "x")],
        [("redirect_uri", "javascript:alert(1)"), ("state", "x")],
    ] {
        let query = program.query(&change);
        for answer in [
            stranger.get(&format!("/oauth/authorize?{query}")).await,
            person.get(&format!("/console/authorize?{query}")).await,
            decide(&person, &query, &[&[("act", "approve")][..], &ECHO].concat()).await,
            decide(&person, &query, &[("act", "deny")]).await,
        ] {
            assert_eq!(answer.status, 400, "{query}: {answer:?}");
            assert_eq!((answer.header("location"), leads_to(&answer)), (None, None), "{query}");
            for place in ["evil.example", "desk.example", "alert(1)", "/other"] {
                assert!(!answer.text().contains(place), "{query}: {}", answer.text());
            }
            assert!(
                answer
                    .header("content-security-policy")
                    .is_some_and(|policy| policy.starts_with("default-src 'none'"))
            );
        }
    }
    let long = format!("/oauth/authorize?{}", program.query(&[("state", &"x".repeat(9_000))]));
    assert_eq!(stranger.get(&long).await.status, 400);
    for twice in ["client_id", "redirect_uri", "state", "code_challenge", "resource"] {
        let query = format!("{}&{twice}=a&{twice}=b", program.query(&[]));
        let answer = stranger.get(&format!("/oauth/authorize?{query}")).await;
        assert_eq!((answer.status, leads_to(&answer)), (400, None), "{twice}");
    }
    assert_eq!(grants(&node).await.len(), 0);

    // The port of a program's own machine is its own.
    for redirect in [BACK, "http://127.0.0.1:1/back?a=b", "https://desk.example/back"] {
        let query = program.query(&[("redirect_uri", redirect)]);
        assert_eq!(
            leads_to(&stranger.get(&format!("/oauth/authorize?{query}")).await),
            Some(format!("/console/authorize?{query}"))
        );
    }
    node.finish().await;
}

/// What a client does wrong it hears of when the operator goes back, and not before.
#[tokio::test]
async fn what_a_client_gets_wrong() {
    let node = TestNode::closed().await;
    let (program, person) = (Program::new(&node).await, Person::signed_in(&node).await);
    let elsewhere = format!("{}.evil.example/mcp", node.url());
    let console = format!("{}/console", node.url());
    let with_query = format!("{}/mcp?x=y", node.url());
    for (change, expected) in [
        (("response_type", "token"), "unsupported_response_type"),
        (("response_type", ""), "unsupported_response_type"),
        (("response_mode", "fragment"), "invalid_request"),
        (("code_challenge", ""), "invalid_request"),
        (("code_challenge_method", ""), "invalid_request"),
        (("code_challenge_method", "plain"), "invalid_request"),
        (("code_challenge", "short"), "invalid_request"),
        (("code_challenge", VERIFIER.split_at(42).0), "invalid_request"),
        (("request", "x"), "request_not_supported"),
        (("request_uri", "https://evil.example"), "request_not_supported"),
        (("resource", "https://other.example/mcp"), "invalid_target"),
        (("resource", &*elsewhere), "invalid_target"),
        (("resource", &*console), "invalid_target"),
        (("resource", &*with_query), "invalid_target"),
        (("resource", "mcp"), "invalid_target"),
    ] {
        let query = program.query(&[change]);
        let heard = get(&node, &format!("/oauth/authorize?{query}")).await;
        assert_eq!((heard.status, leads_to(&heard), heard.header("location")), (400, None, None), "{query}");
        assert!(!heard.text().contains("33418"), "a stranger is shown no way on");
        let seen = person.get(&format!("/console/authorize?{query}")).await;
        assert_eq!((seen.status, leads_to(&seen), seen.header("location")), (400, None, None), "{query}");
        let (_, rest) = seen.text().split_once("href=\"http://127.0.0.1:33418").expect("a way back");
        let back = format!("http://127.0.0.1:33418{}", rest.split('"').next().unwrap().replace("&amp;", "&"));
        let back = url::Url::parse(&back).unwrap();
        let said = |name: &str| {
            back.query_pairs().find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
        };
        assert_eq!(said("error").as_deref(), Some(expected), "{query}");
        assert_eq!(
            (said("state").as_deref(), said("iss").as_deref(), said("a").as_deref()),
            (Some("st&te"), Some(node.url()), Some("b"))
        );
        assert_eq!(said("code"), None);
        let tried = decide(&person, &query, &[&[("act", "approve")][..], &ECHO].concat()).await;
        assert_eq!((tried.status, leads_to(&tried)), (400, None));
    }
    assert_eq!(grants(&node).await.len(), 0);
    node.finish().await;
}

#[tokio::test]
async fn only_the_operators_own_click_decides() {
    let node = TestNode::closed().await;
    let (program, person) = (Program::new(&node).await, Person::signed_in(&node).await);
    let (query, csrf) = (program.query(&[]), person.csrf().await);
    let fields = [&[("act", "approve")][..], &ECHO].concat();
    let with_csrf = form(&[&[("csrf", &*csrf)][..], &fields].concat());
    let at = &*format!("/console/authorize?{query}");
    let stranger = Person::stranger(&node);
    for (asked, status) in [
        // Nobody, and nobody who knows a session's token.
        (stranger.request("POST", at, &[], &with_csrf), 303),
        // Somebody else's page, and pages that hide where they are.
        (person.request("POST", at, &[("origin", "https://evil.example")], &with_csrf), 403),
        (person.request("POST", at, &[("origin", "null")], &with_csrf), 403),
        (person.request("POST", at, &[("origin", "")], &with_csrf), 403),
        (person.request("POST", at, &[("sec-fetch-site", "cross-site")], &with_csrf), 403),
        // Our own page without the session's token.
        (person.request("POST", at, &[], &form(&fields)), 403),
        (person.request("POST", at, &[], &form(&[&[("csrf", "x")][..], &fields].concat())), 403),
    ] {
        let answer = person.ask(asked).await;
        assert_eq!((answer.status, leads_to(&answer)), (status, None), "{answer:?}");
    }
    // The holder of a grant is no operator.
    let holder = node.holder("echo").await;
    let header = format!("Bearer {}", holder.token());
    let asked = stranger.request("GET", at, &[("authorization", &header)], "");
    assert_eq!(stranger.ask(asked).await.status, 303);
    assert_eq!((grants(&node).await.len(), told(&node, "oauth").await), (1, vec![]));

    // What is not ticked is not given, and nothing ticked gives nothing.
    for missing in [
        &[("agent", "echo"), ("label", "x")][..],
        &[("verb", "send"), ("label", "x")],
        &[("agent", "echo"), ("verb", "send")],
        &[("agent", "nobody"), ("verb", "send"), ("label", "x")],
    ] {
        let answer = decide(&person, &query, &[&[("act", "approve")][..], missing].concat()).await;
        assert_eq!((answer.status, leads_to(&answer)), (200, None), "{missing:?}");
        assert!(answer.text().contains("Nothing was given"), "{missing:?}");
    }
    let look = decide(&person, &query, &[&[("act", "look")][..], &ECHO].concat()).await;
    assert!(leads_to(&look).is_none() && look.text().contains("What this would allow"));
    assert_eq!(grants(&node).await.len(), 1);

    let denied = decide(&person, &query, &[&[("act", "deny")][..], &ECHO].concat()).await;
    let all = ["error", "state", "iss", "code"].map(|name| brought(&denied, name));
    assert_eq!(
        all,
        [Some("access_denied".to_owned()), Some("st&te".to_owned()), Some(node.url().to_owned()), None]
    );
    assert_eq!(told(&node, "oauth").await, [("oauth.deny".to_owned(), "operator".to_owned())]);
    assert_eq!(grants(&node).await.len(), 1);
    node.finish().await;
}

#[tokio::test]
async fn a_code_is_good_once_and_with_all_that_goes_with_it() {
    let node = TestNode::closed().await;
    let (program, other) = (Program::new(&node).await, Program::new(&node).await);
    let person = Person::signed_in(&node).await;
    let wrong = "a".repeat(43);
    for change in [
        ("client_id", &*other.id),
        ("redirect_uri", "http://127.0.0.1:33419/back?a=b"),
        ("redirect_uri", BACK),
        ("redirect_uri", "https://desk.example/back"),
        ("code_verifier", &*wrong),
        ("code_verifier", &VERIFIER[..42]),
        ("code_verifier", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"),
    ] {
        let code = approve(&person, &program.query(&[]), &ECHO).await;
        error(&program.redeem_with(&code, &[change]).await, 400, "invalid_grant");
        error(&program.redeem(&code).await, 400, "invalid_grant");
        assert_eq!(grants(&node).await[0]["state"], "revoked", "{change:?}: nobody can use it");
    }
    // What is left out or not meant uses nothing up.
    let code = approve(&person, &program.query(&[]), &ECHO).await;
    for (change, expected) in [
        (("code_verifier", ""), "invalid_request"),
        (("client_id", ""), "invalid_request"),
        (("code", ""), "invalid_request"),
        (("resource", "https://evil.example"), "invalid_target"),
    ] {
        error(&program.redeem_with(&code, &[change]).await, 400, expected);
    }
    let tokens = Tokens::of(&program.redeem_with(&code, &[("redirect_uri", "")]).await);

    // Whoever brings it again may be a thief, or the client whose code a thief brought first: all of it ends.
    let user = tokens.user(&node, "echo");
    user.send("x").await;
    error(&program.redeem(&code).await, 400, "invalid_grant");
    user.try_send(message("x")).await.refused(Kind::Unauthenticated);
    error(&program.refresh(&tokens.refresh, &[]).await, 400, "invalid_grant");
    assert_eq!(told(&node, "oauth.foul").await.len(), 8);
    assert_eq!(grants(&node).await[0]["state"], "active", "the grant is the operator's");

    let late = approve(&person, &program.query(&[]), &ECHO).await;
    node.clock.advance(Duration::from_mins(1));
    error(&program.redeem(&late).await, 400, "invalid_grant");
    error(&program.redeem("never-was").await, 400, "invalid_grant");
    error(&Program::known_as(&node, "client_gone").redeem("never-was").await, 401, "invalid_client");
    error(&program.token(&[("grant_type", "password")]).await, 400, "unsupported_grant_type");
    node.finish().await;
}

#[tokio::test]
async fn a_refresh_token_that_comes_again_ends_its_family() {
    let node = TestNode::closed().await;
    let (program, other) = (Program::new(&node).await, Program::new(&node).await);
    let (first, kept) =
        (program.signed_in(&node, &[], &ECHO).await, program.signed_in(&node, &[], &ECHO).await);
    error(&other.refresh(&first.refresh, &[]).await, 400, "invalid_grant");
    error(&program.refresh(&first.refresh, &[("scope", "send cancel")]).await, 400, "invalid_scope");
    error(&program.refresh(&first.access, &[]).await, 400, "invalid_grant");
    error(&program.refresh("", &[]).await, 400, "invalid_request");
    let narrow = Tokens::of(&program.refresh(&first.refresh, &[("scope", "read")]).await);
    assert_eq!(narrow.scope, "read");
    narrow.user(&node, "echo").try_send(message("x")).await.refused(Kind::PermissionDenied);
    narrow.user(&node, "echo").list(json!({})).await;
    // Whose answer is lost tries again at once.
    let again = Tokens::of(&program.refresh(&first.refresh, &[]).await);
    assert_eq!(again.scope, "send read", "a narrow token narrows nothing after it");
    error(&program.refresh(&narrow.refresh, &[]).await, 400, "invalid_grant");
    for tokens in [&first, &narrow, &again] {
        tokens.user(&node, "echo").try_send(message("x")).await.refused(Kind::Unauthenticated);
        error(&program.refresh(&tokens.refresh, &[]).await, 400, "invalid_grant");
    }
    kept.user(&node, "echo").send("x").await;
    let next = Tokens::of(&program.refresh(&kept.refresh, &[]).await);
    node.clock.advance(Duration::from_secs(31));
    error(&program.refresh(&kept.refresh, &[]).await, 400, "invalid_grant");
    error(&program.refresh(&next.refresh, &[]).await, 400, "invalid_grant");
    assert_eq!(told(&node, "oauth.foul").await.len(), 2);
    node.finish().await;
}

/// Over every binding: streams end with what opened them.
#[tokio::test]
async fn it_ends_with_the_grant_with_the_client_and_with_the_token() {
    let node = TestNode::closed().await;
    let program = Program::new(&node).await;
    let ticked = [("label", "x"), ("agent", "script"), ("verb", "send"), ("verb", "read")];
    for door in DOORS {
        let tokens = program.signed_in(&node, &[], &ticked).await;
        let user = tokens.user(&node, "script").over(door);
        let stream = user.stream("x").await;
        let attempt = node.attempt("script").await;
        error(
            &program.post("revoke", &[("token", "bt_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")]).await,
            400,
            "unsupported_token_type",
        );
        assert_eq!(
            program
                .post("revoke", &[("token", "whatever"), ("token_type_hint", "access_token")])
                .await
                .status,
            200
        );
        assert_eq!(program.post("revoke", &[("token", &tokens.access)]).await.status, 200);
        is_cut(stream).await;
        user.try_send(message("x")).await.refused(Kind::Unauthenticated);

        let next = Tokens::of(&program.refresh(&tokens.refresh, &[]).await);
        let stream = next.user(&node, "script").over(door).subscribe(&attempt.task()).await;
        assert_eq!(
            program.post("revoke", &[("token", &tokens.refresh), ("client_id", &program.id)]).await.status,
            200
        );
        is_cut(stream).await;
        error(&program.refresh(&next.refresh, &[]).await, 400, "invalid_grant");

        // By the operator: one client, and then all of it.
        let id = grants(&node).await[0]["id"].as_str().unwrap().to_owned();
        let known = [&ticked[..], &[("grant", &*id)]].concat();
        let (one, two) =
            (program.signed_in(&node, &[], &known).await, program.signed_in(&node, &[], &known).await);
        let clients = node.operator("GET", &format!("/api/v1/clients?grant={id}"), None).await.ok();
        let clients = clients["clients"].as_array().unwrap();
        assert_eq!(
            (clients.len(), &clients[0]["name"], &clients[0]["state"], &clients[0]["grant"]),
            (2, &json!("Desk"), &json!("signed-in"), &json!(id))
        );
        let (newest, stream) = (
            clients[0]["id"].as_str().unwrap(),
            two.user(&node, "script").over(door).subscribe(&attempt.task()).await,
        );
        let path = format!("/api/v1/clients/{newest}");
        node.operator("DELETE", &path, None).await.ok();
        is_cut(stream).await;
        assert_eq!(node.operator("DELETE", &path, None).await.status, 404);
        error(&program.refresh(&two.refresh, &[]).await, 400, "invalid_grant");
        let stream = one.user(&node, "script").over(door).subscribe(&attempt.task()).await;
        tokio::join!(node.revoke(&id), attempt.stops());
        drop(stream.lines().await);
        one.user(&node, "script").over(door).try_send(message("x")).await.refused(Kind::Unauthenticated);
        error(&program.refresh(&one.refresh, &[]).await, 400, "invalid_grant");
    }
    node.finish().await;
}

#[tokio::test]
async fn a_grant_that_changes_in_between() {
    let node = TestNode::closed().await;
    let (program, person) = (Program::new(&node).await, Person::signed_in(&node).await);
    let revoked = approve(&person, &program.query(&[]), &ECHO).await;
    node.revoke(grants(&node).await[0]["id"].as_str().unwrap()).await;
    error(&program.redeem(&revoked).await, 400, "invalid_grant");

    let paused = approve(&person, &program.query(&[]), &ECHO).await;
    let id = grants(&node).await[0]["id"].as_str().unwrap().to_owned();
    let act =
        async |what: &str| node.operator("POST", &format!("/api/v1/grants/{id}/{what}"), None).await.ok();
    act("pause").await;
    error(&program.redeem(&paused).await, 400, "unauthorized_client");
    act("resume").await;
    let tokens = Tokens::of(&program.redeem(&paused).await);
    act("pause").await;
    error(&program.refresh(&tokens.refresh, &[]).await, 400, "unauthorized_client");
    tokens.user(&node, "echo").try_send(message("x")).await.refused(Kind::GrantPaused);
    act("resume").await;
    tokens.user(&node, "echo").send("x").await;

    // An access token ends with the grant, and the approval with it.
    let timed = [&ECHO[..], &[("expires", "10m")]].concat();
    let code = approve(&person, &program.query(&[]), &timed).await;
    let granted = program.redeem(&code).await.json();
    let seconds = granted["expires_in"].as_u64().unwrap();
    assert!((540..=600).contains(&seconds), "what is left of ten minutes: {seconds}");
    node.clock.advance(Duration::from_mins(10));
    error(&program.refresh(granted["refresh_token"].as_str().unwrap(), &[]).await, 400, "invalid_grant");
    node.finish().await;
}

/// The verbs that are ticked and that the grant has; its agents, whatever is ticked.
#[tokio::test]
async fn a_grant_that_there_is_can_be_chosen() {
    let node = TestNode::closed().await;
    let (program, person) = (Program::new(&node).await, Person::signed_in(&node).await);
    let (id, holder) = node.grant(&["echo"], &[Verb::Send, Verb::Read]).await;
    let mine = holder.send("x").await["id"].as_str().unwrap().to_owned();
    let ticked = [("grant", &*id), ("agent", "script"), ("verb", "read"), ("verb", "work"), ("label", "")];
    let look = decide(&person, &program.query(&[]), &[&[("act", "look")][..], &ticked].concat()).await;
    assert!(look.text().contains("read to echo"), "{}", look.text());
    let code = approve(&person, &program.query(&[]), &ticked).await;
    let tokens = Tokens::of(&program.redeem(&code).await);
    assert_eq!((tokens.scope.as_str(), grants(&node).await.len()), ("read", 1));
    for user in tokens.user(&node, "echo").doors() {
        assert_eq!(user.state(&mine).await, "COMPLETED", "one owner");
        user.try_send(message("x")).await.refused(Kind::PermissionDenied);
        user.to("script").try_send(message("x")).await.refused(Kind::UnknownPath);
    }
    for (grant, verb) in [(&*id, "cancel"), ("no-such", "read")] {
        let answer =
            decide(&person, &program.query(&[]), &[("act", "approve"), ("grant", grant), ("verb", verb)])
                .await;
        assert!(
            leads_to(&answer).is_none() && answer.text().contains("Nothing was given"),
            "{}",
            answer.text()
        );
    }
    node.revoke(&id).await;
    let over =
        decide(&person, &program.query(&[]), &[("act", "approve"), ("grant", &id), ("verb", "read")]).await;
    assert!(leads_to(&over).is_none(), "{}", over.text());
    node.finish().await;
}

/// A token opens what it was asked for, and no other door of the node.
#[tokio::test]
async fn a_token_is_for_one_resource() {
    let node = TestNode::closed().await;
    let program = Program::new(&node).await;
    let both = [("label", "x"), ("agent", "echo"), ("agent", "mute"), ("verb", "send"), ("verb", "read")];
    let at = |path: &str| format!("{}{path}", node.url());
    let signed_in = async |resource: &str| program.signed_in(&node, &[("resource", resource)], &both).await;
    let (mcp, echo, all) =
        (signed_in(&at("/mcp")).await, signed_in(&at("/a2a/echo/")).await, signed_in(&at("/")).await);
    for door in DOORS {
        let opens = async |tokens: &Tokens, agent: &str| {
            let answer = tokens
                .user(&node, agent)
                .over(door)
                .call(baton_wire::operation::Operation::ListTasks, json!({}))
                .await;
            if answer.json().get("error").is_none() {
                return true;
            }
            answer.refused(Kind::Unauthenticated);
            let challenge = answer.header("www-authenticate").unwrap_or_default();
            assert!(door == Door::Grpc || challenge.contains("error=\"invalid_token\""), "{answer:?}");
            false
        };
        for (tokens, echo, mute) in [(&mcp, false, false), (&echo, true, false), (&all, true, true)] {
            assert_eq!((opens(tokens, "echo").await, opens(tokens, "mute").await), (echo, mute), "{door:?}");
        }
    }
    for (tokens, status) in [(&mcp, 401), (&echo, 401), (&all, 403)] {
        let bearer = format!("Bearer {}", tokens.access);
        let headers = [("authorization", &*bearer), ("content-type", "application/json")];
        let claim = request("POST", &at("/api/v1/work/claim_next"), &headers, r#"{"agent":"mute"}"#);
        let answer = node.anyone("mute").over(Door::Rest).ask(claim).await;
        assert_eq!(answer.status, status, "only the last is heard at all, and has not the verb: {answer:?}");
    }
    // It stays so with refreshing; what is for all can be made less, and not the other way round.
    let next = Tokens::of(&program.refresh(&mcp.refresh, &[("resource", &at("/mcp"))]).await);
    next.user(&node, "echo").try_send(message("x")).await.refused(Kind::Unauthenticated);
    for resource in ["/", "/a2a/echo"] {
        error(&program.refresh(&next.refresh, &[("resource", &at(resource))]).await, 400, "invalid_target");
    }
    let less = Tokens::of(&program.refresh(&all.refresh, &[("resource", &at("/a2a/mute"))]).await);
    less.user(&node, "mute").list(json!({})).await;
    less.user(&node, "echo").try_send(message("x")).await.refused(Kind::Unauthenticated);
    node.finish().await;
}

/// Tokens that an operator's approval gave are refused where that is switched off; what is silent for a month is over.
#[tokio::test]
async fn what_is_over_is_swept() {
    let node = TestNode::closed().await;
    let (program, person) = (Program::new(&node).await, Person::signed_in(&node).await);
    let tokens = program.signed_in(&node, &[], &ECHO).await;
    approve(&person, &program.query(&[]), &ECHO).await;
    let unused = Program::new(&node).await;
    let node = node.restart_with(|settings| settings.auth.authorization_code = false).await;
    tokens.user(&node, "echo").try_send(message("x")).await.refused(Kind::Unauthenticated);
    let node = node.restart_with(|settings| settings.auth.authorization_code = true).await;
    tokens.user(&node, "echo").send("x").await;
    let program = Program::known_as(&node, &program.id);
    node.clock.advance(Duration::from_hours(25));
    node.node().service.sweep_oauth().await.unwrap();
    let states: Vec<Value> = grants(&node).await.iter().map(|grant| grant["state"].clone()).collect();
    assert_eq!(states, ["revoked", "active"], "nobody came for the newer one");
    let tokens = Tokens::of(&program.refresh(&tokens.refresh, &[]).await);
    assert_eq!(
        get(&node, &format!("/oauth/authorize?{}", unused.query(&[]))).await.status,
        400,
        "it is forgotten"
    );
    assert_eq!(get(&node, &format!("/oauth/authorize?{}", program.query(&[]))).await.status, 200);
    node.clock.advance(Duration::from_hours(30 * 24));
    error(&program.refresh(&tokens.refresh, &[]).await, 400, "invalid_grant");
    node.node().service.sweep_oauth().await.unwrap();
    assert_eq!(told(&node, "oauth.lapse").await.len(), 2);
    node.finish().await;
}

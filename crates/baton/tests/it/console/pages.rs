//! What the pages say and what their forms do, without a browser and without a script.

use baton_store::Verb;
use baton_wire::operation::Operation;
use serde_json::json;

use super::Person;
use crate::harness::{TestNode, message, state};

#[tokio::test]
async fn a_question_is_answered_in_place() {
    let node = TestNode::closed().await;
    let (_, user) = node.grant(&["script"], &[Verb::Send, Verb::Read]).await;
    let params = json!({"message": message("Review PR 412"), "configuration": {"returnImmediately": true}});
    let task =
        user.call(Operation::SendMessage, params).await.ok()["task"]["id"].as_str().unwrap().to_owned();
    let mut attempt = node.attempt("script").await;
    attempt.ask("Keep 0042, or squash both?").await;
    let person = Person::signed_in(&node).await;
    let inbox = person.get("/console").await;
    for said in [
        "<title>Needs you (1) · Baton</title>",
        "waits for an answer from",
        "a test",
        "Keep 0042, or squash both?",
        "Review PR 412",
    ] {
        assert!(inbox.text().contains(said), "{said}: {}", inbox.text());
    }
    let done = person.act(&format!("/console/tasks/{task}/answer"), &[("text", "Keep 0042.")]).await;
    assert!(done.text().contains("Answered <b>script</b>: <bdi>Keep 0042.</bdi>"), "{}", done.text());
    assert_eq!(attempt.hears_message().await, "Keep 0042.");
    let page = person.get(&format!("/console/tasks/{task}")).await;
    let (said, text) = (["operator", "Keep 0042.", "Review PR 412", "Got its answer"], page.text());
    assert!(said.iter().all(|said| text.contains(said)), "{text}");
    assert!(!text.contains("Answered <b>"), "what was done is said once");
    attempt.complete().await;
    let log = node.operator("GET", "/api/v1/audit?action=task", None).await.ok();
    assert_eq!(
        (&log["rows"][0]["action"], &log["rows"][0]["target"]),
        (&json!("task.message"), &json!(task))
    );
    node.finish().await;
}

/// A client cannot write a message that looks like the operator's.
#[tokio::test]
async fn nobody_speaks_for_the_operator() {
    let node = TestNode::start().await;
    let user = node.anyone("echo");
    let mut said = message("I am the operator");
    said["metadata"] = json!({"baton/by": "operator"});
    let task = user.call(Operation::SendMessage, json!({"message": said})).await.ok();
    let person = Person::signed_in(&node).await;
    let page = person.get(&format!("/console/tasks/{}", task["task"]["id"].as_str().unwrap())).await;
    let (_, conversation) = page.text().split_once("id=\"conversation\"").unwrap();
    assert!(!conversation.contains("<span class=\"faint\">operator"), "{conversation}");
    node.finish().await;
}

#[tokio::test]
async fn a_failure_is_tried_again_or_left() {
    let node = TestNode::closed().await;
    let (grant, user) = node.grant(&["script"], &[Verb::Send, Verb::Read]).await;
    let mut failed = Vec::new();
    for text in ["first", "second"] {
        let params = json!({"message": message(text), "configuration": {"returnImmediately": true}});
        let task = user.call(Operation::SendMessage, params).await.ok();
        failed.push(task["task"]["id"].as_str().unwrap().to_owned());
        node.attempt("script").await.fail("The tree does not build").await;
    }
    let person = Person::signed_in(&node).await;
    let inbox = person.get("/console").await;
    assert!(inbox.text().contains("Needs you (2)") && inbox.text().contains("Leave all 2 failures"));
    let left = person.act(&format!("/console/tasks/{}/attend", failed[0]), &[]).await;
    assert!(left.text().contains("Left as it is."), "{}", left.text());
    let retried = person.act(&format!("/console/tasks/{}/retry", failed[1]), &[]).await;
    assert!(retried.text().contains("tries again, as a new task"), "{}", retried.text());
    assert!(retried.text().contains("<title>Needs you · Baton</title>"), "{}", retried.text());
    let again = node.attempt("script").await;
    assert_eq!(again.told(), "second");
    // It is its owner's, and names the one before it.
    let task = user.call(Operation::GetTask, json!({"id": again.task()})).await.ok();
    assert_eq!(state(&task), "WORKING");
    assert_eq!(task["history"][0]["referenceTaskIds"], json!([failed[1]]));
    again.complete().await;
    for text in ["third", "fourth"] {
        let params = json!({"message": message(text), "configuration": {"returnImmediately": true}});
        failed.push(
            user.call(Operation::SendMessage, params).await.ok()["task"]["id"].as_str().unwrap().to_owned(),
        );
        node.attempt("script").await.fail("No").await;
    }
    let page = person.get("/console").await;
    let shown: Vec<_> = page.text().matches("name=\"task\" value=\"").collect();
    assert_eq!(shown.len(), 2, "{}", page.text());
    // What fails from now on was not on the page.
    let params = json!({"message": message("fifth"), "configuration": {"returnImmediately": true}});
    user.call(Operation::SendMessage, params).await.ok();
    node.attempt("script").await.fail("Unseen").await;
    let these = [("task", &*failed[2]), ("task", &*failed[3])];
    let all = person.act("/console/attend-all", &these).await;
    assert!(all.text().contains("2 failures left as they are."), "{}", all.text());
    assert!(all.text().contains("Unseen") && all.text().contains("Needs you (1)"), "{}", all.text());
    // Whose grant is no more, for that one nothing is begun.
    node.revoke(&grant).await;
    let refused = person.act(&format!("/console/tasks/{}/retry", failed[1]), &[]).await;
    assert!(refused.text().contains("paused, revoked or expired"), "{}", refused.text());
    node.finish().await;
}

#[tokio::test]
async fn everybodys_tasks_are_filtered_and_found() {
    let node = TestNode::start().await;
    let mut ids = Vec::new();
    for n in 0..60 {
        let params = json!({"message": message(&format!("Count to {n}"))});
        let task = node.anyone("echo").call(Operation::SendMessage, params).await.ok();
        ids.push(task["task"]["id"].as_str().unwrap().to_owned());
    }
    let person = Person::signed_in(&node).await;
    let rows = |text: &str| text.matches("data-item").count();
    let first = person.get("/console/tasks").await;
    assert_eq!(rows(first.text()), 50);
    assert!(first.text().contains("60 tasks") && first.text().contains("Count to 59"));
    let (_, next) = first.text().split_once("href=\"/console/tasks?page=").expect("there are more");
    let next = person.get(&format!("/console/tasks?page={}", next.split('"').next().unwrap())).await;
    assert_eq!(rows(next.text()), 10);
    assert_eq!(rows(person.get("/console/tasks?state=failed").await.text()), 0);
    assert_eq!(rows(person.get("/console/tasks?state=completed&agent=echo").await.text()), 50);
    assert_eq!(rows(person.get("/console/tasks?agent=script").await.text()), 0);
    assert_eq!(rows(person.get("/console/tasks?q=COUNT+TO+59").await.text()), 1);
    let found = person.get(&format!("/console/tasks?q={}", ids[7])).await;
    assert_eq!(found.header("location"), Some(&*format!("/console/tasks/{}", ids[7])));
    node.finish().await;
}

/// An agent's files never run anything in the console's origin.
#[tokio::test]
async fn files_are_downloaded() {
    use base64::Engine as _;
    let node = TestNode::start().await;
    let html = base64::prelude::BASE64_STANDARD.encode("<script>alert(1)</script>");
    let mut said = message("x");
    said["parts"] = json!([
        {"raw": html, "filename": "../a\"b.html", "mediaType": "text/html"},
        {"raw": html, "filename": "p.png", "mediaType": "image/png"},
        {"raw": html, "filename": "p.svg", "mediaType": "image/svg+xml"},
    ]);
    let task = node.anyone("echo").call(Operation::SendMessage, json!({"message": said})).await.ok();
    let (task, artifact) = (task["task"]["id"].as_str().unwrap(), &task["task"]["artifacts"][0]);
    let path = format!("/console/tasks/{task}/artifacts/{}", artifact["artifactId"].as_str().unwrap());
    let person = Person::signed_in(&node).await;
    for (part, shown) in [("0", false), ("0?show", false), ("1", false), ("1?show", true), ("2?show", false)]
    {
        let file = person.get(&format!("{path}/{part}")).await;
        assert_eq!((file.status, file.text()), (200, "<script>alert(1)</script>"), "{part}");
        let inline = file.header("content-disposition") == Some("inline");
        let kind = if shown { "image/png" } else { "application/octet-stream" };
        assert_eq!((inline, file.header("content-type")), (shown, Some(kind)), "{part}");
        assert_eq!(file.header("content-security-policy"), Some("default-src 'none'; sandbox"), "{part}");
        assert_eq!(file.header("x-content-type-options"), Some("nosniff"), "{part}");
    }
    let named = person.get(&format!("{path}/0")).await;
    assert_eq!(
        named.header("content-disposition"),
        Some("attachment; filename=\"a_b.html\"; filename*=UTF-8''a%22b.html")
    );
    assert_eq!(person.get(&format!("{path}/9")).await.status, 404);
    assert_eq!(Person::stranger(&node).get(&format!("{path}/0")).await.status, 303);
    node.finish().await;
}

#[tokio::test]
async fn what_strangers_write_is_text() {
    let node = TestNode::start().await;
    let hostile = "<script>alert(1)</script>\u{202e}gnp.exe\u{1b}[31m\u{7}";
    let params = json!({"message": message(hostile), "configuration": {"returnImmediately": true}});
    let task = node.anyone("script").call(Operation::SendMessage, params).await.ok();
    let attempt = node.attempt("script").await;
    attempt.write("<b>\u{202e}", hostile).await;
    attempt.ask(hostile).await;
    let person = Person::signed_in(&node).await;
    let path = format!("/console/tasks/{}", task["task"]["id"].as_str().unwrap());
    for path in ["/console", "/console/tasks", &path] {
        let page = person.get(path).await;
        let text = page.text();
        assert!(
            text.contains("&lt;script&gt;alert(1)&lt;/script&gt;\u{fffd}gnp.exe␛[31m␇"),
            "{path}: {text}"
        );
        assert!(!text.contains("<script>alert") && !text.contains("<b>\u{202e}"), "{path}");
        assert!(
            !text.chars().any(|c| c == '\u{202e}' || (c.is_control() && c != '\n' && c != '\t')),
            "{path}"
        );
    }
    attempt.complete().await;
    node.finish().await;
}

/// The text of an element, as a browser would copy it.
fn copied(page: &str, id: &str) -> String {
    let found = page.split_once(&format!("id=\"{id}\"")).and_then(|(_, rest)| rest.split_once('>'));
    let text = found.unwrap_or_else(|| panic!("no {id}: {page}")).1.split("</pre>").next().unwrap();
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

/// What is pasted into a terminal works as it stands.
async fn runs(program: &str, arguments: &[&str]) -> String {
    let ran = tokio::process::Command::new(program).args(arguments).kill_on_drop(true).output();
    let ran = crate::harness::soon(ran).await.unwrap_or_else(|why| panic!("{program}: {why}"));
    assert!(ran.status.success(), "{program}: {ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

#[tokio::test]
async fn a_grant_is_made_in_one_form_and_its_lines_work() {
    let node = TestNode::closed().await;
    let person = Person::signed_in(&node).await;
    let csrf = person.csrf().await;
    let wanted = [
        ("csrf", &*csrf),
        ("label", "ci-bot <b>"),
        ("agent", "echo"),
        ("verb", "send"),
        ("verb", "read"),
        ("openTasks", "20"),
        ("expires", "90d"),
    ];
    let look = person.post("/console/grants/new", &[&wanted[..], &[("act", "look")]].concat()).await;
    assert_eq!(look.status, 200);
    assert!(look.text().contains("Whoever has the token may, with echo"), "{}", look.text());
    assert!(
        look.text().contains("Nothing is made yet.") && look.text().contains("value=\"ci-bot &lt;b&gt;\"")
    );
    assert_eq!(node.operator("GET", "/api/v1/grants", None).await.json()["grants"], json!([]));
    let wrong =
        [("csrf", &*csrf), ("label", "x"), ("agent", "echo"), ("verb", "send"), ("openTasks", "many")];
    let refused = person.post("/console/grants/new", &wrong).await;
    assert!(
        refused.text().contains("Not made: ") && refused.text().contains("is a whole number"),
        "{}",
        refused.text()
    );

    let made = person.post("/console/grants/new", &[&wanted[..], &[("act", "make")]].concat()).await;
    let page = made.text();
    let token = copied(page, "token");
    assert!(token.starts_with("bt_") && page.contains("It is shown here and never again."), "{page}");
    assert!(made.header("cache-control") == Some("no-store"));
    for (program, flag, id) in
        [("sh", "-c", "curl"), ("python3", "-c", "python"), ("node", "-e", "javascript")]
    {
        if program == "node" && std::env::var_os("CI").is_none() && which("node").is_none() {
            continue;
        }
        if id == "curl" && which("curl").is_none() {
            continue;
        }
        let said = runs(program, &[flag, &copied(page, id)]).await;
        assert!(said.contains("TASK_STATE_COMPLETED") && said.contains("Hello"), "{id}: {said}");
    }
    let listed = person.get("/console/grants").await;
    assert!(
        listed.text().contains("ci-bot &lt;b&gt;") && !listed.text().contains(&token),
        "{}",
        listed.text()
    );
    node.finish().await;
}

fn which(program: &str) -> Option<std::path::PathBuf> {
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths).map(|path| path.join(program)).find(|path| path.is_file())
}

#[tokio::test]
async fn a_grant_pauses_turns_and_ends() {
    let node = TestNode::closed().await;
    let (grant, user) = node.grant(&["echo"], &Verb::ALL).await;
    let person = Person::signed_in(&node).await;
    let path = format!("/console/grants/{grant}");
    let page = person.get(&path).await;
    assert!(page.text().contains("What it allows"), "{}", page.text());
    let csrf = person.csrf().await;
    let act = async |what: &str, said: &str| {
        let answer = person.post(&format!("{path}/{what}"), &[("csrf", &csrf)]).await;
        let page = person.get(answer.header("location").expect(what)).await;
        assert!(page.text().contains(said), "{what}: {}", page.text());
    };
    let calls = async |user: &crate::harness::User| {
        user.call(Operation::SendMessage, json!({"message": message("x")})).await.status
    };
    act("pause", "may not call until you resume it").await;
    assert_eq!(calls(&user).await, 403);
    act("resume", "may call again, with the same token").await;
    assert_eq!(calls(&user).await, 200);
    let turned = person.post(&format!("{path}/rotate"), &[("csrf", &csrf), ("overlap", "0s")]).await;
    let new = crate::harness::User::new(node.url(), "echo", Some(&copied(turned.text(), "token")));
    assert_eq!((calls(&user).await, calls(&new).await), (401, 200));
    act("revoke", "is revoked").await;
    assert_eq!(calls(&new).await, 401);
    act("pause", "Not done: ").await;
    node.finish().await;
}

#[tokio::test]
async fn the_other_pages_say_what_is() {
    let node = TestNode::start().await;
    node.anyone("echo").call(Operation::SendMessage, json!({"message": message("x")})).await.ok();
    let person = Person::signed_in(&node).await;
    for (path, said) in [
        ("/console/agents", "In the last hour 1 task done"),
        ("/console/agents/echo", "supportedInterfaces"),
        ("/console/deliveries", "No webhook yet."),
        ("/console/audit", "console.sign-in"),
        ("/console/audit?action=console&outcome=refused", "Nothing of this kind."),
        ("/console/settings", "[agents.script]"),
        ("/console/grants", "Nobody may call yet."),
        ("/console/requests", "Nobody has asked yet."),
    ] {
        let page = person.get(path).await;
        assert_eq!(page.status, 200, "{path}");
        assert!(page.text().contains(said), "{path}: {}", page.text());
        assert!(page.text().len() < 100 * 1024, "{path}");
    }
    let csrf = person.csrf().await;
    person.post("/console/audit/verify", &[("csrf", &csrf)]).await;
    assert!(person.get("/console/audit").await.text().contains("as written. To know later"));
    node.finish().await;
}

/// No secret is in what is shown of the configuration.
#[tokio::test]
async fn settings_keep_secrets() {
    use baton::config::settings::{Runner, SecretKey};
    let node = TestNode::with(|settings| {
        settings.node.secret_key = Some(SecretKey::new([0x5a; 32]));
        for agent in settings.agents.values_mut() {
            if let Runner::Process(process) = &mut agent.runner {
                process.env.insert("API_KEY".to_owned(), "hunter2".to_owned());
            }
        }
    })
    .await;
    let person = Person::signed_in(&node).await;
    let page = person.get("/console/settings").await.text().to_owned();
    let json = node.operator("GET", "/api/v1/settings", None).await.text().to_owned();
    for text in [page, json] {
        assert!(text.contains("API_KEY") && text.contains("not shown"), "{text}");
        assert!(!text.contains("hunter2") && !text.contains("5a5a") && !text.contains("WlpaWl"), "{text}");
    }
    node.finish().await;
}

#[tokio::test]
async fn intake_is_frozen_and_work_is_paused() {
    let node = TestNode::closed().await;
    let (grant, user) = node.grant(&["echo"], &[Verb::Send, Verb::Read]).await;
    let person = Person::signed_in(&node).await;
    let sends = async || user.call(Operation::SendMessage, json!({"message": message("x")})).await.status;
    assert_eq!(sends().await, 200);
    let frozen = person.act("/console/control/freeze", &[]).await;
    assert!(frozen.text().contains("<b>Intake is frozen</b> for "), "{}", frozen.text());
    assert_eq!(sends().await, 503);
    for path in ["/console/tasks", "/console/settings", "/console/nowhere"] {
        assert!(person.get(path).await.text().contains("<b>Intake is frozen</b>"), "{path}");
    }
    person.act("/console/control/unfreeze", &[]).await;
    assert_eq!(sends().await, 200);
    person.act(&format!("/console/grants/{grant}/hold/freeze"), &[]).await;
    assert_eq!(sends().await, 503);
    assert!(person.get(&format!("/console/grants/{grant}")).await.text().contains("Unfreeze"));
    person.act(&format!("/console/grants/{grant}/hold/unfreeze"), &[]).await;
    person.act("/console/agents/echo/pause", &[]).await;
    assert!(person.get("/console/agents").await.text().contains("<span class=\"chip wait\">paused</span>"));
    person.act("/console/agents/echo/resume", &[]).await;
    let paused = person.act("/console/control/pause", &[]).await;
    assert!(paused.text().contains("<b>Work is paused</b>"), "{}", paused.text());
    person.act("/console/control/resume", &[]).await;
    assert!(person.act("/console/control/lame-duck", &[]).await.text().contains("says that it is not ready"));
    assert_eq!(node.anyone("echo").ask(person.request("GET", "/readyz", &[], "")).await.status, 503);
    person.act("/console/control/end-lame-duck", &[]).await;
    let unknown = ["control/explode", "agents/echo/explode", &format!("grants/{grant}/hold/explode")]
        .map(str::to_owned);
    for what in unknown {
        let refused = person.act(&format!("/console/{what}"), &[]).await;
        assert!(refused.text().contains("Not done: "), "{what}: {}", refused.text());
    }
    assert_eq!(sends().await, 200);
    let log = node.operator("GET", "/api/v1/audit?action=node", None).await.ok();
    let told: Vec<_> = log["rows"].as_array().unwrap().iter().map(|row| row["action"].clone()).collect();
    assert_eq!(
        told,
        ["node.end-lame-duck", "node.lame-duck", "node.resume", "node.pause", "node.unfreeze", "node.freeze"]
    );
    node.finish().await;
}

/// A stranger asks; nothing is fetched before a person looks, and nothing granted before one approves.
#[tokio::test]
async fn a_friend_is_looked_at_and_let_in() {
    use crate::script::{Server, card, ok};
    let node = super::world::node().await;
    let home = Server::start(|url, _, _| {
        let mut card = card(&format!("{url}/a2a"), &[("JSONRPC", "1.0")], false);
        card["name"] = json!("Research Desk <b>");
        ok(&card)
    })
    .await;
    let wish = |why: &str| {
        let url = format!("{}/.well-known/agent-card.json", home.url);
        json!({"cardUrl": url, "agents": ["echo"], "verbs": ["send", "read", "cancel"], "why": why})
    };
    let id = super::world::ask_to_be_let_in(&node, &wish("Nightly <script>summaries</script>")).await;
    let person = Person::signed_in(&node).await;
    let inbox = person.get("/console").await;
    for said in [
        "Needs you (1)",
        "friend request",
        "send, read, cancel",
        "&lt;script&gt;summaries",
        "nothing was fetched",
    ] {
        assert!(inbox.text().contains(said), "{said}: {}", inbox.text());
    }
    let path = format!("/console/requests/{id}");
    assert!(person.get(&path).await.text().contains("Look: fetch its card now"));
    assert_eq!(home.asked().len(), 0);
    let csrf = person.csrf().await;
    person.post(&format!("{path}/look"), &[("csrf", &csrf)]).await;
    assert!(!home.asked().is_empty());
    let looked = person.get(&path).await;
    assert!(looked.text().contains("<bdi>Research Desk &lt;b&gt;</bdi>"), "{}", looked.text());
    assert!(
        looked.text().contains("unsigned") && looked.text().contains("not seen before"),
        "{}",
        looked.text()
    );
    let wanted =
        [("csrf", &*csrf), ("label", "desk"), ("agent", "echo"), ("verb", "send"), ("openTasks", "5")];
    let look = person.post(&format!("{path}/approve"), &[&wanted[..], &[("act", "look")]].concat()).await;
    assert!(look.text().contains("Whoever has the token may, with echo"), "{}", look.text());
    let wrong = [("csrf", &*csrf), ("act", "approve"), ("label", "desk"), ("verb", "send")];
    let refused = person.post(&format!("{path}/approve"), &wrong).await;
    assert!(refused.text().contains("Not approved: "), "{}", refused.text());
    let approved =
        person.post(&format!("{path}/approve"), &[&wanted[..], &[("act", "approve")]].concat()).await;
    assert_eq!(approved.header("location"), Some(&*path), "{}", approved.text());
    assert!(person.get(&path).await.text().contains("<bdi>desk</bdi></b> is let in."));
    let grants = node.operator("GET", "/api/v1/grants", None).await.json();
    assert_eq!(
        (&grants["grants"][0]["label"], &grants["grants"][0]["verbs"]),
        (&json!("desk"), &json!(["send"]))
    );
    let other = super::world::ask_to_be_let_in(&node, &wish("again")).await;
    let denied = person.act(&format!("/console/requests/{other}/deny"), &[]).await;
    assert!(denied.text().contains("Denied ") && denied.text().contains("<title>Needs you · Baton</title>"));
    assert!(person.get("/console/requests?state=denied").await.text().contains("again"));
    node.finish().await;
}

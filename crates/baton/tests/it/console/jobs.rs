//! What a person comes to the console for, done in a browser: with clicks and with the keyboard, in both themes.

use super::browser::{Browser, DESKTOP, ENTER, ESCAPE, THEMES, Theme};
use super::world::{HOSTILE, World, say};
use crate::harness::TestNode;

#[tokio::test]
async fn answer_allow_and_try_again_with_clicks() {
    for theme in THEMES {
        let mut world = World::new().await;
        if let Some(browser) = Browser::signed_in(&world.node, theme, DESKTOP).await {
            assert_eq!(browser.title().await, "Needs you (5) · Baton");
            browser.write("[data-answer][type=text]", "Keep 0042.").await;
            browser.click("button", "Answer").await;
            browser.sees("Answered script: Keep 0042.").await;
            assert_eq!(world.asks.hears_message().await, "Keep 0042.");
            assert_eq!(browser.title().await, "Needs you (4) · Baton");
            browser.click("button", "Allow").await;
            browser.sees("Answered script: allow").await;
            assert_eq!(world.permits.hears_message().await, "allow");
            browser.click("button", "Try again").await;
            browser.sees("script tries again, as a new task.").await;
            let again = world.node.attempt("script").await;
            assert_eq!(again.told(), "Build the weekly report");
            again.complete().await;
            browser.click("button", "Try now").await;
            browser.sees("again now.").await;
            browser.keep(&format!("acted-{}", theme.name())).await;
            browser.close().await;
        }
        world.finish().await;
    }
}

#[tokio::test]
async fn answer_with_the_keyboard() {
    for theme in THEMES {
        let mut world = World::new().await;
        if let Some(browser) = Browser::signed_in(&world.node, theme, DESKTOP).await {
            let asks = format!("#need-{}", world.asks.task());
            browser.keys("j").await;
            browser.has_focus("[data-item]").await;
            while browser.run(&format!("return document.activeElement.matches({asks:?})")).await != true {
                browser.keys("j").await;
            }
            browser.keep(&format!("focus-{}", theme.name())).await;
            browser.keys("a").await;
            browser.has_focus("[data-answer]").await;
            browser.keys("jk squash").await;
            browser.keys(ENTER).await;
            browser.sees("Answered script: jk squash").await;
            assert_eq!(world.asks.hears_message().await, "jk squash");
            browser.has_focus("[data-item]").await;
            // Open one, and go to another page.
            browser.keys(ENTER).await;
            browser.sees("Timeline").await;
            browser.keys("gt").await;
            browser.sees("Say hello").await;
            browser.keys("/").await;
            browser.has_focus("[data-search]").await;
            browser.keys("dutch").await;
            browser.keys(ENTER).await;
            browser.sees("1 among the newest").await;
            browser.keys("jk").await;
            browser.has_focus("[data-item]").await;
            browser.keys("?").await;
            browser.sees("next, previous").await;
            browser.keep(&format!("keys-{}", theme.name())).await;
            browser.keys(ESCAPE).await;
            browser.no_longer_sees("next, previous").await;
            browser.keys("gn").await;
            browser.sees("Needs you").await;
            browser.close().await;
        }
        world.finish().await;
    }
}

#[tokio::test]
async fn cancel_says_first_what_will_happen() {
    let world = World::new().await;
    if let Some(browser) = Browser::signed_in(&world.node, Theme::Light, DESKTOP).await {
        let task = say(&world.ci, "Count to a million").await;
        let attempt = world.node.attempt("script").await;
        browser.goto(&format!("/console/tasks/{task}")).await;
        browser.click("summary", "Cancel…").await;
        browser.sees("is told to stop").await;
        browser.keep("cancel").await;
        browser.keys(ESCAPE).await;
        browser.no_longer_sees("is told to stop").await;
        browser.click("summary", "Cancel…").await;
        let (ends, ()) = tokio::join!(attempt.stops(), browser.click("button", "Cancel the task"));
        let () = ends;
        browser.sees("The task of script is canceled.").await;
        browser.sees("Was told to stop").await;
        browser.sees("Try again").await;
        browser.close().await;
    }
    world.finish().await;
}

#[tokio::test]
async fn make_pause_and_revoke_a_grant() {
    for theme in THEMES {
        let world = World::new().await;
        if let Some(browser) = Browser::signed_in(&world.node, theme, DESKTOP).await {
            browser.keys("gg").await;
            browser.sees("ci-bot").await;
            browser.click("a", "New grant").await;
            browser.write("[name=label]", "release-bot").await;
            browser.click("[name=agent]", "echo").await;
            browser.click("button", "What would it allow?").await;
            browser.sees("Whoever has the token may, with echo").await;
            browser.keep(&format!("grant-look-{}", theme.name())).await;
            browser.click("button", "Make the grant").await;
            browser.sees("It is shown here and never again.").await;
            browser.sees("Copy").await;
            browser.keep(&format!("grant-token-{}", theme.name())).await;
            browser.click("a", "I have kept it").await;
            browser.sees("What it allows").await;
            browser.click("button", "Pause").await;
            browser.sees("release-bot may not call until you resume it.").await;
            browser.click("button", "Resume").await;
            browser.sees("release-bot may call again").await;
            browser.keep(&format!("grant-{}", theme.name())).await;
            browser.click("summary", "Revoke…").await;
            browser.sees("Nothing brings it back.").await;
            browser.click("button", "Revoke the grant").await;
            browser.sees("release-bot is revoked.").await;
            browser.close().await;
        }
        world.finish().await;
    }
}

#[tokio::test]
async fn freeze_intake_from_the_first_page() {
    for theme in THEMES {
        let world = World::new().await;
        if let Some(browser) = Browser::signed_in(&world.node, theme, DESKTOP).await {
            browser.click("summary", "Freeze intake…").await;
            browser.sees("Callers are told to come back.").await;
            browser.keep(&format!("freeze-{}", theme.name())).await;
            browser.click("button", "Freeze intake").await;
            browser.sees("Intake is frozen for").await;
            browser.keys("gs").await;
            browser.sees("what is in force").await;
            browser.sees("Intake is frozen for").await;
            browser.keep(&format!("frozen-{}", theme.name())).await;
            browser.click("#held button", "Unfreeze").await;
            browser.sees("Messages are taken again.").await;
            browser.no_longer_sees("Intake is frozen for").await;
            browser.close().await;
        }
        world.finish().await;
    }
}

/// What comes while a person looks waits behind a button; what is there changes in its place.
#[tokio::test]
async fn lists_are_live_and_do_not_move() {
    let world = World::new().await;
    if let Some(browser) = Browser::signed_in(&world.node, Theme::Dark, DESKTOP).await {
        browser.goto("/console/tasks").await;
        let first = "return document.querySelector('[data-item]').id";
        let before = browser.run(first).await;
        for text in ["Brand new", "Newer still"] {
            say(&world.ci.to("echo"), text).await;
        }
        browser.sees("2 new").await;
        assert_eq!(browser.run(first).await, before);
        browser.keep("fresh").await;
        browser.click("button", "2 new").await;
        browser.sees("Newer still").await;
        // The page of one task follows it.
        browser.goto(&format!("/console/tasks/{}", world.works.task())).await;
        world.works.progress("Read 7 of 11 reports").await;
        browser.sees("Read 7 of 11 reports").await;
        // And the count on every page.
        say(&world.ci, "One more question").await;
        let asks = world.node.attempt("script").await;
        asks.ask("Which one?").await;
        crate::harness::until("the title counts", async || browser.title().await.starts_with("(6) ")).await;
        asks.complete().await;
        crate::harness::until("the title counts", async || browser.title().await.starts_with("(5) ")).await;
        browser.close().await;
    }
    world.finish().await;
}

#[tokio::test]
async fn a_hostile_agent_is_read_and_not_obeyed() {
    let node = TestNode::start().await;
    let user = node.anyone("script");
    let task = say(&user, HOSTILE).await;
    let attempt = node.attempt("script").await;
    attempt.write("<u>x</u>", HOSTILE).await;
    attempt.ask(HOSTILE).await;
    for theme in THEMES {
        let Some(browser) = Browser::signed_in(&node, theme, super::browser::PHONE).await else { continue };
        for path in ["/console", "/console/tasks", &format!("/console/tasks/{task}")] {
            browser.goto(path).await;
            browser.sees("<script>document.title='taken'</script>").await;
            // A list shows the beginning.
            if path != "/console/tasks" {
                browser.sees("␛[31mred␇").await;
            }
            assert_eq!(
                browser.run("return document.querySelectorAll('main img, main script, main u').length").await,
                0
            );
            assert_ne!(browser.title().await, "taken");
            browser.fits().await;
            let page = path.rsplit('/').next().unwrap().chars().take(7).collect::<String>();
            browser.keep(&format!("hostile-{page}-{}", theme.name())).await;
        }
        browser.close().await;
    }
    attempt.complete().await;
    node.finish().await;
}

/// A stopped node is not hidden, and what was there stays.
#[tokio::test]
async fn a_lost_connection_is_said_and_mended() {
    let node = TestNode::start().await;
    if let Some(browser) = Browser::signed_in(&node, Theme::Light, DESKTOP).await {
        browser.goto("/console/tasks").await;
        node.node().service.drain();
        browser.sees("The connection to the node is lost.").await;
        browser.sees("No task yet.").await;
        browser.keep("offline").await;
        browser.forget_log().await;
        browser.close().await;
    }
    node.finish_owing().await;
}

#[tokio::test]
async fn sign_out() {
    let node = TestNode::start().await;
    if let Some(browser) = Browser::signed_in(&node, Theme::Light, DESKTOP).await {
        browser.click("nav button", "Sign out").await;
        browser.sees("Sign in to this node").await;
        browser.goto("/console/tasks").await;
        browser.sees("Sign in to this node").await;
        browser.write("[name=code]", &super::code(&node).await).await;
        browser.click("button", "Sign in").await;
        browser.sees("No task yet.").await;
        assert_eq!(browser.path().await, "/console/tasks");
        browser.close().await;
    }
    node.finish().await;
}

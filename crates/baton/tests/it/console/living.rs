//! What a browser makes of the pages beyond single jobs: keys, live lists, hostile text, a lost connection, the end of a session.

use super::browser::{Browser, DESKTOP, ENTER, ESCAPE, THEMES, Theme};
use super::world::{HOSTILE, World, say};
use crate::harness::TestNode;

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

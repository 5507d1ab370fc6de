//! Every job of the console in both themes, once with clicks and once without a mouse.

use super::browser::{Browser, DESKTOP, ESCAPE, Hand, THEMES, Theme};
use super::world::World;
use super::{code, world};
use crate::harness::TestNode;

fn ways() -> impl Iterator<Item = (Theme, Hand)> {
    THEMES.into_iter().flat_map(|theme| [Hand::Mouse, Hand::Keyboard].map(|hand| (theme, hand)))
}

fn named(page: &str, theme: Theme, hand: Hand) -> String {
    format!("job-{page}-{}-{hand:?}", theme.name()).to_lowercase()
}

#[tokio::test]
async fn what_needs_a_person() {
    for (theme, hand) in ways() {
        let mut world = World::new().await;
        if let Some(browser) = Browser::signed_in(&world.node, theme, DESKTOP).await.map(|it| it.by(hand)) {
            assert_eq!(browser.title().await, "Needs you (5) · Baton");
            browser.press("button", "Allow").await;
            browser.sees("Answered script: allow").await;
            assert_eq!(world.permits.hears_message().await, "allow");
            assert_eq!(browser.title().await, "Needs you (4) · Baton");
            browser.press("button", "Try again").await;
            browser.sees("script tries again, as a new task.").await;
            let again = world.node.attempt("script").await;
            assert_eq!(again.told(), "Build the weekly report");
            again.fail("Still full.").await;
            browser.press("button", "1 new").await;
            browser.sees("Still full.").await;
            browser.press("button", "Leave it").await;
            browser.sees("Left as it is.").await;
            browser.press("button", "Try now").await;
            browser.sees("again now.").await;
            browser.fill("[data-answer][type=text]", "Squash both.").await;
            browser.press("button", "Answer").await;
            browser.sees("Answered script: Squash both.").await;
            assert_eq!(world.asks.hears_message().await, "Squash both.");
            browser.press("button", "Deny").await;
            browser.sees("Denied https://desk.partner.example").await;
            browser.keep(&named("needs", theme, hand)).await;
            freeze(&browser, theme).await;
            browser.close().await;
        }
        world.finish().await;
    }
}

#[tokio::test]
async fn tasks_and_deliveries() {
    for (theme, hand) in ways() {
        let world = World::new().await;
        if let Some(browser) = Browser::signed_in(&world.node, theme, DESKTOP).await.map(|it| it.by(hand)) {
            browser.press("nav a", "Tasks").await;
            browser.sees("Say hello").await;
            browser.press(".filters a", "failed 1").await;
            browser.no_longer_sees("Say hello").await;
            browser.press("[data-item] a", "").await;
            browser.sees("The disk of the build machine is full").await;
            browser.press("button", "Try again").await;
            browser.sees("tries again, as a new task.").await;
            let again = world.node.attempt("script").await;
            browser.goto(&format!("/console/tasks/{}", again.task())).await;
            browser.press("summary", "Cancel…").await;
            browser.sees("is told to stop").await;
            browser.keep(&named("cancel", theme, hand)).await;
            browser.keys(ESCAPE).await;
            browser.no_longer_sees("is told to stop").await;
            browser.press("summary", "Cancel…").await;
            tokio::join!(again.stops(), browser.press("button", "Cancel the task"));
            browser.sees("The task of script is canceled.").await;
            browser.sees("Was told to stop").await;
            browser.sees("Try again").await;
            browser.keys("gg").await;
            browser.sees("ci-bot").await;
            browser.press("nav a", "Deliveries").await;
            browser.press("[data-item] a[data-open]", "").await;
            browser.sees("Tries, the newest first").await;
            browser.press("button", "Try now").await;
            browser.sees("again now.").await;
            browser.close().await;
        }
        world.finish().await;
    }
}

#[tokio::test]
async fn grants_friends_agents_and_the_node() {
    for (theme, hand) in ways() {
        let node = world::node().await;
        let wish = serde_json::json!({
            "cardUrl": "https://desk.partner.example/.well-known/agent-card.json", "agents": ["echo"],
            "verbs": ["send", "read"], "why": "Nightly summaries.",
        });
        world::ask_to_be_let_in(&node, &wish).await;
        if let Some(browser) = Browser::open(&node, theme, DESKTOP).await.map(|it| it.by(hand)) {
            sign_in(&node, &browser).await;
            grant(&browser, theme).await;
            browser.press("nav a", "Friend requests").await;
            browser.press("a", "Look and decide…").await;
            browser.press("button", "Look: fetch its card now").await;
            browser.sees("Looked.").await;
            browser.fill("[name=label]", "desk").await;
            browser.press("button", "Approve").await;
            browser.sees("desk is let in.").await;
            browser.keep(&named("friend", theme, hand)).await;
            browser.press("nav a", "Agents").await;
            browser.press("a[data-open]", "echo").await;
            browser.press("button", "Pause").await;
            browser.sees("begins nothing new.").await;
            browser.press("button", "Resume").await;
            browser.sees("works again.").await;
            browser.press("nav a", "Audit").await;
            browser.press("button", "Is it whole?").await;
            browser.sees("as written.").await;
            control(&browser).await;
            browser.press("nav button", "Sign out").await;
            browser.sees("Sign in to this node").await;
            browser.close().await;
        }
        node.finish().await;
    }
}

async fn sign_in(node: &TestNode, browser: &Browser) {
    browser.goto("/console").await;
    browser.fill("[name=code]", &code(node).await).await;
    browser.press("button", "Sign in").await;
    browser.sees("Needs you").await;
}

async fn grant(browser: &Browser, theme: Theme) {
    browser.press("nav a", "Grants").await;
    browser.press("a", "New grant").await;
    browser.fill("[name=label]", "release-bot").await;
    browser.toggle("[name=agent][value=echo]").await;
    browser.press("button", "What would it allow?").await;
    browser.sees("Whoever has the token may, with echo").await;
    browser.keep(&named("grant-look", theme, browser.hand)).await;
    browser.press("button", "Make the grant").await;
    browser.sees("It is shown here and never again.").await;
    browser.sees("Copy").await;
    browser.keep(&named("grant-token", theme, browser.hand)).await;
    browser.press("a", "I have kept it").await;
    browser.sees("What it allows").await;
    browser.press("button", "Pause").await;
    browser.sees("release-bot may not call until you resume it.").await;
    browser.press("button", "Resume").await;
    browser.sees("release-bot may call again").await;
    browser.press("summary", "Revoke…").await;
    browser.sees("Nothing brings it back.").await;
    browser.keep(&named("revoke", theme, browser.hand)).await;
    browser.press("button", "Revoke the grant").await;
    browser.sees("release-bot is revoked.").await;
}

/// From the first page.
async fn freeze(browser: &Browser, theme: Theme) {
    browser.press("summary", "Freeze intake…").await;
    browser.sees("Callers are told to come back.").await;
    browser.keep(&named("freeze", theme, browser.hand)).await;
    browser.press("button", "Freeze intake").await;
    browser.sees("Intake is frozen for").await;
    browser.keys("gs").await;
    browser.sees("what is in force").await;
    browser.sees("Intake is frozen for").await;
    browser.keep(&named("frozen", theme, browser.hand)).await;
    browser.press("#held button", "Unfreeze").await;
    browser.sees("Messages are taken again.").await;
    browser.no_longer_sees("Intake is frozen for").await;
}

async fn control(browser: &Browser) {
    browser.press("nav a", "Settings").await;
    browser.press("button", "Lame duck").await;
    browser.sees("says that it is not ready").await;
    browser.press("button", "Say that it is ready").await;
    browser.sees("The node says that it is ready.").await;
    browser.press("#control button", "Pause").await;
    browser.sees("Work is paused for").await;
    browser.press("#held button", "Resume").await;
    browser.sees("Work goes on.").await;
}

//! Every page in both themes, on a desk and on a phone: kept as images, nothing wider than the window, nothing that the
//! policy refuses.

use super::browser::{Browser, DESKTOP, PHONE, Screen, THEMES, Theme};
use super::world::World;

async fn look(world: &World, browser: &Browser, name: &str) {
    for (page, path) in [
        ("needs", "/console".to_owned()),
        ("tasks", "/console/tasks".to_owned()),
        ("asks", format!("/console/tasks/{}", world.asks.task())),
        ("failed", format!("/console/tasks/{}", world.failed)),
        ("done", format!("/console/tasks/{}", world.done)),
        ("agents", "/console/agents".to_owned()),
        ("agent", "/console/agents/echo".to_owned()),
        ("grants", "/console/grants".to_owned()),
        ("grant-new", "/console/grants/new".to_owned()),
        ("requests", "/console/requests".to_owned()),
        ("request", format!("/console/requests/{}", world.asked)),
        ("deliveries", "/console/deliveries".to_owned()),
        ("delivery", format!("/console/deliveries/{}/ci", world.hooked)),
        ("audit", "/console/audit".to_owned()),
        ("settings", "/console/settings".to_owned()),
        ("nowhere", "/console/nowhere".to_owned()),
    ] {
        browser.goto(&path).await;
        browser.fits().await;
        browser.keep(&format!("{page}-{name}")).await;
    }
}

async fn pages(theme: Theme, screen: Screen, name: &str) {
    let world = World::new().await;
    if let Some(browser) = Browser::signed_in(&world.node, theme, screen).await {
        look(&world, &browser, name).await;
        // A page that is not there says so to the log as well.
        browser.forget_log().await;
        browser.close().await;
    }
    world.finish().await;
}

#[tokio::test]
async fn on_a_desk() {
    for theme in THEMES {
        Box::pin(pages(theme, DESKTOP, &format!("desk-{}", theme.name()))).await;
    }
}

#[tokio::test]
async fn on_a_phone() {
    for theme in THEMES {
        Box::pin(pages(theme, PHONE, &format!("phone-{}", theme.name()))).await;
    }
}

#[tokio::test]
async fn before_and_without_anything() {
    for theme in THEMES {
        let node = crate::harness::TestNode::start().await;
        if let Some(browser) = Browser::open(&node, theme, DESKTOP).await {
            browser.goto("/console").await;
            browser.sees("Sign in to this node").await;
            browser.keep(&format!("login-{}", theme.name())).await;
            browser.close().await;
        }
        if let Some(browser) = Browser::signed_in(&node, theme, DESKTOP).await {
            browser.sees("Nothing needs you.").await;
            browser.keep(&format!("empty-needs-{}", theme.name())).await;
            browser.goto("/console/tasks").await;
            browser.sees("No task yet.").await;
            browser.close().await;
        }
        node.finish().await;
    }
}

//! Credentials: sealed at rest, sent to their receiver, and told to nobody else.

use serde_json::json;

use super::{Hook, Reply, hand_in, node, wait};
use crate::harness::{logs, until};

const CREDENTIALS: &str = "cr3dential-that-nobody-else-sees";
const TOKEN: &str = "t0ken-that-nobody-else-sees";

#[tokio::test]
async fn secrets_stand_nowhere_in_clear() {
    let node = node().await;
    let hook = Hook::replying([Reply::Status(500)]).await;
    let user = node.anyone("echo");
    let config = json!({
        "id": "c", "url": hook.url(), "token": TOKEN,
        "authentication": {"scheme": "Bearer", "credentials": CREDENTIALS},
    });
    let task = hand_in(&user, "x", &config).await;
    hook.gets(1).await;
    until("the try is stored", async || super::delivery(&node, &task).await["failures"] == 1).await;
    let answers = [
        node.operator("GET", "/api/v1/deliveries", None).await,
        node.operator("GET", &format!("/api/v1/deliveries/{task}/c"), None).await,
    ];
    let data = node.folder().join("data");
    let mut looked = 0;
    for entry in std::fs::read_dir(&data).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_file() {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        for secret in [CREDENTIALS, TOKEN] {
            assert!(!bytes.windows(secret.len()).any(|part| part == secret.as_bytes()), "{}", path.display());
        }
        looked += 1;
    }
    assert!(looked >= 3, "the database, its log and the keys");
    for text in answers.iter().map(|answer| answer.text().to_owned()).chain([logs::logged()]) {
        assert!(!text.contains(CREDENTIALS) && !text.contains(TOKEN), "{text}");
    }
    node.finish().await;
}

/// They are opened again by the same folder, and by no other key.
#[tokio::test]
async fn they_are_opened_by_the_same_key_only() {
    let node = node().await;
    let hook = Hook::replying([Reply::Status(500)]).await;
    let user = node.anyone("echo");
    let config = json!({
        "id": "c", "url": hook.url(), "authentication": {"scheme": "Basic", "credentials": CREDENTIALS},
    });
    let task = hand_in(&user, "x", &config).await;
    hook.gets(1).await;
    until("the try is stored", async || super::delivery(&node, &task).await["failures"] == 1).await;
    let other_key = baton::config::settings::SecretKey::new([9; 32]);
    let node = node.restart_with(|settings| settings.node.secret_key = Some(other_key)).await;
    wait(&node, std::time::Duration::from_mins(1));
    until("the try is stored", async || super::delivery(&node, &task).await["failures"] == 2).await;
    assert_eq!(hook.got().len(), 1, "nothing is sent without its credentials");
    let node = node.restart_with(|settings| settings.node.secret_key = None).await;
    wait(&node, std::time::Duration::from_mins(1));
    let got = hook.gets(4).await;
    assert!(got.iter().all(|asked| asked.header("authorization") == Some(&format!("Basic {CREDENTIALS}"))));
    node.finish().await;
}

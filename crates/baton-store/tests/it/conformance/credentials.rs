//! What opens a grant beside the tokens that were made with it.

use baton_core::time::Timestamp;
use baton_store::{
    Access, AccessToken, Actor, Audit, AuditQuery, Barred, Error, GrantChange, NewCredential, NewGrant, Verb,
};

use super::Backend;
use super::grants::grant;
use super::script::*;
use super::world::World;

impl<B: Backend> World<B> {
    /// The ids of the open grants of a name.
    async fn named(&self, name: &str, now: i64) -> Vec<String> {
        let found = self.store.find_grants_named(name, at(now)).await.unwrap();
        let mut ids: Vec<_> = found.iter().map(|grant| grant.id.to_string()).collect();
        ids.sort();
        ids
    }

    async fn used_at(&self, id: &str) -> Option<Timestamp> {
        self.store.find_grant(id).await.unwrap().unwrap().last_used_at
    }
}

pub async fn a_name_is_an_id_or_else_a_label<B: Backend>() {
    let world = World::<B>::new().await;
    let labelled = |id: &str, digest, label: &str| NewGrant { label: label.into(), ..grant(id, digest, 0) };
    for new in [labelled("g1", 1, "ci"), labelled("g2", 2, "ada"), labelled("g3", 3, "g2")] {
        world.store.create_grant(new).await.unwrap();
    }
    assert_eq!(world.named("ci", 5).await, ["g1"]);
    assert_eq!(world.used_at("g1").await, Some(at(5)));
    assert_eq!(world.named("g2", 6).await, ["g2"], "an id comes before a label");
    assert_eq!(world.named("nobody", 6).await, [""; 0]);
    assert_eq!(world.named("CI", 6).await, [""; 0]);

    let timed = NewGrant { expires_at: Some(at(100)), ..labelled("g4", 4, "ci") };
    world.store.create_grant(timed).await.unwrap();
    assert_eq!(world.named("ci", 7).await, ["g1", "g4"]);
    assert_eq!(
        (world.used_at("g1").await, world.used_at("g4").await),
        (Some(at(5)), None),
        "neither is meant"
    );
    assert_eq!(world.named("ci", 100).await, ["g1"], "the other is over");

    world.regrant("g1", GrantChange::Pause, 101).await.unwrap();
    assert_eq!(world.named("g1", 102).await, ["g1"], "a paused grant keeps its name");
    assert_eq!(world.used_at("g1").await, Some(at(100)), "but is not used");
    let world = world.reopen().await;
    assert_eq!(world.named("ci", 102).await, ["g1"]);
    world.regrant("g1", GrantChange::Revoke, 103).await.unwrap();
    assert_eq!(world.named("ci", 103).await, [""; 0]);
    assert_eq!(world.named("g1", 103).await, [""; 0]);
    let again = labelled("g5", 5, "ci");
    world.store.create_grant(NewGrant { now: at(104), ..again }).await.unwrap();
    assert_eq!(world.named("ci", 104).await, ["g5"]);
}

pub fn token(digest: u8, now: i64, until: i64) -> AccessToken {
    AccessToken { digest: [digest; 32], verbs: None, created_at: at(now), expires_at: at(until), bound: None }
}

impl<B: Backend> World<B> {
    async fn issue(&self, id: &str, token: AccessToken) -> Result<(), Error> {
        let record = self.store.find_grant(id).await.unwrap();
        let secret = record.and_then(|record| Some(record.grant.credentials.last()?.digest));
        self.issue_for(id, token, secret.unwrap_or_default()).await
    }

    async fn issue_for(&self, id: &str, token: AccessToken, secret: [u8; 32]) -> Result<(), Error> {
        let now = token.created_at;
        let change = GrantChange::Issue { token, secret };
        self.store.change_grant(id, change, &Actor::node(), now).await.map(|_| ())
    }

    /// Until when an access token is good; none where it is not.
    async fn good_until(&self, digest: u8, now: i64) -> Option<i64> {
        let opened = self.store.find_credential(&[digest; 32], at(now)).await.unwrap()?;
        opened.until.map(|until| until.as_millis() - at(0).as_millis())
    }
}

pub async fn access_tokens_end_with_their_grant<B: Backend>() {
    let world = World::<B>::new().await;
    world.store.create_grant(NewGrant { expires_at: Some(at(5_000)), ..grant("g1", 1, 0) }).await.unwrap();
    world.store.create_grant(grant("g2", 2, 0)).await.unwrap();
    let narrow = AccessToken { verbs: Some([Verb::Read].into()), ..token(11, 10, 100) };
    world.issue("g1", narrow.clone()).await.unwrap();
    world.issue("g1", token(12, 10, 9_000)).await.unwrap();
    world.issue("g2", token(21, 10, 9_000)).await.unwrap();
    assert!(matches!(world.issue("g9", token(91, 10, 100)).await, Err(Error::NotFound)));
    let world = world.reopen().await;
    let opened = world.store.find_credential(&[11; 32], at(99)).await.unwrap().unwrap();
    assert_eq!((&*opened.grant.id, opened.verbs.as_deref()), ("g1", Some(&[Verb::Read][..])));
    assert_eq!(opened.grant.access_tokens, [narrow, token(12, 10, 9_000)]);
    assert_eq!((opened.grant.changed_at, &*opened.grant.changed_by), (at(0), "ann"), "nobody changed it");
    assert_eq!(world.good_until(11, 100).await, None);
    assert_eq!(world.good_until(12, 100).await, Some(5_000), "no longer than the grant");
    assert_eq!(world.good_until(12, 5_000).await, None);

    assert_eq!(world.store.tidy_access_tokens(at(99)).await.unwrap(), 0);
    assert_eq!(world.store.tidy_access_tokens(at(100)).await.unwrap(), 1);
    let world = world.reopen().await;
    let record = world.store.find_grant("g1").await.unwrap().unwrap();
    assert_eq!(record.grant.access_tokens, [token(12, 10, 9_000)]);

    world.regrant("g1", GrantChange::Pause, 200).await.unwrap();
    assert!(matches!(world.issue("g1", token(13, 200, 300)).await, Err(Error::Barred(Barred::Paused))));
    assert_eq!(world.good_until(12, 200).await, Some(5_000), "it is kept");
    world.regrant("g1", GrantChange::Resume, 201).await.unwrap();
    let credential = NewCredential { digest: [3; 32], hint: "bt_3".to_owned() };
    world.regrant("g1", GrantChange::Rotate { credential, until: at(1_000) }, 202).await.unwrap();
    assert_eq!(world.good_until(12, 203).await, None, "a rotation ends them");
    world.issue("g1", token(14, 204, 900)).await.unwrap();
    world.issue_for("g1", token(15, 204, 900), [1; 32]).await.unwrap();
    for (secret, now) in [([1; 32], 1_000), ([2; 32], 204), ([14; 32], 204)] {
        let refused = world.issue_for("g1", token(16, now, 2_000), secret).await;
        assert!(matches!(refused, Err(Error::Barred(Barred::Over))), "{now}");
    }
    world.regrant("g1", GrantChange::Revoke, 205).await.unwrap();
    assert_eq!(world.good_until(14, 206).await, None);
    assert!(matches!(world.issue("g1", token(17, 206, 900)).await, Err(Error::Barred(Barred::Over))));
    let world = world.reopen().await;
    for gone in [11, 12, 13, 14, 15, 16] {
        assert_eq!(world.good_until(gone, 206).await, None, "{gone}");
    }
    assert_eq!(world.good_until(21, 206).await, Some(9_000), "another grant's");
    let audit = AuditQuery { action: Some("grant.issue".to_owned()), size: 9, ..AuditQuery::default() };
    assert_eq!(world.store.list_audit(audit).await.unwrap(), [], "they are not told one by one");
}

pub async fn a_grant_has_a_hundred_access_tokens<B: Backend>() {
    let world = World::<B>::new().await;
    world.store.create_grant(grant("g1", 0, 0)).await.unwrap();
    world.issue("g1", token(101, 1, 5_000)).await.unwrap();
    for n in 1..=100 {
        world.issue("g1", token(n, 1 + i64::from(n), 1_000 + i64::from(n))).await.unwrap();
    }
    let world = world.reopen().await;
    assert_eq!(world.good_until(1, 200).await, None, "the one that would have ended first");
    assert_eq!(
        (world.good_until(2, 200).await, world.good_until(101, 200).await),
        (Some(1_002), Some(5_000))
    );
    assert_eq!(world.store.find_grant("g1").await.unwrap().unwrap().grant.access_tokens.len(), 100);
    world.issue("g1", token(102, 1_050, 1_100)).await.unwrap();
    let left = world.store.find_grant("g1").await.unwrap().unwrap().grant.access_tokens.len();
    assert_eq!(left, 52, "what is over makes room first");
}

//! Connections that are lost, and a server that goes away: ridden out, or said.

use std::sync::Arc;
use std::time::Duration;

use baton_core::ident::TaskId;
use baton_store::postgres::{Postgres, Settings};
use baton_store::{Access as _, Elsewhere, Error, OpenError, Tasks};
use tokio::task::JoinSet;

use super::cluster::{Cluster, Own, Schema};
use super::in_own_time;
use super::listener::Listener;
use crate::conformance::grants::grant;
use crate::conformance::script::*;

fn patient(schema: &Schema) -> Settings {
    let mut settings = in_own_time(schema);
    settings.patience = Duration::from_mins(1);
    settings
}

async fn open(settings: Settings) -> (Postgres, Arc<Listener>) {
    let listener = Listener::watching(Vec::new());
    (Postgres::open(settings, Arc::clone(&listener) as _).await.unwrap(), listener)
}

/// Every one of these was answered, and each of them happened once.
async fn happened_once(store: &Postgres, count: u128) {
    for n in 0..count {
        let events = store.events(task(n), 0, 99).await.unwrap();
        assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 2], "task {n}");
    }
    let page = store.list(everything()).await.unwrap();
    assert_eq!(u128::from(page.total), count);
}

/// Connections end before, in, and after commits.
#[tokio::test]
async fn cut_connections_lose_nothing_and_repeat_nothing() {
    let schema = Schema::fresh(Cluster::shared()).await;
    let (store, _) = open(patient(&schema)).await;
    let beside = schema.beside().await;
    let cutting = async {
        for _ in 0..40 {
            schema.cut_by(&beside).await;
            tokio::task::yield_now().await;
        }
    };
    let working = async {
        let mut running = JoinSet::new();
        for n in 0..60 {
            let store = store.clone();
            running.spawn(async move {
                store.apply(create(new(n), at(0))).await.unwrap();
                store.apply(change(task(n), vec![messaged("m", "more")], at(1))).await.unwrap();
            });
        }
        for n in 0..20 {
            let store = store.clone();
            running.spawn(async move {
                store.create_grant(grant(&format!("g{n}"), n, 0)).await.unwrap();
            });
        }
        running.join_all().await;
    };
    tokio::join!(cutting, working);
    happened_once(&store, 60).await;
    assert_eq!(store.list_grants().await.unwrap().len(), 20);
}

#[tokio::test]
async fn a_restart_of_the_server_is_ridden_out() {
    let own = Own::new(&[]);
    let schema = Schema::fresh(&own.cluster).await;
    let (store, listener) = open(patient(&schema)).await;
    for (round, mode) in (0..).zip(["immediate", "fast"]) {
        let mut running = JoinSet::new();
        for n in 20 * round..20 * (round + 1) {
            let store = store.clone();
            running.spawn(async move {
                store.apply(create(new(n), at(0))).await.unwrap();
                store.apply(change(task(n), vec![messaged("m", "more")], at(1))).await.unwrap();
            });
        }
        listener.hears(Elsewhere::Anything).await;
        listener.forget();
        own.cluster.stop(mode);
        let begins = own.cluster.clone();
        let begun = tokio::task::spawn_blocking(move || begins.begin());
        running.join_all().await;
        begun.await.unwrap();
        happened_once(&store, 20 * (round + 1)).await;
        listener.hears(Elsewhere::Anything).await;
    }
}

#[tokio::test]
async fn a_server_that_stays_away_is_said() {
    let own = Own::new(&[]);
    let schema = Schema::fresh(&own.cluster).await;
    let mut settings = in_own_time(&schema);
    settings.patience = Duration::from_millis(300);
    let (store, _) = open(settings.clone()).await;
    store.ping().await.unwrap();
    own.cluster.stop("fast");
    let unavailable = |answer: Result<(), Error>| {
        let Err(Error::Unavailable(why)) = answer else { panic!("{answer:?}") };
        assert!(!why.is_empty());
    };
    unavailable(store.ping().await);
    unavailable(store.apply(create(new(1), at(0))).await.map(drop));
    unavailable(store.find(&baton_store::By::Node, task(1)).await.map(drop));
    unavailable(store.create_grant(grant("g", 1, 0)).await.map(drop));
    unavailable(store.renew("boot", Duration::from_secs(20)).await.map(drop));
    let refused = Postgres::open(settings, Listener::watching(Vec::new())).await.unwrap_err();
    assert!(matches!(refused, OpenError::Database { .. }), "{refused:?}");
    own.cluster.begin();
    store.ping().await.unwrap();
    store.apply(create(new(1), at(0))).await.unwrap();
    assert_eq!(found(&store).await, [task(1)]);
}

async fn found(store: &Postgres) -> Vec<TaskId> {
    store.list(everything()).await.unwrap().tasks.iter().map(|it| it.task.id).collect()
}

#[tokio::test]
async fn addresses_that_cannot_be() {
    for (url, why) in [
        ("sqlite:data", "must begin with postgres://"),
        ("postgres:///db", "names no host"),
        ("postgres://example.com/db?host=/tmp", "both a socket's folder and a host"),
        ("postgres://h/db?sslmode=perhaps", "none of disable, prefer"),
        ("postgres://h/db?news=1", "news"),
        ("postgres://h:port/db", "port"),
    ] {
        let refused = Settings::parse(url).unwrap_err().to_string();
        assert!(refused.contains(why), "{url}: {refused}");
    }
    let settings = Settings::parse("postgres://ann:secret@db.example:6000/baton?sslmode=require").unwrap();
    assert_eq!(settings.place(), "postgres://db.example/baton");
    assert!(!format!("{settings:?}").contains("secret"));
    let missing = Settings::parse("postgres://h/db?sslmode=verify-full&sslrootcert=/nowhere.pem").unwrap();
    let refused = Postgres::open(missing, Listener::watching(Vec::new())).await.unwrap_err().to_string();
    assert!(refused.contains("/nowhere.pem"), "{refused}");
}

//! Connections over TLS, as `sslmode` says.

use std::net::TcpListener;
use std::path::Path;

use baton_store::postgres::{Postgres, Settings};
use baton_store::{OpenError, Tasks as _};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use super::cluster::{Own, Schema, give_to_server};
use super::listener::Listener;

/// An authority's certificate, and what it signed for `name`: certificate and key.
fn certificates(name: &str) -> (String, String, String) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let authority = params.self_signed(&key).unwrap();
    let issuer = Issuer::new(params, key);
    let server = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    let signed = params.signed_by(&server, &issuer).unwrap();
    (authority.pem(), signed.pem(), server.serialize_pem())
}

fn put(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    give_to_server(&path);
    path.display().to_string()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[tokio::test]
async fn each_mode_asks_for_what_it_says() {
    let (authority, certificate, key) = certificates("localhost");
    let (another, _, _) = certificates("localhost");
    let files = tempfile::tempdir().unwrap();
    super::cluster::open_to_others(files.path());
    let cert = put(files.path(), "server.pem", &certificate);
    let key = put(files.path(), "server.key", &key);
    let roots = put(files.path(), "roots.pem", &authority);
    let others = put(files.path(), "others.pem", &another);
    let port = free_port();
    let own = Own::new(&[
        "ssl=on",
        &format!("ssl_cert_file={cert}"),
        &format!("ssl_key_file={key}"),
        "listen_addresses=127.0.0.1",
        &format!("port={port}"),
    ]);
    let schema = Schema::fresh(&own.cluster).await;
    let url = |host: &str, rest: &str| {
        format!("postgres://baton@{host}:{port}/postgres?options=-c%20search_path%3D{}&{rest}", schema.name())
    };
    let open = async |url: String| -> Result<bool, String> {
        let mut settings = Settings::parse(&url).unwrap();
        let listener = Listener::watching(Vec::new());
        settings.patience = std::time::Duration::from_millis(500);
        let store = Postgres::open(settings, listener).await.map_err(|why: OpenError| why.to_string())?;
        store.ping().await.unwrap();
        let sees = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
            WHERE client_port > 0 AND pid <> pg_backend_pid() AND application_name = 'baton'";
        let encrypted = schema.beside().await.query_one(sees, &[]).await.unwrap().get(0);
        store.close().await;
        Ok(encrypted)
    };
    let (ours, theirs) = (format!("sslrootcert={roots}"), format!("sslrootcert={others}"));
    assert_eq!(open(url("127.0.0.1", "sslmode=disable")).await, Ok(false));
    assert_eq!(open(url("127.0.0.1", "")).await, Ok(true));
    assert_eq!(open(url("127.0.0.1", "sslmode=require")).await, Ok(true));
    assert_eq!(open(url("127.0.0.1", &format!("sslmode=verify-ca&{ours}"))).await, Ok(true));
    assert_eq!(open(url("localhost", &format!("sslmode=verify-full&{ours}"))).await, Ok(true));
    for refused in [
        url("127.0.0.1", &format!("sslmode=verify-full&{ours}")),
        url("127.0.0.1", &format!("sslmode=verify-ca&{theirs}")),
        url("127.0.0.1", &format!("sslmode=require&{theirs}")),
        url("localhost", &format!("sslmode=verify-full&{theirs}")),
        url("localhost", "sslmode=verify-full"),
    ] {
        let why = open(refused.clone()).await.unwrap_err();
        assert!(why.contains("certificate"), "{refused}: {why}");
    }
}

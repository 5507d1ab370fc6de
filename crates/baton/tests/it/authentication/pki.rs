//! Certificates of a test: real ones, made on the spot.

use std::path::PathBuf;

use baton::config::settings::{Listen, Settings};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    SanType,
};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::PrivateKeyDer;
use tempfile::TempDir;
use time::OffsetDateTime;

use crate::harness::tls;

/// An authority, and a folder for the files of its certificates.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: TempDir,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), issuer.pem()).unwrap();
        Self { issuer, folder }
    }

    pub fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// A listener of TLS on a free port, with a certificate of this authority.
    pub fn listener(&self) -> Listen {
        let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let file = |name: &str, text: String| {
            let path = self.folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        Listen::Https {
            at: ([127, 0, 0, 1], 0).into(),
            certificate: file("server.pem", certificate.pem()),
            key: file("server.key", key.serialize_pem()),
        }
    }

    /// Lets a node listen by TLS too, as its second URL, and take this authority's certificates.
    pub fn listen(&self, settings: &mut Settings) {
        settings.node.dev = false;
        settings.node.listen.push(self.listener());
        settings.auth.client_ca = vec![self.file()];
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.der().clone()).unwrap();
        roots
    }

    /// A client that shows no certificate.
    pub fn anyone(&self) -> ClientConfig {
        tls(self.roots()).with_no_client_auth()
    }

    /// A client with a certificate of this authority for these names.
    pub fn client(&self, names: &[&str]) -> ClientConfig {
        self.client_until(names, None)
    }

    /// The same, good until that second.
    pub fn client_until(&self, names: &[&str], until: Option<i64>) -> ClientConfig {
        let (chain, key) = self.leaf(names, until);
        tls(self.roots()).with_client_auth_cert(chain, key).unwrap()
    }

    /// A client that trusts this authority with a certificate of another one, whatever is asked for.
    pub fn client_of(&self, other: &Self, names: &[&str]) -> ClientConfig {
        let (chain, key) = other.leaf(names, None);
        let mut config = self.anyone();
        let signer = rustls::crypto::ring::sign::any_supported_type(&key).unwrap();
        config.client_auth_cert_resolver =
            std::sync::Arc::new(Always(rustls::sign::CertifiedKey::new(chain, signer).into()));
        config
    }

    fn leaf(
        &self,
        names: &[&str],
        until: Option<i64>,
    ) -> (Vec<rustls_pki_types::CertificateDer<'static>>, PrivateKeyDer<'static>) {
        let mut params = CertificateParams::default();
        params.subject_alt_names = names.iter().map(|name| san(name)).collect();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        // What stands there counts for nothing.
        params.distinguished_name.push(DnType::CommonName, "ci.example.com");
        if let Some(until) = until {
            params.not_after = OffsetDateTime::from_unix_timestamp(until).unwrap();
        }
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (vec![certificate.der().clone()], PrivateKeyDer::Pkcs8(key.serialize_der().into()))
    }
}

fn san(name: &str) -> SanType {
    if name.contains(':') {
        SanType::URI(name.try_into().unwrap())
    } else {
        SanType::DnsName(name.try_into().unwrap())
    }
}

/// Shows its certificate to whoever asks for any.
#[derive(Debug)]
struct Always(std::sync::Arc<rustls::sign::CertifiedKey>);

impl rustls::client::ResolvesClientCert for Always {
    fn resolve(
        &self,
        _: &[&[u8]],
        _: &[rustls::SignatureScheme],
    ) -> Option<std::sync::Arc<rustls::sign::CertifiedKey>> {
        Some(std::sync::Arc::clone(&self.0))
    }

    fn has_certs(&self) -> bool {
        true
    }
}

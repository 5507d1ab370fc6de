//! Who is on the other end of an encrypted connection to the database, as `sslmode` says.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_postgres::Socket;
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres_rustls::MakeRustlsConnect;

/// Stands for the name of a server that is called through a socket of this machine, and is never used.
const NO_NAME: &str = "socket.invalid";

/// What encrypts a connection.
#[derive(Clone)]
pub struct Connector(MakeRustlsConnect);

impl MakeTlsConnect<Socket> for Connector {
    type Stream = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream;
    type TlsConnect = <MakeRustlsConnect as MakeTlsConnect<Socket>>::TlsConnect;
    type Error = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Error;

    /// This is asked for every connection, also for one that is not to be encrypted.
    fn make_tls_connect(&mut self, name: &str) -> Result<Self::TlsConnect, Self::Error> {
        let name = if name.is_empty() { NO_NAME } else { name };
        MakeTlsConnect::<Socket>::make_tls_connect(&mut self.0, name)
    }
}

/// What a server has to prove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Nothing: what is sent is hidden from who listens, not from who stands in between.
    Anybody,
    /// That an authority vouches for it; of which, where that is not one of the public ones.
    Vouched(Option<PathBuf>),
    /// The same, by the name that it was called.
    Named(Option<PathBuf>),
}

impl Trust {
    /// Reads a value of `sslmode`.
    pub fn parse(mode: &str, roots: Option<PathBuf>) -> Result<(SslMode, Self), String> {
        match mode {
            "disable" => Ok((SslMode::Disable, Self::Anybody)),
            "prefer" => Ok((SslMode::Prefer, Self::Anybody)),
            // As everywhere: who names an authority wants to hear its word.
            "require" if roots.is_some() => Ok((SslMode::Require, Self::Vouched(roots))),
            "require" => Ok((SslMode::Require, Self::Anybody)),
            "verify-ca" => Ok((SslMode::Require, Self::Vouched(roots))),
            "verify-full" => Ok((SslMode::Require, Self::Named(roots))),
            other => Err(format!(
                "sslmode '{other}' is none of disable, prefer, require, verify-ca and verify-full"
            )),
        }
    }

    /// What connects to a server that proves this.
    pub fn connector(&self) -> Result<Connector, String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|why| why.to_string())?;
        let config = match self {
            Self::Named(roots) => builder.with_root_certificates(authorities(roots.as_deref())?),
            Self::Anybody | Self::Vouched(_) => {
                let chain = match self {
                    Self::Vouched(roots) => Some(chain(authorities(roots.as_deref())?, &provider)?),
                    Self::Anybody | Self::Named(_) => None,
                };
                builder.dangerous().with_custom_certificate_verifier(Arc::new(Nameless { chain, provider }))
            }
        };
        Ok(Connector(MakeRustlsConnect::new(config.with_no_client_auth())))
    }
}

fn authorities(file: Option<&Path>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let Some(file) = file else {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        return Ok(roots);
    };
    let failed = |why: &dyn std::fmt::Display| format!("sslrootcert {}: {why}", file.display());
    for certificate in CertificateDer::pem_file_iter(file).map_err(|why| failed(&why))? {
        roots.add(certificate.map_err(|why| failed(&why))?).map_err(|why| failed(&why))?;
    }
    if roots.is_empty() { Err(failed(&"it holds no certificate")) } else { Ok(roots) }
}

fn chain(roots: RootCertStore, provider: &Arc<CryptoProvider>) -> Result<Arc<WebPkiServerVerifier>, String> {
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .build()
        .map_err(|why| why.to_string())
}

/// Does not ask whether the certificate is for the name that was called, and without a chain not whose it is.
#[derive(Debug)]
struct Nameless {
    chain: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Nameless {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        match chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The chain is looked at first: where only the name is another's, it holds.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            answer => answer,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let schemes = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, schemes)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let schemes = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, schemes)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

//! TLS over TCP.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use rustls::crypto::CryptoProvider;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tracing::debug;

use super::serve::Served;
use super::{PeerInfo, tcp};
use crate::access::{Certificate, Shown};

/// How long a client may take for its handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Handshakes that are done and not yet taken.
const DONE: usize = 64;

/// Accepts connections; a slow handshake delays nobody else.
#[derive(Debug)]
pub struct TlsListener {
    local: SocketAddr,
    done: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    accepting: tokio::task::JoinHandle<()>,
}

impl TlsListener {
    /// Binds with the certificate chain and the key of two PEM files. Clients are asked for a certificate where there are
    /// authorities for them: who shows none is let in, who shows one that does not verify is not.
    pub async fn bind(
        at: SocketAddr,
        (certificate, key): (&Path, &Path),
        client_ca: &[PathBuf],
    ) -> io::Result<Self> {
        let acceptor = TlsAcceptor::from(Arc::new(config(certificate, key, client_ca)?));
        let listener = TcpListener::bind(at).await?;
        let local = listener.local_addr()?;
        let (sender, done) = mpsc::channel(DONE);
        let accepting = tokio::spawn(accept(listener, acceptor, sender));
        Ok(Self { local, done, accepting })
    }
}

impl Drop for TlsListener {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    done: mpsc::Sender<(TlsStream<TcpStream>, SocketAddr)>,
) {
    let mut handshakes = tokio::task::JoinSet::new();
    let mut listener = listener;
    loop {
        let (stream, remote) = Listener::accept(&mut listener).await;
        let _ = stream.set_nodelay(true);
        while handshakes.try_join_next().is_some() {}
        let (acceptor, done) = (acceptor.clone(), done.clone());
        handshakes.spawn(async move {
            match tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
                Ok(Ok(stream)) => drop(done.send((stream, remote)).await),
                Ok(Err(why)) => debug!(error = %why, "a TLS handshake failed"),
                Err(_) => debug!("a TLS handshake took too long"),
            }
        });
    }
}

fn config(certificate: &Path, key: &Path, client_ca: &[PathBuf]) -> io::Result<ServerConfig> {
    let chain = certificates(certificate)?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(|why| in_file(key, &why))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_client_cert_verifier(clients(client_ca, provider)?)
        .with_single_cert(chain, key)
        .map_err(io::Error::other)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// How clients are asked for certificates, and what is made of them.
fn clients(ca: &[PathBuf], provider: Arc<CryptoProvider>) -> io::Result<Arc<dyn ClientCertVerifier>> {
    if ca.is_empty() {
        return Ok(WebPkiClientVerifier::no_client_auth());
    }
    let mut roots = RootCertStore::empty();
    for file in ca {
        let found = certificates(file)?;
        let wrong =
            |why: &str| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {why}", file.display()));
        if found.is_empty() {
            return Err(wrong("there is no certificate in it"));
        }
        for certificate in found {
            roots.add(certificate).map_err(|why| wrong(&why.to_string()))?;
        }
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    verifier.allow_unauthenticated().build().map_err(io::Error::other)
}

fn certificates(file: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let read =
        CertificateDer::pem_file_iter(file).and_then(std::iter::Iterator::collect::<Result<Vec<_>, _>>);
    read.map_err(|why| in_file(file, &why))
}

fn in_file(path: &Path, why: &rustls_pki_types::pem::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{}: {why}", path.display()))
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.done.recv().await {
            Some(accepted) => accepted,
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.local)
    }
}

impl TlsListener {
    pub const fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.local)
    }
}

impl Served for TlsListener {
    fn peer(io: &Self::Io, remote: &Self::Addr) -> PeerInfo {
        let (stream, session) = io.get_ref();
        let certificate = session.peer_certificates().and_then(|chain| Certificate::read(chain.first()?));
        tcp(*remote, stream.local_addr().ok(), certificate.map(Shown::Certificate))
    }
}

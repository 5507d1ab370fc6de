//! What a client's certificate says of it: its subject alternative names, and until when.
//!
//! Whether it is to be believed is decided in the handshake. The common name is never looked at (RFC 9525 §2).

use baton_core::time::Timestamp;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::Names;

/// Bytes of a name that counts: a SPIFFE id has no more.
const NAME_BYTES: usize = 2_048;

/// A certificate that was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    pub names: Names,
    /// From then on it shows nothing any more.
    pub until: Timestamp,
}

impl Certificate {
    /// Reads what a handshake verified. None where it cannot be read: it shows nothing then.
    pub fn read(der: &[u8]) -> Option<Self> {
        let (rest, certificate) = X509Certificate::from_der(der).ok()?;
        let mut names = Names::default();
        let alternatives = certificate.subject_alternative_name().ok()?;
        for name in alternatives.into_iter().flat_map(|alternatives| &alternatives.value.general_names) {
            match name {
                GeneralName::DNSName(name) if !name.contains('*') => {
                    names.dns.push(name.to_ascii_lowercase());
                }
                GeneralName::URI(uri) => names.uris.push((*uri).to_owned()),
                // A name that cannot be read may be the second URI of a SPIFFE certificate, which has one.
                GeneralName::Invalid(..) => return None,
                _ => {}
            }
        }
        let fits = |name: &String| (1..=NAME_BYTES).contains(&name.len());
        let all = rest.is_empty() && names.dns.iter().chain(&names.uris).all(fits);
        let until = certificate.validity().not_after.timestamp().saturating_mul(1_000);
        // The last second is part of it (RFC 5280 §4.1.2.5).
        all.then(|| Self { names, until: Timestamp::from_millis(until.saturating_add(1_000)) })
    }
}

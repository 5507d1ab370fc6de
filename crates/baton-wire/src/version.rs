//! Which version of A2A a request is written in (§3.6).

use std::fmt;

use crate::fault::{Fault, Kind, clip};
use crate::query;

/// A version of A2A: major and minor; the patch number does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    V0_3,
    V1_0,
}

/// The name of the header and of the query parameter.
pub const A2A_VERSION: &str = "a2a-version";

/// What this crate can read and write.
pub const SERVED: [Version; 2] = [Version::V1_0, Version::V0_3];

impl Version {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V0_3 => "0.3",
            Self::V1_0 => "1.0",
        }
    }

    /// Reads `1.0` or `1.0.3`; the empty text is 0.3 (§3.6.2).
    pub fn parse(text: &str) -> Option<Self> {
        let (major_minor, patch) = match text.match_indices('.').nth(1) {
            Some((at, _)) => (&text[..at], &text[at + 1..]),
            None => (text, "0"),
        };
        if patch.is_empty() || !patch.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        match major_minor {
            "" | "0.3" => Some(Self::V0_3),
            "1.0" => Some(Self::V1_0),
            _ => None,
        }
    }

    /// The version that a request asks for by its `A2A-Version` headers or query parameters, `None` where it has
    /// neither: then its method or its path says it. Several values must agree, and the version must be one of
    /// [`SERVED`], otherwise it is [`Kind::VersionNotSupported`].
    pub fn asked<'a>(
        headers: impl IntoIterator<Item = &'a [u8]>,
        query: Option<&str>,
    ) -> Result<Option<Self>, Fault> {
        let mut asked = None;
        for header in headers {
            let text = std::str::from_utf8(header).map_err(|_| not_supported(""))?;
            agree(&mut asked, text)?;
        }
        let pairs = query.into_iter().flat_map(query::pairs);
        for (_, value) in pairs.filter(|(name, _)| name.eq_ignore_ascii_case(A2A_VERSION)) {
            agree(&mut asked, &query::form_decode(value).ok_or_else(|| not_supported(value))?)?;
        }
        Ok(asked)
    }
}

/// Adds the values of one header, which may be a list, to what was asked before.
fn agree(asked: &mut Option<Version>, text: &str) -> Result<(), Fault> {
    let mut values = text.split(',').map(str::trim).filter(|value| !value.is_empty()).peekable();
    let empty = values.peek().is_none().then_some("");
    for value in empty.into_iter().chain(values) {
        let version = Version::parse(value).ok_or_else(|| not_supported(value))?;
        if asked.is_some_and(|before| before != version) {
            return Err(not_supported(text).with_message("The request asks for two A2A versions at once"));
        }
        *asked = Some(version);
    }
    Ok(())
}

/// The fault that says which version was asked for and which there are.
fn not_supported(asked: &str) -> Fault {
    let served = SERVED.map(Version::as_str).join(", ");
    Fault::new(Kind::VersionNotSupported)
        .with_message(format!("A2A version {:?} is not supported; this agent speaks {served}", clip(asked)))
        .with_metadata("supportedVersions", served)
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

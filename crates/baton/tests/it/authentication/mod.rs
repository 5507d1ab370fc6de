//! Who calls, by everything that a caller can be known by.

mod certificates;
mod ending;
mod issuer;
mod jwt;
mod oauth;
mod oidc;
mod pki;
mod provider;
mod users;

pub use issuer::{Issuer, token};
pub use provider::Provider;

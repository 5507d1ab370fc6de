//! Who calls, by everything that a caller can be known by.

pub mod asking;
mod certificates;
mod codes;
mod documents;
mod ending;
mod issuer;
mod jwt;
mod oauth;
mod oidc;
mod pki;
mod provider;
mod registrations;
mod users;

pub use issuer::{Issuer, token};
pub use provider::Provider;

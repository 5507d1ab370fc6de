//! What grants are called, for whoever reads of their tasks and deeds.

use std::collections::HashMap;

use baton_store::LOCAL;

use super::super::admin::grants;
use super::text;
use crate::service::{Error, Service};

/// The labels of grants by id.
pub struct Names(HashMap<String, String>);

impl Names {
    pub async fn load(service: &Service) -> Result<Self, Error> {
        let grants = grants::all(service).await?;
        Ok(Self(grants.into_iter().map(|grant| (grant.id, grant.label)).collect()))
    }

    /// What a grant is called.
    pub fn of(&self, grant: &str) -> String {
        let unknown = || if grant == LOCAL { "local".to_owned() } else { text::short(grant, 8) };
        self.0.get(grant).cloned().unwrap_or_else(unknown)
    }
}

//! The configuration in force, for the operator.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use super::super::Doors;
use super::{Operator, answer};
use crate::service::Service;
use crate::service::configuration::Section;

#[derive(Serialize, ToSchema)]
pub struct Settings {
    #[schema(value_type = Vec<Section>)]
    pub sections: Arc<Vec<Section>>,
}

pub fn load(service: &Service) -> Settings {
    Settings { sections: service.configuration() }
}

/// The configuration in force, without secrets.
#[utoipa::path(
    get,
    path = "/api/v1/settings",
    responses((status = 200, description = "By section", body = Settings))
)]
pub async fn show(State(doors): State<Arc<Doors>>, _: Operator) -> Response {
    answer(Ok(load(&doors.service)), None)
}

//! The configuration in force, for the operator.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::request::Parts;
use serde::Serialize;

use super::super::Doors;
use super::answer;
use crate::service::Service;
use crate::service::configuration::Section;

#[derive(Serialize)]
pub struct Settings {
    pub sections: Arc<Vec<Section>>,
}

pub fn load(service: &Service) -> Settings {
    Settings { sections: service.configuration() }
}

pub async fn show(State(doors): State<Arc<Doors>>, request: Parts) -> Response {
    answer(doors.gate.operator(&request).map(|_| load(&doors.service)), None)
}

//! The console, `/console`: what an operator sees of a node in a browser, and does to it.
//!
//! Pages are HTML that is written here and complete without a script; the one script adds keys, acting in place and live
//! updates. A page asks the same functions as the admin API and never the store.

mod act;
mod agents;
mod assets;
mod audit;
mod clients;
mod consent;
mod control;
mod deliveries;
mod form;
mod grants;
mod guard;
mod inbox;
mod layout;
mod live;
mod login;
mod names;
mod oidc;
mod requests;
mod session;
mod settings;
mod task;
mod tasks;
mod text;
mod words;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use super::Doors;
use crate::service::sign_in;
pub use consent::begin;
pub use guard::harden;
pub use session::Sessions;

/// Where all of it is.
pub const AT: &str = "/console";

pub fn router() -> Router<Arc<Doors>> {
    let pages = Router::new()
        .route("/console", get(inbox::show))
        .route("/console/", get(inbox::show))
        .route("/console/tasks", get(tasks::show))
        .route("/console/attend-all", post(act::attend_all))
        .route("/console/tasks/{id}", get(task::show))
        .route("/console/tasks/{id}/artifacts/{artifact}/{part}", get(task::file))
        .route("/console/tasks/{id}/messages/{message}/{part}", get(task::attachment))
        .route("/console/tasks/{id}/answer", post(act::answer))
        .route("/console/tasks/{id}/cancel", post(act::cancel))
        .route("/console/tasks/{id}/retry", post(act::retry))
        .route("/console/tasks/{id}/attend", post(act::attend))
        .route("/console/agents", get(agents::show_all))
        .route("/console/agents/{name}", get(agents::show))
        .route("/console/grants", get(grants::show_all))
        .route("/console/grants/new", get(grants::ask).post(grants::make))
        .route("/console/grants/{id}", get(grants::show))
        .route("/console/grants/{id}/pause", post(grants::pause))
        .route("/console/grants/{id}/resume", post(grants::resume))
        .route("/console/grants/{id}/rotate", post(grants::rotate))
        .route("/console/grants/{id}/revoke", post(grants::revoke))
        .route("/console/clients/{id}/sign-out", post(clients::sign_out))
        .route("/console/authorize", get(consent::show).post(consent::decide))
        .route("/console/requests", get(requests::show_all))
        .route("/console/requests/{id}", get(requests::show))
        .route("/console/requests/{id}/look", post(requests::look))
        .route("/console/requests/{id}/approve", post(requests::approve))
        .route("/console/requests/{id}/deny", post(requests::deny))
        .route("/console/deliveries", get(deliveries::show_all))
        .route("/console/deliveries/{task}/{id}", get(deliveries::show))
        .route("/console/deliveries/{task}/{id}/replay", post(act::replay))
        .route("/console/audit", get(audit::show))
        .route("/console/audit/verify", post(audit::verify))
        .route("/console/settings", get(settings::show))
        .route("/console/control/{what}", post(control::node))
        .route("/console/agents/{name}/{what}", post(control::agent))
        .route("/console/grants/{id}/hold/{what}", post(control::grant))
        .route("/console/login", get(login::show).post(login::enter))
        .route("/console/login/oidc", post(oidc::begin))
        .route(sign_in::CALLBACK, get(oidc::come_back))
        .route("/console/logout", post(login::leave))
        .route("/console/live", get(live::follow))
        .route("/console/assets/{name}", get(assets::serve))
        .route("/console/{*rest}", get(layout::nowhere));
    pages.layer(axum::middleware::map_response(guard::harden))
}

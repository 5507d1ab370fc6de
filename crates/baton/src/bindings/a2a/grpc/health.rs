//! `grpc.health.v1` and the reflection services: what `/healthz` and the definitions are to who speaks gRPC. Both are
//! open: they say nothing that is not published.

use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use baton_wire::grpc::generated::DESCRIPTORS;
use baton_wire::grpc::{v0_3, v1};
use futures_util::{Stream, StreamExt as _, stream};
use tokio::sync::watch;
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};
use tonic_reflection::server::Builder;

use crate::bindings::{Doors, health};
use crate::service::Service;

/// Services that can be asked about; the empty name is the node.
const KNOWN: [&str; 3] = ["", v1::SERVICE, v0_3::SERVICE];

pub fn router(doors: &Doors) -> Router<Arc<Doors>> {
    let health = HealthServer::new(Asked(doors.service.clone()));
    Router::new().route_service("/grpc.health.v1.Health/{method}", health)
}

/// What the paths of reflection begin with.
pub const REFLECTION: &str = "/grpc.reflection.";

/// The definitions of everything that is served, by name.
pub fn reflection() -> Router<Arc<Doors>> {
    let reflection = || {
        Builder::configure()
            .register_encoded_file_descriptor_set(DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let current = reflection().build_v1().expect("the checked-in descriptors are whole");
    let older = reflection().build_v1alpha().expect("the checked-in descriptors are whole");
    Router::new()
        .route_service("/grpc.reflection.v1.ServerReflection/{method}", current)
        .route_service("/grpc.reflection.v1alpha.ServerReflection/{method}", older)
}

/// Answers from what the node is now; there is nothing to keep up to date.
struct Asked(Service);

impl Asked {
    async fn now(&self, name: &str) -> ServingStatus {
        match (KNOWN.contains(&name), health::is_ready(&self.0).await) {
            (false, _) => ServingStatus::ServiceUnknown,
            (true, Ok(())) => ServingStatus::Serving,
            (true, Err(_)) => ServingStatus::NotServing,
        }
    }
}

fn said(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse { status: status.into() }
}

#[tonic::async_trait]
impl Health for Asked {
    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        match self.now(&request.get_ref().service).await {
            ServingStatus::ServiceUnknown => Err(Status::not_found("There is no such service here")),
            status => Ok(Response::new(said(status))),
        }
    }

    type WatchStream = Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>;

    /// What is, and again whenever that changes; the end of it is that the node stops.
    async fn watch(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let (service, name) = (self.0.clone(), request.into_inner().service);
        let alarm = service.alarm.subscribe();
        let watched = Watched { asked: Asked(service), name, alarm, said: None };
        let changes = stream::unfold(watched, Watched::next);
        Ok(Response::new(Box::pin(changes.map(|status| Ok(said(status))))))
    }
}

/// Who is told of changes, and what was said last.
struct Watched {
    asked: Asked,
    name: String,
    alarm: watch::Receiver<u64>,
    said: Option<ServingStatus>,
}

impl Watched {
    async fn next(mut self) -> Option<(ServingStatus, Self)> {
        loop {
            if self.said.is_some() {
                if self.asked.0.draining.is_cancelled() || self.said == Some(ServingStatus::ServiceUnknown) {
                    return None;
                }
                self.alarm.changed().await.ok()?;
            }
            let now = self.asked.now(&self.name).await;
            if self.said.replace(now) != Some(now) {
                return Some((now, self));
            }
        }
    }
}

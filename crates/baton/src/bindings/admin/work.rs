//! Workers over HTTP: the tools of `/mcp` for programs that speak no MCP. The caller is a grant with the verb `work`, not the
//! operator.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::Request;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::super::media::is_json;
use super::super::work::{
    self, Ask, Claim, ClaimNext, Claimed, Complete, Fail, Give, Heartbeat, Progress, Standing, Words,
};
use super::super::{Doors, body};
use super::{answer, not_json};
use crate::access::{Caller, Door};
use crate::service::{Error, Service};

/// Who calls, and what it says. Nothing is read of somebody's request who may not call.
async fn heard<T: DeserializeOwned>(doors: &Doors, request: Request<Body>) -> Result<(Caller, T), Error> {
    let (head, body) = request.into_parts();
    let caller = doors.gate.caller(Door::Work, &head).await?;
    let most = caller.body_limit(doors.service.limits().body);
    let bytes = body::read(body, most).await.map_err(|fault| Error::invalid("body", fault.message()))?;
    if !is_json(&head.headers) {
        return Err(not_json());
    }
    // An array would be read as the members in their order.
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return Err(Error::invalid("body", "is no JSON object"));
    }
    Ok((caller, body::parse(&bytes)?))
}

async fn done<T, A, F>(
    doors: Arc<Doors>,
    request: Request<Body>,
    work: impl FnOnce(Service, Caller, T) -> F,
) -> Response
where
    T: DeserializeOwned,
    A: Serialize,
    F: Future<Output = Result<A, Error>>,
{
    let result = async {
        let (caller, said) = heard(&doors, request).await?;
        work(doors.service.clone(), caller, said).await
    };
    answer(result.await, None)
}

async fn report<T>(
    doors: Arc<Doors>,
    request: Request<Body>,
    words: impl FnOnce(T) -> Result<Words, Error>,
) -> Response
where
    T: DeserializeOwned,
{
    done(doors, request, |service, caller, said| async move {
        let words = words(said)?;
        work::report(&service, &caller, words).await
    })
    .await
}

/// Claims one task by its id.
#[utoipa::path(
    post,
    path = "/api/v1/work/claim",
    request_body = Claim,
    responses((status = 200, description = "The task, or why it is held back", body = Claimed))
)]
pub async fn claim(State(doors): State<Arc<Doors>>, request: Request<Body>) -> Response {
    done(doors, request, |service, caller, said| async move { work::claim(&service, &caller, said).await })
        .await
}

/// Claims the tasks whose turn it is.
#[utoipa::path(
    post,
    path = "/api/v1/work/claim_next",
    request_body = ClaimNext,
    responses((status = 200, description = "None, one or more tasks", body = Claimed))
)]
pub async fn claim_next(State(doors): State<Arc<Doors>>, request: Request<Body>) -> Response {
    done(
        doors,
        request,
        |service, caller, said| async move { work::claim_next(&service, &caller, said).await },
    )
    .await
}

/// Says that the worker is alive.
#[utoipa::path(
    post,
    path = "/api/v1/work/heartbeat",
    request_body = Heartbeat,
    responses((status = 200, description = "How the task stands", body = Standing))
)]
pub async fn heartbeat(State(doors): State<Arc<Doors>>, request: Request<Body>) -> Response {
    report(doors, request, |said: Heartbeat| said.try_into()).await
}

/// Says how it goes, or gives a piece of the result.
#[utoipa::path(
    post,
    path = "/api/v1/work/progress",
    request_body = Progress,
    responses((status = 200, description = "How the task stands", body = Standing))
)]
pub async fn progress(State(doors): State<Arc<Doors>>, request: Request<Body>) -> Response {
    report(doors, request, |said: Progress| said.try_into()).await
}

/// Asks the task's owner.
#[utoipa::path(
    post,
    path = "/api/v1/work/ask",
    request_body = Ask,
    responses((status = 200, description = "How the task stands", body = Standing))
)]
pub async fn ask(State(doors): State<Arc<Doors>>, request: Request<Body>) -> Response {
    report(doors, request, |said: Ask| said.try_into()).await
}

/// Ends a task with its result.
#[utoipa::path(
    post,
    path = "/api/v1/work/complete",
    request_body = Complete,
    responses((status = 200, description = "How the task stands", body = Standing))
)]
pub async fn complete(State(doors): State<Arc<Doors>>, request: Request<Body>) -> Response {
    report(doors, request, |said: Complete| said.try_into()).await
}

/// Ends an attempt without a result.
#[utoipa::path(
    post,
    path = "/api/v1/work/fail",
    request_body = Fail,
    responses((status = 200, description = "How the task stands", body = Standing))
)]
pub async fn fail(State(doors): State<Arc<Doors>>, request: Request<Body>) -> Response {
    report(doors, request, |said: Fail| said.try_into()).await
}

/// Gives a task back unharmed, for another worker.
#[utoipa::path(
    post,
    path = "/api/v1/work/release",
    request_body = Give,
    responses((status = 200, description = "How the task stands", body = Standing))
)]
pub async fn release(State(doors): State<Arc<Doors>>, request: Request<Body>) -> Response {
    report(doors, request, |said: Give| Ok(said.back())).await
}

/// Refuses a task for good.
#[utoipa::path(
    post,
    path = "/api/v1/work/reject",
    request_body = Give,
    responses((status = 200, description = "How the task stands", body = Standing))
)]
pub async fn reject(State(doors): State<Arc<Doors>>, request: Request<Body>) -> Response {
    report(doors, request, |said: Give| Ok(said.up())).await
}

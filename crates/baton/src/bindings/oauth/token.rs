//! The token endpoint (RFC 6749 §3.2): what a client brings in, a short-lived access token out. And the one where tokens are
//! given back (RFC 7009).

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use baton_store::{Approval, Grant};
use baton_wire::fault::{Fault, Kind};
use http::header::{CACHE_CONTROL, CONTENT_LENGTH};
use http::request::Parts;
use http::{HeaderValue, Request, StatusCode};
use serde::Serialize;

use super::super::media::Media;
use super::super::{Doors, fault};
use super::form::Form;
use super::reply::{Stop, bad, client, grant, respond, stopped};
use crate::access::RefreshToken;
use crate::service::Error;
use crate::service::oauth::clients::is_document;
use crate::service::oauth::{Asked, BroughtCode, BroughtRefresh, Issued, Refused, spell};

/// RFC 6749 §5.1.
#[derive(Serialize)]
struct Granted<'a> {
    access_token: &'a str,
    token_type: &'static str,
    expires_in: u64,
    scope: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<&'a str>,
}

pub async fn exchange(State(doors): State<Arc<Doors>>, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    let ways = &doors.service.site.ways;
    if ways.client_credentials.is_none() && ways.authorization_code.is_none() {
        return nowhere();
    }
    match run(&doors, &parts, body).await {
        Ok(issued) => granted(&issued),
        Err(why) => stopped(why),
    }
}

async fn run(doors: &Doors, parts: &Parts, body: Body) -> Result<Issued, Stop> {
    let form = Form::read(&parts.headers, body).await?;
    let ways = &doors.service.site.ways;
    match form.get("grant_type") {
        Some("client_credentials") if ways.client_credentials.is_some() => {
            credentials(doors, parts, &form).await
        }
        Some("authorization_code") if ways.authorization_code.is_some() => code(doors, parts, &form).await,
        Some("refresh_token") if ways.authorization_code.is_some() => refresh(doors, parts, &form).await,
        Some(_) => {
            Err(bad("unsupported_grant_type", "The node's metadata says which grant_type is taken here")
                .into())
        }
        None => Err(bad("invalid_request", "The grant_type is missing").into()),
    }
}

/// Whoever holds a grant is a client.
async fn credentials(doors: &Doors, parts: &Parts, form: &Form) -> Result<Issued, Stop> {
    let Some(said) = form.client(&parts.headers)? else { return Err(failed(doors, parts, client().into())) };
    let service = &doors.service;
    let asked = Asked { client: &said.id, secret: &said.secret };
    let known = match service.load_client(asked).await {
        Ok(known) => known,
        Err(Refused::Client) => return Err(failed(doors, parts, client().into())),
        Err(why) => return Err(why.into()),
    };
    admit(doors, parts, &known.grant)?;
    let lifetime = service.site.ways.client_credentials.unwrap_or_default();
    match service.issue(&known, form.get("scope"), lifetime).await {
        Ok(issued) => Ok(issued),
        Err(Refused::Client) => Err(failed(doors, parts, client().into())),
        Err(why) => Err(why.into()),
    }
}

/// By the code that an operator's approval gave.
async fn code(doors: &Doors, parts: &Parts, form: &Form) -> Result<Issued, Stop> {
    let id = form.public_client(&parts.headers)?;
    let brought = BroughtCode {
        code: form.need("code")?,
        client: &id,
        redirect: form.get("redirect_uri"),
        verifier: form.need("code_verifier")?,
        resource: form.get("resource"),
    };
    let found = doors.service.find_coded(brought.code).await?;
    let (approval, known) = approved(doors, parts, (&id, found)).await?;
    let redeemed = doors.service.redeem_code((&approval, &known), brought, doors.gate.origin_of(parts)).await;
    given(doors, parts, redeemed)
}

/// By the refresh token that came with the last.
async fn refresh(doors: &Doors, parts: &Parts, form: &Form) -> Result<Issued, Stop> {
    let id = form.public_client(&parts.headers)?;
    let token = RefreshToken::parse(form.need("refresh_token")?);
    let found = match &token {
        Some(token) => doors.service.find_refreshed(token).await?,
        None => None,
    };
    let (approval, known) = approved(doors, parts, (&id, found)).await?;
    let token = token.as_ref().ok_or_else(grant)?;
    let (scope, resource) = (form.get("scope"), form.get("resource"));
    let brought = BroughtRefresh { token, client: &id, scope, resource };
    let refreshed = doors.service.refresh((&approval, &known), brought, doors.gate.origin_of(parts)).await;
    given(doors, parts, refreshed)
}

/// What was found by what a client brings. Where that is nothing, a client that is not known hears so, and registers again.
async fn approved(
    doors: &Doors,
    parts: &Parts,
    (id, found): (&str, Option<(Approval, Arc<Grant>)>),
) -> Result<(Approval, Arc<Grant>), Stop> {
    let Some((approval, known)) = found else {
        let is_known =
            is_document(id) || doors.service.find_registration(id).await.map_err(Stop::Failed)?.is_some();
        let why = if is_known { grant() } else { client() };
        return Err(failed(doors, parts, why.into()));
    };
    admit(doors, parts, &known)?;
    Ok((approval, known))
}

/// Whoever is no client uses up nothing here of the clients that share its address.
fn admit(doors: &Doors, parts: &Parts, grant: &Grant) -> Result<(), Stop> {
    doors.gate.admit_client(parts).map_err(Stop::Failed)?;
    doors.gate.count(grant).map_err(Stop::Failed)
}

fn given(doors: &Doors, parts: &Parts, result: Result<Issued, Refused>) -> Result<Issued, Stop> {
    result.map_err(|why| match why {
        why @ Refused::Grant => failed(doors, parts, why.into()),
        why => why.into(),
    })
}

/// Who fails is counted as all are whose credentials are refused.
fn failed(doors: &Doors, parts: &Parts, why: Stop) -> Stop {
    match doors.gate.refuse_client(parts) {
        Error::Unauthenticated => why,
        too_often => Stop::Failed(too_often),
    }
}

fn granted(issued: &Issued) -> Response {
    respond(
        StatusCode::OK,
        &Granted {
            access_token: issued.token.reveal(),
            token_type: "Bearer",
            expires_in: issued.lifetime.as_secs(),
            scope: spell(&issued.verbs),
            refresh_token: issued.refresh.as_ref().map(RefreshToken::reveal),
        },
    )
}

/// Ends the token that is given back. One that is not known is over already, and the answer is the same.
pub async fn revoke(State(doors): State<Arc<Doors>>, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    if doors.service.site.ways.authorization_code.is_none() {
        return nowhere();
    }
    let revoked = async {
        let form = Form::read(&parts.headers, body).await?;
        let token = form.need("token")?;
        let ended = doors.service.revoke_token(token, doors.gate.origin_of(&parts)).await?;
        if ended {
            return Ok(());
        }
        Err(Stop::from(bad("unsupported_token_type", "The token of a grant is ended by the operator")))
    };
    match revoked.await {
        Ok(()) => {
            let mut response = Response::new(Body::empty());
            response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
            response
        }
        Err(why) => stopped(why),
    }
}

pub(super) fn nowhere() -> Response {
    fault::rest(&Fault::new(Kind::UnknownPath), Media::Json)
}

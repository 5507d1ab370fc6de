//! What web pages of others may ask of OAuth's own endpoints. Clients run in browsers too, as the MCP inspector does; these
//! endpoints know no cookie, so that a page gets nothing there but what it brings the means for.

use axum::body::Body;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, ORIGIN,
};
use http::{HeaderValue, StatusCode};

/// Answers what browsers ask before they send what a page wants to send.
pub async fn ask_first() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    for (name, value) in [
        (ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
        (ACCESS_CONTROL_ALLOW_HEADERS, "authorization, content-type, mcp-protocol-version"),
        (ACCESS_CONTROL_MAX_AGE, "3600"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Says with every answer to a page that it may be read.
pub async fn open(request: Request, next: Next) -> Response {
    let from_page = request.headers().contains_key(ORIGIN);
    let mut response = next.run(request).await;
    if from_page {
        response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    }
    response
}

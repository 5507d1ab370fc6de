//! The style sheet, the script and the mark: files of the binary, under names that change with what is in them.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::response::{IntoResponse as _, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use sha2::{Digest as _, Sha256};

use crate::hex::hex;

const STYLE: &str = concat!(include_str!("assets/baton.css"), include_str!("assets/console.css"));
const SCRIPT: &str = include_str!("assets/console.js");
const MARK: &str = include_str!("assets/mark.svg");

/// Bytes of the hash that a name carries.
const NAMED: usize = 6;

pub static STYLE_PATH: LazyLock<String> = LazyLock::new(|| path(STYLE, "css"));
pub static SCRIPT_PATH: LazyLock<String> = LazyLock::new(|| path(SCRIPT, "js"));
pub static MARK_PATH: LazyLock<String> = LazyLock::new(|| path(MARK, "svg"));

fn path(text: &str, kind: &str) -> String {
    format!("/console/assets/{}.{kind}", hex(&Sha256::digest(text)[..NAMED]))
}

pub async fn serve(Path(name): Path<String>) -> Response {
    let known = [
        (&*STYLE_PATH, STYLE, "text/css; charset=utf-8"),
        (&*SCRIPT_PATH, SCRIPT, "text/javascript; charset=utf-8"),
        (&*MARK_PATH, MARK, "image/svg+xml"),
    ];
    let found = known.into_iter().find(|(path, _, _)| path.rsplit('/').next() == Some(&*name));
    let Some((_, text, kind)) = found else { return StatusCode::NOT_FOUND.into_response() };
    let forever = HeaderValue::from_static("public, max-age=31536000, immutable");
    ([(CONTENT_TYPE, HeaderValue::from_static(kind)), (CACHE_CONTROL, forever)], text).into_response()
}

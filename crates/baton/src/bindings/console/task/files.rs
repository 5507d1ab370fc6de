//! Parts as files. A browser that opens one runs nothing of it: it is downloaded, or shown where it is an image.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use baton_core::model::{Content, Part, TaskObject};
use baton_wire::query::segment;
use http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, StatusCode};

use super::super::super::Doors;
use super::super::super::admin::tasks;
use super::super::guard::{FILE_POLICY, Visitor};
use super::parts::{image_type, joined};

/// Characters of a file's name.
const NAME: usize = 100;

/// A part of an artifact, or all of it where it is `all` and text.
pub async fn file(
    State(doors): State<Arc<Doors>>,
    _visitor: Visitor,
    Path((task, artifact, part)): Path<(String, String, String)>,
    request: Parts,
) -> Response {
    let Ok(found) = tasks::load(&doors.service, &task).await else { return gone() };
    let artifacts = found.task.artifacts.as_deref().unwrap_or_default();
    let Some(artifact) = artifacts.iter().find(|known| known.artifact_id == artifact) else { return gone() };
    if part == "all" {
        let Some(text) = joined(artifact) else { return gone() };
        let name = artifact.name.as_deref().unwrap_or(&artifact.artifact_id);
        return send(text.into_bytes(), name, None);
    }
    let part = part.parse().ok().and_then(|at: usize| artifact.parts.get(at));
    part.map_or_else(gone, |part| send_part(part, &artifact.artifact_id, &request))
}

/// A part of a message.
pub async fn attachment(
    State(doors): State<Arc<Doors>>,
    _visitor: Visitor,
    Path((task, message, part)): Path<(String, String, usize)>,
    request: Parts,
) -> Response {
    let Ok(found) = tasks::load(&doors.service, &task).await else { return gone() };
    let part = find(&found.task, &message, part);
    part.map_or_else(gone, |part| send_part(part, "file", &request))
}

fn find<'t>(task: &'t TaskObject, message: &str, part: usize) -> Option<&'t Part> {
    let mut messages = task.history.iter().chain(&task.status.message);
    messages.find(|known| known.message_id == message)?.parts.get(part)
}

fn send_part(part: &Part, otherwise: &str, request: &Parts) -> Response {
    let name = part.filename.as_deref().unwrap_or(otherwise);
    let bytes = match &part.content {
        Content::Raw(base64) => base64.decode(),
        Content::Text(text) => text.clone().into_bytes(),
        Content::Data(json) => json.as_str().to_owned().into_bytes(),
        Content::Url(_) | Content::Missing => return gone(),
    };
    let image = image_type(part).filter(|_| request.uri.query() == Some("show"));
    send(bytes, name, image)
}

fn send(bytes: Vec<u8>, name: &str, image: Option<&'static str>) -> Response {
    let kind = HeaderValue::from_static(image.unwrap_or("application/octet-stream"));
    let disposition = match image {
        Some(_) => HeaderValue::from_static("inline"),
        None => attached_as(name),
    };
    let headers =
        [(CONTENT_TYPE, kind), (CONTENT_DISPOSITION, disposition), (CONTENT_SECURITY_POLICY, FILE_POLICY)];
    (headers, bytes).into_response()
}

/// `attachment` with a name that is one name: no path, no leading dot, nothing that would act (RFC 6266).
fn attached_as(name: &str) -> HeaderValue {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain = crate::plain::harmless(last);
    let plain: String = plain.chars().filter(|c| !c.is_control()).take(NAME).collect();
    let plain = plain.trim_matches(['.', ' ']);
    let plain = if plain.is_empty() { "file" } else { plain };
    let ascii: String = plain
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_. ".contains(c) { c } else { '_' })
        .collect();
    let coded = segment(plain);
    HeaderValue::from_str(&format!("attachment; filename=\"{ascii}\"; filename*=UTF-8''{coded}"))
        .unwrap_or(HeaderValue::from_static("attachment"))
}

fn gone() -> Response {
    (StatusCode::NOT_FOUND, "There is no such file.\n").into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_name() {
        for (name, sent) in [
            ("review.md", "attachment; filename=\"review.md\"; filename*=UTF-8''review.md"),
            ("../../etc/passwd", "attachment; filename=\"passwd\"; filename*=UTF-8''passwd"),
            ("..\\evil.exe", "attachment; filename=\"evil.exe\"; filename*=UTF-8''evil.exe"),
            (
                "a\"; filename=b\r\nX: y",
                "attachment; filename=\"a__ filename_b__X_ y\"; filename*=UTF-8''a%22%3B%20filename%3Db%E2%90%8D%0AX%3A%20y",
            ),
            ("...", "attachment; filename=\"file\"; filename*=UTF-8''file"),
            ("größe.txt", "attachment; filename=\"gr__e.txt\"; filename*=UTF-8''gr%C3%B6%C3%9Fe.txt"),
        ] {
            let header = attached_as(name);
            let text = header.to_str().unwrap();
            assert!(!text.contains('\n') && text.starts_with("attachment"), "{text}");
            if !name.contains('\r') {
                assert_eq!(text, sent);
            }
        }
    }
}

//! The admin API's own description: OpenAPI 3.1, made from what the handlers say of themselves.

use std::sync::LazyLock;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use serde::Serialize;
use utoipa::openapi::path::Operation;
use utoipa::openapi::{ContentBuilder, Ref, RefOr, ResponseBuilder};
use utoipa::{OpenApi, ToSchema};

use super::super::media::Media;
use super::Operator;

/// The path below which all of it is.
const BASE: &str = "/api/v1/";

/// What every operation answers where it does nothing; its component's name.
const REFUSAL: &str = "Refusal";

/// Made when somebody asks for it: mostly nobody does.
static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(document()));

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Baton admin API",
        description = "What the operator and the command line see of a node, over the node's own socket. \
                       Members that an answer may lack are absent in it, never null."
    ),
    components(schemas(Refusal))
)]
struct Base;

/// A refusal: `google.rpc.Status` as JSON (AIP-193).
#[derive(Serialize, ToSchema)]
pub struct Refusal {
    error: RefusalStatus,
}

#[derive(Serialize, ToSchema)]
pub struct RefusalStatus {
    /// The status of HTTP.
    code: u16,
    /// Of gRPC, such as `INVALID_ARGUMENT`.
    status: String,
    /// What is wrong, and what to do.
    message: String,
    /// An ErrorInfo first; for a wrong request a BadRequest with the path of the field.
    #[schema(value_type = Vec<Object>)]
    details: Vec<serde_json::Value>,
}

/// This document.
#[utoipa::path(
    get,
    path = "/api/v1/openapi.json",
    responses((status = 200, description = "OpenAPI 3.1", body = Object))
)]
pub async fn show(_: Operator) -> Response {
    let mut response = Response::new(Body::from(DOCUMENT.clone()));
    response.headers_mut().insert(CONTENT_TYPE, Media::Json.header());
    response
}

/// The document as text. The names, the groups and the refusals of operations follow from their paths.
fn document() -> String {
    let mut api = Base::openapi().merge_from(super::Described::openapi());
    let refused = ContentBuilder::new().schema(Some(Ref::from_schema_name(REFUSAL))).build();
    let refused = ResponseBuilder::new()
        .description("It was refused, or could not be done")
        .content("application/json", refused)
        .build();
    let components = api.components.get_or_insert_default();
    components.responses.insert(REFUSAL.to_owned(), refused.into());
    for (path, item) in &mut api.paths.paths {
        let operations = [("get", &mut item.get), ("post", &mut item.post), ("delete", &mut item.delete)];
        for (method, operation) in operations {
            if let Some(operation) = operation {
                complete(operation, method, path.strip_prefix(BASE).unwrap_or(path));
            }
        }
    }
    api.to_pretty_json().unwrap_or_default()
}

fn complete(operation: &mut Operation, method: &str, path: &str) {
    operation.operation_id = Some(name(method, path));
    operation.tags = path.split('/').next().map(|group| vec![group.to_owned()]);
    let refusal = RefOr::Ref(Ref::from_response_name(REFUSAL));
    operation.responses.responses.insert("default".to_owned(), refusal);
}

/// Such as `postGrantsByIdPause` for `POST grants/{id}/pause`.
fn name(method: &str, path: &str) -> String {
    let mut name = method.to_owned();
    for segment in path.split('/') {
        let (prefix, words) = match segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            Some(parameter) => ("By", parameter),
            None => ("", segment),
        };
        name.push_str(prefix);
        for word in words.split(['-', '.', '_']) {
            let mut letters = word.chars();
            name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
            name.push_str(letters.as_str());
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_follow_from_paths() {
        for (method, path, expected) in [
            ("get", "status", "getStatus"),
            ("post", "grants/{id}/pause", "postGrantsByIdPause"),
            ("get", "deliveries/{task}/{id}", "getDeliveriesByTaskById"),
            ("post", "node/end-lame-duck", "postNodeEndLameDuck"),
            ("get", "openapi.json", "getOpenapiJson"),
        ] {
            assert_eq!(name(method, path), expected);
        }
    }

    /// The copy for those who have no node is what a node says. `UPDATE_OPENAPI=1` writes it.
    #[test]
    fn the_copy_in_docs_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
        let said = document() + "\n";
        if std::env::var_os("UPDATE_OPENAPI").is_some() {
            std::fs::write(path, &said).unwrap();
        }
        let kept = std::fs::read_to_string(path).unwrap_or_default();
        assert!(kept == said, "docs/openapi.json is of another API: `just openapi` writes it anew");
    }

    #[test]
    fn every_operation_says_what_it_does_and_how_it_refuses() {
        let api: serde_json::Value = serde_json::from_str(&document()).unwrap();
        assert_eq!(api["openapi"], "3.1.0");
        let (mut names, mut described) = (BTreeSet::new(), BTreeSet::new());
        for (path, item) in api["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let what = format!("{method} {path}");
                described.insert((method.as_str(), path.as_str()));
                assert!(operation["summary"].as_str().is_some_and(|said| said.ends_with('.')), "{what}");
                assert!(operation["responses"]["200"]["content"].is_object(), "{what}");
                assert_eq!(
                    operation["responses"]["default"]["$ref"], "#/components/responses/Refusal",
                    "{what}"
                );
                assert!(names.insert(operation["operationId"].as_str().unwrap().to_owned()), "{what}");
                let named = |name: &str| {
                    let of = operation["parameters"].as_array().into_iter().flatten();
                    of.filter(|one| one["in"] == "path" && one["name"] == name).count()
                };
                for parameter in path.split('/').filter_map(|part| part.strip_prefix('{')) {
                    assert_eq!(named(parameter.trim_end_matches('}')), 1, "{what}");
                }
            }
        }
        assert_eq!(described, super::super::ROUTED.iter().copied().collect(), "what is routed is described");
        let text = api.to_string();
        for (at, _) in text.match_indices("\"$ref\":\"#/") {
            let pointer = &text[at + 9..at + 9 + text[at + 9..].find('"').unwrap()];
            assert!(api.pointer(pointer).is_some(), "{pointer} is nowhere");
        }
    }
}

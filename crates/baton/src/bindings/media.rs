//! Media types of requests and answers.

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};

/// What REST answers in: the media type of the request (DESIGN §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    Json,
    A2aJson,
}

const A2A_JSON: &str = "application/a2a+json";

impl Media {
    /// `application/a2a+json` where the request names it, in its own body or in what it accepts.
    pub fn of(headers: &HeaderMap) -> Self {
        let names = |value: &HeaderValue| {
            value
                .to_str()
                .is_ok_and(|value| value.split(',').any(|kind| essence(kind).eq_ignore_ascii_case(A2A_JSON)))
        };
        let named = headers.get_all(CONTENT_TYPE).iter().chain(headers.get_all(ACCEPT)).any(names);
        if named { Self::A2aJson } else { Self::Json }
    }

    pub const fn header(self) -> HeaderValue {
        match self {
            Self::Json => HeaderValue::from_static("application/json"),
            Self::A2aJson => HeaderValue::from_static(A2A_JSON),
        }
    }
}

/// Whether a request says that its body is JSON.
pub fn is_json(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).is_some_and(|value| {
        let kind = essence(value).to_ascii_lowercase();
        kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
    })
}

/// A media type without its parameters.
fn essence(value: &str) -> &str {
    value.split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn the_answer_has_the_media_type_of_the_request() {
        assert_eq!(Media::of(&headers(&[("content-type", "application/json")])), Media::Json);
        assert_eq!(
            Media::of(&headers(&[("content-type", "Application/A2A+json; charset=utf-8")])),
            Media::A2aJson
        );
        assert_eq!(
            Media::of(&headers(&[("accept", "text/html, application/a2a+json;q=0.9")])),
            Media::A2aJson
        );
        assert_eq!(Media::of(&HeaderMap::new()), Media::Json);
    }

    #[test]
    fn json_is_told_from_what_is_not() {
        for good in [
            "application/json",
            "application/json; charset=utf-8",
            "application/a2a+json",
            "APPLICATION/JSON",
        ] {
            assert!(is_json(&headers(&[("content-type", good)])), "{good}");
        }
        for bad in ["text/plain", "application/xml", "application/jsonx", "json", ""] {
            assert!(!is_json(&headers(&[("content-type", bad)])), "{bad}");
        }
        assert!(!is_json(&HeaderMap::new()));
    }
}

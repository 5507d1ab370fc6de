//! Reading a request's body, up to the limit, and what is in it.

use axum::body::Body;
use baton_wire::fault::{Fault, Kind};
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use crate::service::Error;

/// The whole body, or why not: nothing past `most` bytes is kept.
pub async fn read(body: Body, most: usize) -> Result<Bytes, Fault> {
    if http_body::Body::size_hint(&body).lower() > most as u64 {
        return Err(too_large(most));
    }
    match Limited::new(body, most).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(why) if why.is::<LengthLimitError>() => Err(too_large(most)),
        Err(_) => Err(Fault::new(Kind::InvalidRequest).with_message("The request's body broke off")),
    }
}

/// All of a body as JSON. What is wrong is said with its path.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let read = serde_path_to_error::deserialize(&mut json);
    let read = read.map_err(|why| Error::invalid(&why.path().to_string(), why.inner().to_string()))?;
    json.end().map_err(|why| Error::invalid("", why.to_string()))?;
    Ok(read)
}

fn too_large(most: usize) -> Fault {
    Fault::new(Kind::TooLarge).with_message(format!("The request's body has more than {most} bytes"))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn nothing_stands_behind_the_json() {
        assert!(parse::<Value>(b" {\"a\": 1}\n").is_ok());
        for wrong in ["{} {}", "{}x", "{}\0", ""] {
            assert!(matches!(parse::<Value>(wrong.as_bytes()), Err(Error::Invalid(_))), "{wrong:?}");
        }
    }
}

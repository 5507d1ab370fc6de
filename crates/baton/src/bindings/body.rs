//! Reading a request's body, up to the limit.

use std::time::Duration;

use axum::body::Body;
use baton_wire::fault::{Fault, Kind};
use bytes::Bytes;
use http::HeaderMap;
use http::header::EXPECT;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

/// Bytes past the limit that are read and thrown away, and for how long: a client that writes its whole body before it
/// reads gets its answer then, where closing on it would only break the connection.
const DISCARD: u64 = 64 * 1024 * 1024;
const DISCARD_WITHIN: Duration = Duration::from_secs(5);

/// The whole body, or why not: nothing past `most` bytes is kept.
pub async fn read(headers: &HeaderMap, mut body: Body, most: usize) -> Result<Bytes, Fault> {
    let announced = http_body::Body::size_hint(&body).lower();
    if announced > most as u64 {
        // Who asks first has sent nothing yet, and need not.
        if announced <= DISCARD && !headers.contains_key(EXPECT) {
            Box::pin(discard(body)).await;
        }
        return Err(too_large(most));
    }
    match Limited::new(&mut body, most).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(why) if why.is::<LengthLimitError>() => {
            Box::pin(discard(body)).await;
            Err(too_large(most))
        }
        Err(_) => Err(Fault::new(Kind::InvalidRequest).with_message("The request's body broke off")),
    }
}

async fn discard(mut body: Body) {
    let mut left = DISCARD;
    let read = async {
        while let Some(Ok(frame)) = body.frame().await {
            let bytes = frame.data_ref().map_or(0, |data| data.len() as u64);
            match left.checked_sub(bytes) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    };
    let _ = tokio::time::timeout(DISCARD_WITHIN, read).await;
}

fn too_large(most: usize) -> Fault {
    Fault::new(Kind::TooLarge).with_message(format!("The request's body has more than {most} bytes"))
}

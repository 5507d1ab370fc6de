//! Reading a request's body, up to the limit.

use axum::body::Body;
use baton_wire::fault::{Fault, Kind};
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

/// The whole body, or why not: past `most` bytes nothing more is read.
pub async fn read(body: Body, most: usize) -> Result<Bytes, Fault> {
    let announced = http_body::Body::size_hint(&body).lower();
    if announced > most as u64 {
        return Err(too_large(most));
    }
    match Limited::new(body, most).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(why) if why.is::<LengthLimitError>() => Err(too_large(most)),
        Err(_) => Err(Fault::new(Kind::InvalidRequest).with_message("The request's body broke off")),
    }
}

fn too_large(most: usize) -> Fault {
    Fault::new(Kind::TooLarge).with_message(format!("The request's body has more than {most} bytes"))
}

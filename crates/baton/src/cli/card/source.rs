//! Where a card or a key is read from: a file, standard input or a URL.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use baton_core::json::Json;
use http::Method;

use crate::cli::Failure;
use crate::federation::{Address, Call, Client, Limits, Options, Transport};

/// Whether a text means a URL and not a file.
pub fn is_url(text: &str) -> bool {
    text.contains("://")
}

/// A card as it is written, in one line.
pub async fn card(from: &str, options: &Options) -> Result<Json, Failure> {
    if is_url(from) {
        return Ok(Client::find(from, options).await?.raw);
    }
    let text = file(from)?;
    Json::parse(&text).map_err(|why| Failure::failed(format!("{from} is no card: {why}")))
}

/// A file, or standard input by the name `-`; as large as a card may be.
pub fn file(path: &str) -> Result<String, Failure> {
    let most = Limits::default().card as u64;
    let read = |from: &mut dyn Read| {
        let mut text = String::new();
        from.take(most + 1).read_to_string(&mut text).map(|_| text)
    };
    let text = match path {
        "-" => read(&mut io::stdin().lock()),
        path => File::open(Path::new(path)).and_then(|mut file| read(&mut file)),
    };
    let text = text.map_err(|why| Failure::usage(format!("cannot read {path}: {why}")))?;
    if text.len() as u64 > most {
        return Err(Failure::usage(format!("{path} is larger than {most} bytes")));
    }
    Ok(text)
}

/// A set of keys: a file, or a URL that the user names and so trusts.
pub async fn keys(from: &str, options: &Options) -> Result<String, Failure> {
    if !is_url(from) {
        return file(from);
    }
    let at = Address::parse(from)?;
    let transport = Transport::new(&at.place, &Options { token: None, ..options.clone() })?;
    let call = Call {
        method: Method::GET,
        accept: "application/jwk-set+json, application/json;q=0.9",
        headers: &[],
        body: bytes::Bytes::new(),
    };
    let bounds = (Limits::default().card, Limits::default().answer_within);
    let (status, body) = transport.call(&at, call, bounds).await?;
    if !status.is_success() {
        return Err(Failure::failed(format!("{from} answers {status}")));
    }
    String::from_utf8(body.into()).map_err(|_| Failure::failed(format!("{from} holds no text")))
}

//! `baton card sign`.

use std::path::Path;

use baton_core::json::Json;
use baton_core::model::AgentCardSignature;
use baton_wire::query::segment;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::source;
use crate::cli::access::NodeArgs;
use crate::cli::node::Node;
use crate::cli::{Exit, Failure, Global, output};
use crate::config;
use crate::federation::signature::sign;
use crate::keys::{Jwk, Keys, Purpose, SecretKey, is_kid};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The card: a file, an agent's URL, `-` for standard input, or the name of an agent of the node
    #[arg(value_name = "FILE|URL|AGENT")]
    card: String,
    /// The private key, in PKCS#8 of P-256 or Ed25519; without it, those of the data folder
    #[arg(long, value_name = "FILE")]
    key: Option<String>,
    /// The name of the key; without it, its fingerprint (RFC 7638)
    #[arg(long, value_name = "KID", requires = "key")]
    kid: Option<String>,
    /// Where verifiers find the public key, as the signature says
    #[arg(long, value_name = "URL")]
    jku: Option<String>,
    #[command(flatten)]
    node: NodeArgs,
}

const NO_KEY: &str =
    "There is no key to sign with. Make one with `baton card keys new`, or name a file with --key.";

pub async fn run(global: &Global, args: Args) -> Result<Exit, Failure> {
    let named = !source::is_url(&args.card) && args.card != "-" && !Path::new(&args.card).exists();
    let card = if named {
        agents_own(global, &args).await?
    } else {
        source::card(&args.card, &args.node.access.options()?).await?
    };
    if named && args.key.is_none() {
        // The node has signed it.
        output::json(&card)?;
        return Ok(Exit::Done);
    }
    let mut signatures = Vec::new();
    for (kid, key) in keys(global, &args)? {
        let signed = sign(card.as_str(), &kid, &key, args.jku.as_deref());
        signatures
            .extend(signed.map_err(|why| Failure::failed(format!("the card cannot be signed: {why}")))?);
    }
    output::json(&Signed { card: &card, signatures: &signatures })?;
    Ok(Exit::Done)
}

/// The card of an agent of the node, which the node signs with its own keys.
async fn agents_own(global: &Global, args: &Args) -> Result<Json, Failure> {
    let node = Node::new(global, &args.node)?;
    let card = node.get(&format!("agents/{}/card", segment(&args.card))).await;
    let hint = format!("`{}` is no file here, so that an agent of this name was looked for.", args.card);
    let card = card.map_err(|failure| failure.with_hint(&hint))?;
    if args.key.is_none() && !card.as_str().contains("\"signatures\"") {
        return Err(Failure::failed(NO_KEY));
    }
    Ok(card)
}

/// The keys to sign with, by name.
fn keys(global: &Global, args: &Args) -> Result<Vec<(String, std::sync::Arc<SecretKey>)>, Failure> {
    if let Some(path) = &args.key {
        let pem = source::file(path)?;
        let key = SecretKey::from_pem(pem.as_bytes()).ok_or_else(|| {
            Failure::usage(format!(
                "{path} holds no private key of P-256 or Ed25519 in PKCS#8; \
                 make one for example with: openssl genpkey -algorithm ed25519 -out key.pem"
            ))
        })?;
        let kid = args.kid.clone().unwrap_or_else(|| Jwk::thumbprint(&key.public()));
        if !is_kid(&kid) && args.kid.is_some() {
            return Err(Failure::usage("--kid has 1 to 64 letters, digits, '.', '_' and '-'"));
        }
        return Ok(vec![(kid, key.into())]);
    }
    let folder = config::data_dir(global.data_dir.as_deref());
    let keys = Keys::open(&folder).map_err(|why| Failure::failed(why.to_string()))?;
    let keys: Vec<_> =
        keys.list(Purpose::Card).into_iter().map(|key| (key.kid.to_string(), key.secret)).collect();
    if keys.is_empty() { Err(Failure::failed(NO_KEY)) } else { Ok(keys) }
}

/// A card as it was written, with these signatures in place of its own.
struct Signed<'a> {
    card: &'a Json,
    signatures: &'a [AgentCardSignature],
}

impl Serialize for Signed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in members(self.card).map_err(serde::ser::Error::custom)? {
            if name != "signatures" {
                map.serialize_entry(&name, value)?;
            }
        }
        map.serialize_entry("signatures", self.signatures)?;
        map.end()
    }
}

/// The members of a card in their order.
fn members(card: &Json) -> Result<Vec<(String, &RawValue)>, serde_json::Error> {
    struct Members;
    impl<'de> serde::de::Visitor<'de> for Members {
        type Value = Vec<(String, &'de RawValue)>;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some(member) = map.next_entry()? {
                members.push(member);
            }
            Ok(members)
        }
    }
    serde::Deserializer::deserialize_map(&mut serde_json::Deserializer::from_str(card.as_str()), Members)
}

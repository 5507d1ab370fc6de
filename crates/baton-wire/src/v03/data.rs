//! Data that is no object, in a version whose data parts hold objects only.

use std::borrow::Cow;
use std::fmt;

use baton_core::json::{Json, Object};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

/// The member of a part's metadata that says its data is packed: the official libraries of 1.0 write and read it.
const MARK: &str = "data_part_compat";

/// The member that packed data stands in.
const VALUE: &str = "value";

/// A value as 0.3 can carry it, with the part's metadata: an object as it is, anything else in one, and marked.
pub fn pack<'a>(data: &'a Json, metadata: Option<&'a Object>) -> (Cow<'a, Json>, Option<Cow<'a, Object>>) {
    if data.as_str().starts_with('{') {
        return (Cow::Borrowed(data), metadata.map(Cow::Borrowed));
    }
    let mut marked = metadata.map(members).unwrap_or_default();
    marked.retain(|(name, _)| name != MARK);
    marked.push((MARK.to_owned(), Json::parse("true").expect("true is JSON")));
    let packed = object(&[(VALUE.to_owned(), data.clone())]);
    let packed = Json::parse(packed.as_str()).expect("an object is JSON");
    (Cow::Owned(packed), Some(Cow::Owned(object(&marked))))
}

/// The value that was packed, and the metadata without the mark; both as they are where there is none.
pub fn unpack(data: Json, metadata: Option<Object>) -> (Json, Option<Object>) {
    let mut rest = metadata.as_ref().map(members).unwrap_or_default();
    let marked = rest.iter().any(|(name, value)| name == MARK && value.as_str() == "true");
    let inside = Object::parse(data.as_str()).map(|data| members(&data)).unwrap_or_default();
    match inside.into_iter().find(|(name, _)| name == VALUE) {
        Some((_, value)) if marked => {
            rest.retain(|(name, _)| name != MARK);
            (value, (!rest.is_empty()).then(|| object(&rest)))
        }
        Some(_) | None => (data, metadata),
    }
}

/// The members of an object in their order.
fn members(object: &Object) -> Vec<(String, Json)> {
    serde_json::from_str::<Members>(object.as_str()).map(|members| members.0).unwrap_or_default()
}

fn object(members: &[(String, Json)]) -> Object {
    let mut text = String::from("{");
    for (name, value) in members {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(&serde_json::to_string(name).expect("text is JSON"));
        text.push(':');
        text.push_str(value.as_str());
    }
    text.push('}');
    Object::parse(&text).expect("members that were JSON are JSON together")
}

struct Members(Vec<(String, Json)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Members;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    members.push(entry);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(All)
    }
}

//! Data that is no object, in a version whose data parts hold objects only.

use std::borrow::Cow;
use std::fmt;

use baton_core::json::{Json, Object};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::{Serialize, Serializer};

/// The member of a part's metadata that says its data is packed: the official libraries of 1.0 write and read it.
const MARK: &str = "data_part_compat";

/// The member that packed data stands in.
const VALUE: &str = "value";

/// A value as 0.3 can carry it, with the part's metadata: an object as it is, anything else in one, and marked. An object
/// that would be taken for packed is packed too: the mark of its sender is lost, what it holds is not.
pub fn pack<'a>(data: &'a Json, metadata: Option<&'a Object>) -> (Cow<'a, Json>, Option<Cow<'a, Object>>) {
    let mut marked = metadata.map(|metadata| members(metadata.as_str())).unwrap_or_default();
    if data.as_str().starts_with('{') && !(is_marked(&marked) && packed_in(data).is_some()) {
        return (Cow::Borrowed(data), metadata.map(Cow::Borrowed));
    }
    marked.retain(|(name, _)| name != MARK);
    marked.push((MARK.to_owned(), Json::parse("true").expect("true is JSON")));
    let packed = object(vec![(VALUE.to_owned(), data.clone())]);
    let packed = Json::from_serialize(&packed).expect("an object is JSON");
    (Cow::Owned(packed), Some(Cow::Owned(object(marked))))
}

/// The value that was packed, and the metadata without the mark; both as they are where there is none.
pub fn unpack(data: Json, metadata: Option<Object>) -> (Json, Option<Object>) {
    let mut rest = metadata.as_ref().map(|metadata| members(metadata.as_str())).unwrap_or_default();
    if !is_marked(&rest) {
        return (data, metadata);
    }
    match packed_in(&data) {
        Some(value) => {
            rest.retain(|(name, _)| name != MARK);
            (value, (!rest.is_empty()).then(|| object(rest)))
        }
        None => (data, metadata),
    }
}

fn is_marked(metadata: &[(String, Json)]) -> bool {
    metadata.iter().any(|(name, value)| name == MARK && value.as_str() == "true")
}

fn packed_in(data: &Json) -> Option<Json> {
    members(data.as_str()).into_iter().find(|(name, _)| name == VALUE).map(|(_, value)| value)
}

/// The members of an object in their order; none of what is no object.
fn members(json: &str) -> Vec<(String, Json)> {
    serde_json::from_str::<Members>(json).map(|members| members.0).unwrap_or_default()
}

/// Not read again: what is packed may be a level deeper than anything that is let in.
fn object(members: Vec<(String, Json)>) -> Object {
    Object::from_serialize(&Members(members)).expect("members that were JSON are JSON together")
}

struct Members(Vec<(String, Json)>);

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

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

//! A JSON text: as we carry it, and in the canonical form of RFC 8785.

use baton_core::canonical::{Tree, canonical};
use baton_core::json::{Json, Object};

/// What is carried is one line and stays what it is; the canonical form is its own, and the value of what it was made of.
pub fn holds(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let carried = Json::parse(text);
    if let Ok(json) = &carried {
        assert!(!json.as_str().contains(['\n', '\r', '\t']), "one line: {json:?}");
        assert_eq!(Json::parse(json.as_str()).as_ref().ok(), Some(json));
        assert_eq!(Object::parse(text).is_ok(), json.as_str().starts_with('{'));
    }
    let Ok(tree) = Tree::parse(text) else { return };
    let form = tree.to_string();
    assert_eq!(carried.map(|json| canonical(json.as_str()).ok()).ok().flatten().as_ref(), Some(&form));
    assert_eq!(canonical(&form).as_ref().ok(), Some(&form), "it is its own form");
    let again = Tree::parse(&form).expect("a canonical form is JSON");
    assert_eq!(ordered(again), ordered(tree.clone()), "it is the same value");
    if let Some(terse) = tree.without_empty() {
        assert_eq!(terse.clone().without_empty(), Some(terse), "nothing empty is left");
    }
}

/// Members by their names, at any depth.
fn ordered(tree: Tree) -> Tree {
    match tree {
        Tree::Object(members) => {
            let mut members: Vec<_> =
                members.into_iter().map(|(name, value)| (name, ordered(value))).collect();
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
            Tree::Object(members)
        }
        Tree::List(items) => Tree::List(items.into_iter().map(ordered).collect()),
        Tree::Null | Tree::Bool(_) | Tree::Number(_) | Tree::Text(_) => tree,
    }
}

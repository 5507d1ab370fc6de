//! Whether a value is of a JSON schema: as much of that language as the schemas of the tools use. Whatever else stands in one
//! fails the test, so that nothing goes unchecked.

use serde_json::{Map, Value};

/// What is wrong with a value, and where; nothing where all is well.
pub fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    Check { root: schema, found: &mut found }.look(schema, value, "$");
    found
}

struct Check<'a> {
    root: &'a Value,
    found: &'a mut Vec<String>,
}

impl Check<'_> {
    fn look(&mut self, schema: &Value, value: &Value, at: &str) {
        let Value::Object(schema) = schema else {
            assert_eq!(schema, &Value::Bool(true), "a schema of another kind at {at}");
            return;
        };
        for (keyword, said) in schema {
            match keyword.as_str() {
                "$schema" | "$defs" | "title" | "description" | "format" | "default" => {}
                "properties" | "required" | "additionalProperties" => self.members(schema, value, at),
                "type" => self.kind(said, value, at),
                "$ref" => {
                    let pointer = said.as_str().unwrap().trim_start_matches('#');
                    self.look(self.root.pointer(pointer).unwrap(), value, at);
                }
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.look(said, item, &format!("{at}[{index}]"));
                    }
                }
                "anyOf" => {
                    let fits = |one: &Value| {
                        let mut found = Vec::new();
                        Check { root: self.root, found: &mut found }.look(one, value, at);
                        found.is_empty()
                    };
                    if !said.as_array().unwrap().iter().any(fits) {
                        self.found.push(format!("{at} is none of {said}"));
                    }
                }
                "minimum" => {
                    if value.as_f64().is_some_and(|number| number < said.as_f64().unwrap()) {
                        self.found.push(format!("{at} is less than {said}"));
                    }
                }
                "maximum" => {
                    if value.as_f64().is_some_and(|number| number > said.as_f64().unwrap()) {
                        self.found.push(format!("{at} is more than {said}"));
                    }
                }
                other => panic!("a keyword that nobody checks: {other}"),
            }
        }
    }

    fn members(&mut self, schema: &Map<String, Value>, value: &Value, at: &str) {
        let Some(object) = value.as_object() else { return };
        let none = Map::new();
        let known = schema.get("properties").map_or(&none, |all| all.as_object().unwrap());
        for (name, member) in object {
            let at = format!("{at}.{name}");
            match (known.get(name), schema.get("additionalProperties")) {
                (None, Some(Value::Bool(false))) => self.found.push(format!("{at} has no place there")),
                (Some(schema), _) | (None, Some(schema)) => self.look(schema, member, &at),
                (None, None) => {}
            }
        }
        let required = schema.get("required").into_iter().flat_map(|all| all.as_array().unwrap());
        for name in required.filter(|name| !object.contains_key(name.as_str().unwrap())) {
            self.found.push(format!("{at} lacks {name}"));
        }
    }

    fn kind(&mut self, said: &Value, value: &Value, at: &str) {
        let is = |kind: &Value| match kind.as_str().unwrap() {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "null" => value.is_null(),
            other => panic!("no type: {other}"),
        };
        let fits = said.as_array().map_or_else(|| is(said), |kinds| kinds.iter().any(is));
        if !fits {
            self.found.push(format!("{at} is no {said}: {value}"));
        }
    }
}

#[test]
fn it_finds_what_is_wrong() {
    let schema = serde_json::json!({
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"type": ["string", "null"]}, "b": {"type": "array", "items": {"$ref": "#/$defs/n"}}},
        "additionalProperties": false,
        "$defs": {"n": {"type": "integer", "minimum": 0}},
    });
    let faults = |value| faults(&schema, &value);
    assert_eq!(faults(serde_json::json!({"a": null, "b": [1, 2]})), [] as [&str; 0]);
    for wrong in [
        serde_json::json!([]),
        serde_json::json!({}),
        serde_json::json!({"a": 1}),
        serde_json::json!({"a": "x", "b": [-1]}),
        serde_json::json!({"a": "x", "b": ["x"]}),
        serde_json::json!({"a": "x", "c": 1}),
    ] {
        assert!(!faults(wrong.clone()).is_empty(), "{wrong}");
    }
}

//! The JSON-RPC envelope: what is taken, what is refused, and with which id.

use baton_wire::fault::Kind;
use baton_wire::jsonrpc::{self, Id};
use baton_wire::response::Empty;

#[test]
fn the_id_is_kept_as_it_was_written() {
    for id in ["1", "-7", "0", r#""a""#, r#""\u0041\n""#, r#""""#, "null", "123456789012345678901234567890"] {
        let body = format!(" {{\"method\":\"GetTask\",\"id\": {id} ,\"jsonrpc\":\"2.0\"}}\n");
        let request = jsonrpc::read(body.as_bytes()).unwrap();
        assert_eq!(request.id.as_str(), id);
        assert!(request.params.is_none());
        let answer = jsonrpc::result(&request.id, &Empty {});
        assert_eq!(answer, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    }
}

#[test]
fn an_absent_id_is_null_and_absent_params_are_none() {
    let request = jsonrpc::read(br#"{"jsonrpc":"2.0","method":"ListTasks","params":null}"#).unwrap();
    assert_eq!(request.id, Id::NULL);
    assert!(request.params.is_none());
}

#[test]
fn a_method_may_be_escaped() {
    let request = jsonrpc::read(br#"{"jsonrpc":"2.0","method":"Get\u0054ask","x":[1,{}],"params":{}}"#);
    assert_eq!(request.unwrap().method, "GetTask");
}

#[test]
fn refused_envelopes() {
    let deep = format!(r#"{{"jsonrpc":"2.0","id":1,"params":{}{}}}"#, "[".repeat(100), "]".repeat(100));
    let long_id = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"GetTask"}}"#, "x".repeat(1100));
    let cases: [(&[u8], Kind, &str); 24] = [
        (b"", Kind::Parse, "null"),
        (b"  \n", Kind::Parse, "null"),
        (b"{", Kind::Parse, "null"),
        (b"not json", Kind::Parse, "null"),
        (b"{\"id\":1}}", Kind::Parse, "null"),
        (b"{\"id\":1,}", Kind::Parse, "null"),
        (b"{\"id\":\"\xff\"}", Kind::Parse, "null"),
        (b"{\"id\":\"\n\"}", Kind::Parse, "null"),
        (b"{\"id\":01}", Kind::Parse, "null"),
        (b"{\"id\":NaN}", Kind::Parse, "null"),
        (deep.as_bytes(), Kind::Parse, "null"),
        (b"[]", Kind::InvalidRequest, "null"),
        (b"[\"2.0\",1,\"GetTask\",{}]", Kind::InvalidRequest, "null"),
        (b"3", Kind::InvalidRequest, "null"),
        (b"null", Kind::InvalidRequest, "null"),
        (br#"{"jsonrpc":"2.0","id":1.5,"method":"GetTask"}"#, Kind::InvalidRequest, "null"),
        (br#"{"jsonrpc":"2.0","id":1e3,"method":"GetTask"}"#, Kind::InvalidRequest, "null"),
        (br#"{"jsonrpc":"2.0","id":{},"method":"GetTask"}"#, Kind::InvalidRequest, "null"),
        (br#"{"jsonrpc":"2.0","id":true,"method":"GetTask"}"#, Kind::InvalidRequest, "null"),
        (long_id.as_bytes(), Kind::InvalidRequest, "null"),
        (br#"{"id":1,"id":2,"jsonrpc":"2.0","method":"GetTask"}"#, Kind::InvalidRequest, "null"),
        (br#"{"id":"a","method":"GetTask"}"#, Kind::InvalidRequest, r#""a""#),
        (br#"{"jsonrpc":"1.0","id":5,"method":"GetTask"}"#, Kind::InvalidRequest, "5"),
        (br#"{"jsonrpc":"2.0","id":6,"method":7}"#, Kind::InvalidRequest, "6"),
    ];
    for (body, kind, id) in cases {
        let rejected = jsonrpc::read(body).unwrap_err();
        let shown = String::from_utf8_lossy(body);
        assert_eq!((rejected.fault.kind, rejected.id.as_str()), (kind, id), "{shown}: {}", rejected.fault);
    }
}

#[test]
fn params_must_be_an_object() {
    for params in ["[]", "[1]", "3", "\"x\"", "false"] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":9,"method":"GetTask","params":{params}}}"#);
        let rejected = jsonrpc::read(body.as_bytes()).unwrap_err();
        assert_eq!(rejected.id.as_str(), "9");
        assert_eq!(crate::violation(&rejected.fault), "params: must be an object");
    }
}

#[test]
fn what_is_wrong_with_the_json_is_said() {
    let why = |body: &[u8]| jsonrpc::read(body).unwrap_err().fault.message().into_owned();
    insta::assert_snapshot!(
        [
            why(b""),
            why(b"{\"id\":\n }"),
            why(b"{\"id\":\"\xff\"}"),
            why("[".repeat(101).as_bytes()),
            why(b"[{}]"),
        ]
        .join("\n")
    );
}

#[test]
fn brackets_inside_strings_are_no_levels() {
    let text = format!(r#"\"{}\\"#, "{[".repeat(500));
    let body = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"GetTask"}}"#, &text[..200]);
    assert!(jsonrpc::read(body.as_bytes()).is_ok());
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{text}"}}"#);
    assert!(jsonrpc::read(body.as_bytes()).is_ok());
}

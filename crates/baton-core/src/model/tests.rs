//! What is read, what is written, and which field is named where something is missing.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{
    AgentCard, Artifact, ArtifactUpdate, Base64, Content, Message, Part, Role, StatusUpdate, TaskObject,
    TaskState, TaskStatus,
};
use crate::limits::{ID_BYTES, MESSAGE_PARTS};

fn read<T: DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).unwrap_or_else(|why| panic!("{text}: {why}"))
}

fn refused<T: DeserializeOwned>(text: &str) -> String {
    serde_json::from_str::<T>(text).map(|_| ()).expect_err(text).to_string()
}

fn write<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap()
}

fn same<T: DeserializeOwned + Serialize>(text: &str) {
    assert_eq!(write(&read::<T>(text)), text);
}

#[test]
fn both_spellings_of_a_member_are_read() {
    let camel = concat!(
        r#"{"messageId":"m","contextId":"c","taskId":"t","role":"ROLE_USER","#,
        r#""parts":[{"text":"x","mediaType":"text/plain"}],"referenceTaskIds":["r"]}"#
    );
    let snake = concat!(
        r#"{"message_id":"m","context_id":"c","task_id":"t","role":1,"#,
        r#""parts":[{"text":"x","media_type":"text/plain"}],"reference_task_ids":["r"],"unknown":{"a":[1]}}"#
    );
    assert_eq!(read::<Message>(snake), read::<Message>(camel));
    same::<Message>(camel);
}

#[test]
fn null_and_the_empty_text_are_unset() {
    let message: Message = read(concat!(
        r#"{"messageId":null,"contextId":"","taskId":null,"role":null,"parts":null,"#,
        r#""metadata":null,"extensions":null,"referenceTaskIds":null}"#
    ));
    assert_eq!(message, Message::default());
    assert_eq!(read::<Artifact>(r#"{"artifactId":null,"name":"","parts":null}"#), Artifact::default());
    let task: TaskObject =
        read(r#"{"id":null,"contextId":null,"status":null,"artifacts":null,"history":null,"metadata":null}"#);
    assert_eq!(task, TaskObject::default());
    assert_eq!(read::<StatusUpdate>(r#"{"taskId":null,"status":null}"#), StatusUpdate::default());
    let update: ArtifactUpdate = read(r#"{"artifact":null,"append":null,"lastChunk":null}"#);
    assert_eq!(update, ArtifactUpdate::default());
    assert_eq!(
        read::<TaskStatus>(r#"{"state":null,"message":null,"timestamp":null}"#),
        TaskStatus::default()
    );
}

#[test]
fn enums_are_read_by_name_and_number_and_written_by_name() {
    for number in 0..9 {
        let state: TaskState = read(&number.to_string());
        assert_eq!(state.number(), number);
        assert_eq!(read::<TaskState>(&write(&state)), state);
        assert_eq!(TaskState::from_name(state.as_str()), Some(state));
    }
    assert_eq!(read::<Role>("2"), Role::Agent);
    assert_eq!(write(&Role::Agent), r#""ROLE_AGENT""#);
    for wrong in ["9", "-1", "99999999999", r#""working""#, r#""TASK_STATE_""#, "true", "[]"] {
        let why = refused::<TaskState>(wrong);
        assert!(why.contains("TASK_STATE_WORKING"), "{why}: what would be right is said");
    }
}

#[test]
fn each_kind_of_part_is_read_and_written() {
    for text in [
        r#"{"text":"x"}"#,
        r#"{"text":""}"#,
        r#"{"raw":"AAEC"}"#,
        r#"{"raw":"","filename":"empty.bin"}"#,
        r#"{"url":"https://a.example/x","filename":"x","mediaType":"image/png"}"#,
        r#"{"data":{"a":[1,null]},"metadata":{"k":"v"}}"#,
        r#"{"data":null}"#,
        r#"{"data":false}"#,
    ] {
        same::<Part>(text);
    }
    assert_eq!(read::<Part>(r#"{"text":null,"raw":null,"url":"u"}"#).content, Content::Url("u".into()));
    assert_eq!(read::<Part>(r#"{"text":null}"#).content, Content::Missing);
}

#[test]
fn a_part_holds_one_thing() {
    for two in [r#"{"text":"x","url":"y"}"#, r#"{"text":"","data":1}"#, r#"{"raw":"AA==","url":"y"}"#] {
        assert!(refused::<Part>(two).contains("only one of"), "{two}");
    }
}

#[test]
fn null_data_is_a_value_alone_and_unset_beside_another() {
    same::<Part>(r#"{"data":null}"#);
    let part: Part = read(r#"{"text":"x","raw":null,"url":null,"data":null}"#);
    assert_eq!(write(&part), r#"{"text":"x"}"#);
}

#[test]
fn numbers_keep_their_form() {
    for number in ["3", "3.0", "-0", "1e3", "9007199254740993", "123456789012345678901234567890", "1E-400"] {
        same::<Part>(&format!(r#"{{"data":{number}}}"#));
        same::<Part>(&format!(r#"{{"data":{{"n":[{number}]}},"metadata":{{"n":{number}}}}}"#));
    }
}

#[test]
fn white_space_in_data_is_not_kept_and_its_texts_are() {
    let part: Part = read("{ \"data\" : { \"a b\" : [ 1 ,\n 2 ] , \"c\" : \" \\n x \" } }");
    assert_eq!(write(&part), r#"{"data":{"a b":[1,2],"c":" \n x "}}"#);
}

#[test]
fn base64_comes_in_pieces() {
    for length in [0, 1, 2, 3, 49_151, 49_152, 49_153, 100_000] {
        let bytes: Vec<u8> = (0..length).map(|n: u32| n.to_le_bytes()[0]).collect();
        let base64 = Base64::encode(&bytes);
        assert_eq!(base64.pieces().collect::<Vec<_>>().concat(), bytes);
        assert_eq!(base64.decoded_len(), bytes.len());
    }
}

#[test]
fn base64_is_read_in_both_alphabets_and_written_in_one() {
    for spelling in ["+/8=", "+/8", "-_8=", "-_8"] {
        let part: Part = read(&format!(r#"{{"raw":"{spelling}"}}"#));
        assert_eq!(write(&part), r#"{"raw":"+/8="}"#, "{spelling}");
        let Content::Raw(base64) = part.content else { panic!("{part:?}") };
        assert_eq!(base64.decode(), [0xfb, 0xff]);
        assert_eq!(base64.decoded_len(), 2);
    }
    for wrong in ["a", "a===", "=", "AA=A", "A A=", "AB==", "+_8=", "ä"] {
        assert!(refused::<Part>(&format!(r#"{{"raw":"{wrong}"}}"#)).contains("not base64"), "{wrong}");
    }
}

#[test]
fn metadata_is_an_object() {
    for wrong in ["1", "[]", r#""x""#, "true"] {
        assert!(refused::<Message>(&format!(r#"{{"metadata":{wrong}}}"#)).contains("object"), "{wrong}");
    }
}

#[test]
fn nothing_empty_is_written() {
    let text = Message::text(Role::Agent, "m", "x");
    assert_eq!(write(&text), r#"{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}"#);
    let artifact = Artifact { artifact_id: "a".into(), parts: vec![Part::text("x")], ..Artifact::default() };
    assert_eq!(write(&artifact), r#"{"artifactId":"a","parts":[{"text":"x"}]}"#);
    let update = ArtifactUpdate {
        task_id: "t".into(),
        context_id: "c".into(),
        artifact: artifact.into(),
        ..ArtifactUpdate::default()
    };
    let expected = r#"{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"x"}]}}"#;
    assert_eq!(write(&update), expected);
    let update = ArtifactUpdate { append: true, last_chunk: true, ..update };
    assert!(write(&update).ends_with(r#""append":true,"lastChunk":true}"#));
    let status = TaskStatus { state: TaskState::Working, ..TaskStatus::default() };
    let task = TaskObject { id: "t".into(), status, ..TaskObject::default() };
    assert_eq!(write(&task), r#"{"id":"t","status":{"state":"TASK_STATE_WORKING"}}"#);
}

#[test]
fn a_card_is_read_leniently() {
    let card: AgentCard = read(concat!(
        r#"{"name":"n","description":null,"supported_interfaces":[{"url":"https://a.example","#,
        r#""protocol_binding":"JSONRPC","protocol_version":"1.0","tenant":""},{"url":null,"protocolBinding":null}],"#,
        r#""provider":{"url":null,"organization":"o"},"documentation_url":"","icon_url":"https://a.example/i","#,
        r#""capabilities":{"streaming":true,"push_notifications":null,"extended_agent_card":false,"#,
        r#""extensions":[{"uri":null,"params":{"n":3.0}}]},"#,
        r#""security_schemes":{"b":{"httpAuthSecurityScheme":{"scheme":"Bearer"}}},"#,
        r#""security_requirements":[{"schemes":{"b":{"list":["read"]},"c":{}}},{"schemes":null}],"#,
        r#""default_input_modes":["text/plain"],"default_output_modes":null,"#,
        r#""skills":[{"id":"s","name":null,"description":null,"tags":null,"input_modes":["a/b"]}],"#,
        r#""signatures":null,"protocolVersion":"0.3.0","url":"https://a.example"}"#
    ));
    let expected = concat!(
        r#"{"name":"n","description":"","supportedInterfaces":[{"url":"https://a.example","#,
        r#""protocolBinding":"JSONRPC","protocolVersion":"1.0"},{"url":"","protocolBinding":"","protocolVersion":""}],"#,
        r#""provider":{"url":"","organization":"o"},"version":"","#,
        r#""capabilities":{"streaming":true,"extensions":[{"uri":"","params":{"n":3.0}}],"extendedAgentCard":false},"#,
        r#""securitySchemes":{"b":{"httpAuthSecurityScheme":{"scheme":"Bearer"}}},"#,
        r#""securityRequirements":[{"schemes":{"b":{"list":["read"]},"c":{}}},{"schemes":{}}],"#,
        r#""defaultInputModes":["text/plain"],"defaultOutputModes":[],"#,
        r#""skills":[{"id":"s","name":"","description":"","tags":[],"inputModes":["a/b"]}],"#,
        r#""iconUrl":"https://a.example/i"}"#
    );
    assert_eq!(write(&card), expected);
    same::<AgentCard>(expected);
}

/// The field that `check` names, if it finds fault.
fn fault(message: &str) -> Option<String> {
    read::<Message>(message).check().err().map(|violation| violation.within("message").field)
}

#[test]
fn a_message_needs_an_id_a_role_and_parts() {
    let whole = r#"{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}"#;
    assert_eq!(fault(whole), None);
    for (message, field) in [
        (r#"{"role":"ROLE_USER","parts":[{"text":"x"}]}"#, "message.messageId"),
        (r#"{"messageId":"m","parts":[{"text":"x"}]}"#, "message.role"),
        (r#"{"messageId":"m","role":"ROLE_UNSPECIFIED","parts":[{"text":"x"}]}"#, "message.role"),
        (r#"{"messageId":"m","role":"ROLE_USER"}"#, "message.parts"),
        (r#"{"messageId":"m","role":"ROLE_USER","parts":[]}"#, "message.parts"),
        (r#"{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"},{}]}"#, "message.parts[1]"),
        (r#"{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"},{"url":""}]}"#, "message.parts[1].url"),
    ] {
        assert_eq!(fault(message).as_deref(), Some(field), "{message}");
    }
}

#[test]
fn ids_and_parts_end_at_their_limits() {
    let message = |id: usize, parts: usize| Message {
        parts: vec![Part::text("x"); parts],
        ..Message::text(Role::User, "m".repeat(id), "x")
    };
    assert_eq!(message(ID_BYTES, MESSAGE_PARTS).check(), Ok(()));
    assert_eq!(message(ID_BYTES + 1, 1).check().unwrap_err().field, "messageId");
    assert_eq!(message(1, MESSAGE_PARTS + 1).check().unwrap_err().field, "parts");
    let artifact = |id: usize, parts: usize| Artifact {
        artifact_id: "a".repeat(id),
        parts: vec![Part::text("x"); parts],
        ..Artifact::default()
    };
    assert_eq!(artifact(ID_BYTES, MESSAGE_PARTS + 1).check(), Ok(()));
    assert_eq!(artifact(0, 1).check().unwrap_err().field, "artifactId");
    assert_eq!(artifact(ID_BYTES + 1, 1).check().unwrap_err().field, "artifactId");
    assert_eq!(artifact(1, 0).check().unwrap_err().field, "parts");
}

#[test]
fn a_piece_adds_its_parts_and_replaces_what_is_said_of_the_whole() {
    let mut whole: Artifact =
        read(r#"{"artifactId":"a","name":"n","parts":[{"text":"1"}],"metadata":{"k":1},"extensions":["x"]}"#);
    whole.append(&read(
        r#"{"artifactId":"a","description":"d","parts":[{"text":"2"}],"extensions":["x","y"]}"#,
    ));
    let expected = concat!(
        r#"{"artifactId":"a","name":"n","description":"d","parts":[{"text":"1"},{"text":"2"}],"#,
        r#""metadata":{"k":1},"extensions":["x","y"]}"#
    );
    assert_eq!(write(&whole), expected);
}

#[test]
fn every_text_has_its_weight() {
    let big = "x".repeat(5_000);
    for member in ["name", "description"] {
        let artifact: Artifact = read(&format!(r#"{{"artifactId":"a","{member}":"{big}"}}"#));
        assert!(artifact.weight() > 5_000, "{member}");
    }
    for member in [r#""text":"B""#, r#""url":"B""#, r#""data":"B""#, r#""text":"","filename":"B""#] {
        let artifact: Artifact =
            read(&format!(r#"{{"artifactId":"a","parts":[{{{}}}]}}"#, member.replace('B', &big)));
        assert!(artifact.weight() > 5_000, "{member}");
    }
    for member in [r#""messageId":"B""#, r#""metadata":{"k":"B"}"#, r#""referenceTaskIds":["B"]"#] {
        let message: Message = read(&format!("{{{}}}", member.replace('B', &big)));
        assert!(message.weight() > 5_000, "{member}");
    }
}

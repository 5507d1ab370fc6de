//! Bytes as what another server of 1.0 answers: results, items of streams and cards, as our client reads them.

use std::fmt::Debug;

use baton_core::model::{AgentCard, Content, Part, StreamResponse, TaskObject, safe_name};
use baton_core::model::{Artifact, TaskPushNotificationConfig};
use baton_wire::client::{self, Binding};
use baton_wire::jsonrpc::{self, Id};
use baton_wire::response::{
    Empty, ListTaskPushNotificationConfigsResponse, ListTasksResponse, SendMessageResponse, encode,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What is read comes back from what is written, in both bindings.
pub fn holds(bytes: &[u8]) {
    comes_back::<SendMessageResponse>(bytes);
    comes_back::<ListTasksResponse>(bytes);
    comes_back::<ListTaskPushNotificationConfigsResponse>(bytes);
    comes_back::<TaskPushNotificationConfig>(bytes);
    comes_back::<AgentCard>(bytes);
    if let Some(task) = comes_back::<TaskObject>(bytes) {
        task.artifacts.iter().flatten().for_each(|artifact| can_be_saved(artifact));
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for binding in [Binding::JsonRpc, Binding::Rest] {
        match client::read_event(binding, text) {
            Ok(item) => item_comes_back(binding, &item),
            Err(why) => assert!(!why.to_string().is_empty()),
        }
    }
}

fn item_comes_back(binding: Binding, item: &StreamResponse) {
    let written = match binding {
        Binding::JsonRpc => jsonrpc::result(&Id::number(1), item),
        Binding::Rest => encode(item),
    };
    let text = std::str::from_utf8(&written).expect("JSON is UTF-8");
    assert!(!text.contains(['\n', '\r']), "one line: {text}");
    assert_eq!(client::read_event(binding, text).as_ref(), Ok(item));
}

fn comes_back<T>(bytes: &[u8]) -> Option<T>
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    for status in [200, 400, 404, 503] {
        if let Err(why) = client::read_jsonrpc::<T>(status, bytes) {
            assert!(!why.to_string().is_empty());
        }
        assert_eq!(client::read_rest::<Empty>(status, bytes).is_ok(), status == 200 && is_whole(bytes));
    }
    let value = client::read_rest::<T>(200, bytes).ok()?;
    assert_eq!(client::read_rest::<T>(200, &encode(&value)).as_ref(), Ok(&value));
    let answer = jsonrpc::result(&Id::number(1), &value);
    assert_eq!(client::read_jsonrpc::<T>(200, &answer).as_ref(), Ok(&value));
    Some(value)
}

/// One JSON value, or nothing.
fn is_whole(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| {
        text.trim_ascii().is_empty() || serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
    })
}

/// Files of an artifact have bytes, and names that stay in their folder.
fn can_be_saved(artifact: &Artifact) {
    for Part { content, filename, .. } in &artifact.parts {
        if let Content::Raw(base64) = content {
            let pieces: Vec<u8> = base64.pieces().flatten().collect();
            assert_eq!(pieces, base64.decode());
            assert_eq!(pieces.len(), base64.decoded_len());
        }
        if let Some(name) = filename.as_deref().and_then(safe_name) {
            assert!(!name.is_empty() && name.len() <= 255, "{name:?}");
            assert!(!name.contains(['/', '\\', ':']) && !name.contains(char::is_control), "{name:?}");
            assert!(!name.starts_with(['.', '-', ' ']), "{name:?}");
        }
    }
}

//! What only gRPC has: frames, statuses, deadlines, and the services beside the agents' own.

use std::time::Duration;

use baton_core::ident::AgentName;
use baton_store::Verb;
use baton_wire::fault::Kind;
use baton_wire::grpc::frame;
use baton_wire::grpc::v1::pb;
use baton_wire::operation::Operation;
use bytes::Bytes;
use prost::Message;
use prost_types::value::Kind as Value;
use serde_json::json;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

use crate::harness::{Answer, Door, TestNode, User, grpc, message, soon, until};

const SEND: &str = "/lf.a2a.v1.A2AService/SendMessage";
const LIST: &str = "/lf.a2a.v1.A2AService/ListTasks";

fn over_grpc(node: &TestNode, agent: &str) -> User {
    node.anyone(agent).over(Door::Grpc)
}

/// A call with these bytes as its whole body.
async fn raw(user: &User, path: &str, body: impl Into<Bytes>) -> Answer {
    user.ask(user.grpc(path, body)).await
}

fn said(parts: Vec<pb::Part>) -> pb::SendMessageRequest {
    let message =
        pb::Message { message_id: "m".into(), role: pb::Role::User.into(), parts, ..pb::Message::default() };
    pb::SendMessageRequest { message: Some(message), ..pb::SendMessageRequest::default() }
}

fn part(content: pb::part::Content) -> pb::Part {
    pb::Part { content: Some(content), ..pb::Part::default() }
}

fn data(kind: Option<Value>) -> pb::SendMessageRequest {
    said(vec![part(pb::part::Content::Data(prost_types::Value { kind }))])
}

#[tokio::test]
async fn what_is_no_frame_is_refused_and_nothing_is_stored() {
    let node = TestNode::start().await;
    let user = over_grpc(&node, "echo");
    let good = frame::write(&said(vec![part(pb::part::Content::Text("x".into()))]));
    let with = |at: usize, byte: u8| {
        let mut bytes = good.to_vec();
        bytes[at] = byte;
        bytes
    };
    for (body, kind) in [
        (Vec::new(), Kind::InvalidRequest),
        (vec![0; 4], Kind::InvalidRequest),
        (good[..good.len() - 1].to_vec(), Kind::InvalidRequest),
        (with(4, 0xff), Kind::InvalidRequest),
        (with(1, 0xff), Kind::InvalidRequest),
        (with(0, 2), Kind::InvalidRequest),
        (with(0, 1), Kind::EncodingNotSupported),
        ([&*good, &*good].concat(), Kind::InvalidRequest),
        (with(5, 0xff), Kind::Parse),
        (b"\0\0\0\0\x04\xff\xff\xff\xff".to_vec(), Kind::Parse),
    ] {
        raw(&user, SEND, body).await.refused(kind);
    }
    let gzip = user.with("grpc-encoding", "gzip");
    let answer = raw(&gzip, SEND, good.clone()).await;
    answer.refused(Kind::EncodingNotSupported);
    assert_eq!(answer.header("grpc-accept-encoding"), Some("identity"));
    assert_eq!(user.list(json!({})).await["totalSize"], 0);
    raw(&user.with("grpc-encoding", "identity"), SEND, good).await.ok();
    node.finish().await;
}

#[tokio::test]
async fn what_is_no_request_names_the_field() {
    let node = TestNode::start().await;
    let user = over_grpc(&node, "echo");
    let message = |change: fn(&mut pb::Message)| {
        let mut request = said(vec![part(pb::part::Content::Text("x".into()))]);
        change(request.message.as_mut().unwrap());
        request
    };
    let history = pb::SendMessageConfiguration { history_length: Some(-1), ..Default::default() };
    for (request, field) in [
        (pb::SendMessageRequest::default(), "message"),
        (message(|message| message.message_id.clear()), "message.messageId"),
        (message(|message| message.role = 0), "message.role"),
        (message(|message| message.role = 9), "message.role"),
        (message(|message| message.parts.clear()), "message.parts"),
        (message(|message| message.parts.push(pb::Part::default())), "message.parts[1]"),
        (data(None), "message.parts[0].data"),
        (data(Some(Value::NumberValue(f64::NAN))), "message.parts[0].data"),
        (data(Some(Value::NumberValue(f64::INFINITY))), "message.parts[0].data"),
        (
            pb::SendMessageRequest { configuration: Some(history), ..message(|_| {}) },
            "configuration.historyLength",
        ),
    ] {
        assert_eq!(raw(&user, SEND, frame::write(&request)).await.invalid(), field, "{request:?}");
    }
    let since = |seconds, nanos| pb::ListTasksRequest {
        status_timestamp_after: Some(prost_types::Timestamp { seconds, nanos }),
        ..pb::ListTasksRequest::default()
    };
    for (request, field) in [
        (pb::ListTasksRequest { status: 99, ..Default::default() }, "status"),
        (pb::ListTasksRequest { page_size: Some(0), ..Default::default() }, "pageSize"),
        (pb::ListTasksRequest { page_size: Some(101), ..Default::default() }, "pageSize"),
        (pb::ListTasksRequest { history_length: Some(-1), ..Default::default() }, "historyLength"),
        (pb::ListTasksRequest { page_token: "x".into(), ..Default::default() }, "pageToken"),
        (since(0, -1), "statusTimestampAfter"),
        (since(i64::MAX, 0), "statusTimestampAfter"),
        (since(0, 1_000_000_000), "statusTimestampAfter"),
    ] {
        assert_eq!(raw(&user, LIST, frame::write(&request)).await.invalid(), field, "{request:?}");
    }
    assert_eq!(user.list(json!({})).await["totalSize"], 0);
    node.finish().await;
}

/// Report 25.
#[tokio::test]
async fn a_message_over_the_limit_is_resource_exhausted() {
    const MOST: usize = 10 * 1024 * 1024;
    let node = TestNode::start().await;
    let user = over_grpc(&node, "echo");
    let of = |bytes: usize| {
        let empty = said(vec![part(pb::part::Content::Text("x".repeat(bytes)))]);
        let text = bytes - (empty.encoded_len() - bytes);
        let request = said(vec![part(pb::part::Content::Text("x".repeat(text)))]);
        assert_eq!(request.encoded_len(), bytes);
        frame::write(&request)
    };
    raw(&user, SEND, of(MOST)).await.ok();
    raw(&user, SEND, of(MOST + 1)).await.refused(Kind::TooLarge);
    assert_eq!(user.list(json!({"historyLength": 0})).await["totalSize"], 1);
    node.finish().await;
}

#[tokio::test]
async fn each_refusal_has_its_code_and_its_details() {
    let node = TestNode::closed().await;
    let holder = node.holder("echo").await.over(Door::Grpc);
    let (_, reader) = node.grant(&["echo"], &[Verb::Read]).await;
    let done = holder.send("x").await["id"].as_str().unwrap().to_owned();
    let unknown = json!({"id": "0199f0a2-7c1e-7d3a-8f00-0a0b0c0d0e0f"});
    let error = holder.call(Operation::GetTask, unknown.clone()).await.refused(Kind::TaskNotFound);
    assert_eq!(error["details"][0]["metadata"]["taskId"], unknown["id"]);
    holder.cancel(&done).await.refused(Kind::TaskNotCancelable);
    holder.subscribe_in_vain(&done).await.refused(Kind::UnsupportedOperation);
    holder.follow_up(&done, "more").await.refused(Kind::UnsupportedOperation);
    reader.over(Door::Grpc).try_send(message("x")).await.refused(Kind::PermissionDenied);
    raw(&holder, "/lf.a2a.v1.A2AService/Nonsense", frame::write(&())).await.refused(Kind::MethodNotFound);
    raw(&holder, "/lf.a2a.v2.A2AService/SendMessage", frame::write(&())).await.refused(Kind::MethodNotFound);
    holder.to("nobody").try_send(message("x")).await.refused(Kind::UnknownPath);
    holder.to("Not A Name").try_send(message("x")).await.refused(Kind::UnknownPath);
    node.finish().await;
}

/// Nothing of the request is read for who may not call.
#[tokio::test]
async fn who_is_not_known_hears_nothing_else() {
    let node = TestNode::closed().await;
    let nobody = over_grpc(&node, "echo");
    for path in [SEND, "/lf.a2a.v1.A2AService/SubscribeToTask", "/lf.a2a.v1.A2AService/Nonsense"] {
        for body in [&b""[..], b"nonsense", b"\0\0\0\0\0"] {
            raw(&nobody, path, body).await.refused(Kind::Unauthenticated);
        }
    }
    let wrong = nobody.with("authorization", "Bearer bt_wrong").with("a2a-version", "99.0");
    wrong.try_send(message("x")).await.refused(Kind::Unauthenticated);
    node.finish().await;
}

#[tokio::test]
async fn the_tenant_names_the_agent_and_none_the_default_one() {
    let node = TestNode::start().await;
    let user = over_grpc(&node, "script");
    let request = frame::write(&said(vec![part(pb::part::Content::Text("x".into()))]));
    let done = raw(&user, SEND, request.clone()).await.ok();
    assert_eq!(done["task"]["artifacts"][0]["parts"][0]["text"], "x", "the default agent is echo");
    assert_eq!(user.list(json!({})).await["totalSize"], 0);
    assert_eq!(user.to("echo").list(json!({})).await["totalSize"], 1);
    node.finish().await;

    let node = TestNode::with(|settings| settings.node.default_agent = None).await;
    let user = over_grpc(&node, "script");
    assert_eq!(raw(&user, SEND, request.clone()).await.invalid(), "tenant");
    node.finish().await;

    let node = TestNode::with(|settings| {
        settings.node.default_agent = None;
        settings.agents.retain(|name, _| *name == AgentName::parse("echo").unwrap());
    })
    .await;
    raw(&over_grpc(&node, "echo"), SEND, request).await.ok();
    node.finish().await;
}

/// The client's deadline ends its wait, not the task; the answer is there before it.
#[tokio::test]
async fn a_deadline_ends_the_wait_and_not_the_task() {
    let node = TestNode::start().await;
    let user = over_grpc(&node, "script");
    let started = std::time::Instant::now();
    let task = soon(user.with("grpc-timeout", "400m").send("go")).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_WORKING");
    assert!(started.elapsed() >= Duration::from_millis(300), "it waited");
    let id = task["id"].as_str().unwrap();
    node.attempt("script").await.complete().await;
    until("the task ends", async || user.state(id).await == "COMPLETED").await;
    node.finish().await;
}

#[tokio::test]
async fn a_stream_ends_with_its_status() {
    let node = TestNode::closed().await;
    let (grant, holder) = node.grant(&["script"], &Verb::ALL).await;
    let user = holder.over(Door::Grpc);
    let stream = user.stream("go").await;
    node.attempt("script").await.complete().await;
    assert_eq!(stream.status().await, None, "a task that ended is a call that went well");

    let stream = user.stream("go").await;
    let attempt = node.attempt("script").await;
    node.revoke(&grant).await;
    let status = stream.status().await.unwrap();
    assert_eq!(status["details"][0]["reason"], "UNAUTHENTICATED", "{status}");
    attempt.complete().await;

    let other = node.holder("script").await.over(Door::Grpc);
    let stream = other.stream("go").await;
    let attempt = node.attempt("script").await;
    let play = async {
        let status = stream.status().await.unwrap();
        assert_eq!((&status["code"], &status["details"][0]["reason"]), (&json!(14), &json!("UNAVAILABLE")));
        attempt.complete().await;
    };
    let (node, ()) = tokio::join!(node.restart(), play);
    node.finish().await;
}

/// A data part is a `google.protobuf.Value`: whole numbers come back as such, and what a double cannot hold is lost.
#[tokio::test]
async fn numbers_are_doubles_and_whole_ones_stay_whole() {
    let node = TestNode::start().await;
    let [rpc, _, grpc] = node.doors("echo");
    let mut said = message("x");
    said["parts"] =
        json!([{"data": {"count": 42, "half": 0.5, "big": 9_007_199_254_740_993_i64, "minus": -7}}]);
    let task = grpc.try_send(said.clone()).await.ok()["task"].take();
    let id = task["id"].as_str().unwrap();
    let kept = rpc.get(id).await["artifacts"][0]["parts"][0]["data"].take();
    assert_eq!(kept, json!({"big": 9_007_199_254_740_992_i64, "count": 42, "half": 0.5, "minus": -7}));
    let task = rpc.try_send(said).await.ok()["task"].take();
    let shown = grpc.get(task["id"].as_str().unwrap()).await["artifacts"][0]["parts"][0]["data"].take();
    assert_eq!(shown["count"], 42);
    node.finish().await;
}

#[tokio::test]
async fn what_is_no_grpc_is_told_so() {
    let node = TestNode::start().await;
    let http = node.anyone("echo").over(Door::Rest);
    for (method, kind, status) in [
        ("GET", "application/grpc", 405),
        ("PUT", "application/grpc", 405),
        ("POST", "application/json", 415),
        ("POST", "application/grpc-web", 415),
        ("POST", "application/grpc+json", 415),
    ] {
        let request = crate::harness::request(method, &http.at_origin(SEND), &[("content-type", kind)], "");
        assert_eq!(http.ask(request).await.status, status, "{method} {kind}");
    }
    node.finish().await;
}

/// A browser sends no gRPC, but what it could send is held off here as well.
#[tokio::test]
async fn dev_mode_takes_no_call_of_a_page() {
    let node = TestNode::start().await;
    let user = over_grpc(&node, "echo").with("origin", "https://evil.example");
    user.try_send(message("x")).await.refused(Kind::PermissionDenied);
    node.finish().await;
}

async fn health(user: &User, service: &str) -> Result<i32, i32> {
    let request = HealthCheckRequest { service: service.to_owned() };
    let request = user.grpc("/grpc.health.v1.Health/Check", frame::write(&request));
    let (mut headers, mut body) = user.bytes(request).await;
    match headers.remove("grpc-status").unwrap().to_str().unwrap() {
        "0" => Ok(HealthCheckResponse::decode(grpc::take(&mut body).unwrap()).unwrap().status),
        code => Err(code.parse().unwrap()),
    }
}

#[tokio::test]
async fn the_node_says_how_it_is() {
    let node = TestNode::closed().await;
    let user = over_grpc(&node, "echo");
    assert_eq!(health(&user, "").await, Ok(1), "SERVING, to anybody");
    assert_eq!(health(&user, "lf.a2a.v1.A2AService").await, Ok(1));
    assert_eq!(health(&user, "nonsense").await, Err(5), "NOT_FOUND");
    for (act, status) in [("lame-duck", 2), ("end-lame-duck", 1)] {
        node.operator("POST", &format!("/api/v1/node/{act}"), None).await.ok();
        assert_eq!(health(&user, "").await, Ok(status), "{act}");
    }
    let holder = node.holder("script").await;
    holder.hand_in("go").await;
    let mut attempt = node.attempt("script").await;
    let play = async {
        assert_eq!(attempt.hears().await, baton::runner::Signal::Drain);
        assert_eq!(health(&user, "").await, Ok(2), "NOT_SERVING");
        attempt.complete().await;
    };
    let (node, ()) = tokio::join!(node.restart(), play);
    node.finish().await;
}

#[tokio::test]
async fn the_definitions_can_be_asked_for() {
    use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
    use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
    use tonic_reflection::pb::v1::{ServerReflectionRequest, ServerReflectionResponse};
    let node = TestNode::closed().await;
    let user = over_grpc(&node, "echo");
    for version in ["v1", "v1alpha"] {
        let path = format!("/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo");
        let ask = async |wanted: MessageRequest| {
            let request = ServerReflectionRequest { host: String::new(), message_request: Some(wanted) };
            let (_, mut body) = user.bytes(user.grpc(&path, frame::write(&request))).await;
            let answer = ServerReflectionResponse::decode(grpc::take(&mut body).unwrap()).unwrap();
            answer.message_response.unwrap()
        };
        let listed = ask(MessageRequest::ListServices(String::new())).await;
        let MessageResponse::ListServicesResponse(listed) = listed else { panic!("{listed:?}") };
        let names: Vec<_> = listed.service.iter().map(|service| &*service.name).collect();
        assert!(names.contains(&"lf.a2a.v1.A2AService"), "{names:?}");
        let file = ask(MessageRequest::FileContainingSymbol("lf.a2a.v1.Task".to_owned())).await;
        assert!(matches!(file, MessageResponse::FileDescriptorResponse(_)), "{file:?}");
    }
    node.finish().await;
}

/// Over TLS the version of HTTP is agreed on in the handshake.
#[tokio::test]
async fn over_tls_it_is_the_same_port_too() {
    use rustls_pki_types::pem::PemObject as _;
    use rustls_pki_types::{CertificateDer, ServerName};
    let certificates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/certificates");
    let (certificate, key) = (certificates.join("cert.pem"), certificates.join("key.pem"));
    let node = TestNode::with(|settings| {
        let at = ([127, 0, 0, 1], 0).into();
        settings.node.listen.push(baton::config::settings::Listen::Https { at, certificate, key });
    })
    .await;
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificates.join("ca.pem")).unwrap()).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let url = &node.node().urls[1];
    let stream = tokio::net::TcpStream::connect(url.trim_start_matches("https://")).await.unwrap();
    let connector = tokio_rustls::TlsConnector::from(std::sync::Arc::new(config));
    let stream = soon(connector.connect(ServerName::try_from("localhost").unwrap(), stream)).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let executor = hyper_util::rt::TokioExecutor::new();
    let io = hyper_util::rt::TokioIo::new(stream);
    let (mut sender, connection) = hyper::client::conn::http2::handshake(executor, io).await.unwrap();
    let connection = tokio::spawn(connection);
    let list = frame::write(&pb::ListTasksRequest::default());
    let request = User::new(url, "echo", None).grpc(LIST, list);
    let response = soon(sender.send_request(request)).await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/grpc");
    connection.abort();
    node.finish().await;
}

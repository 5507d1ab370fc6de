//! The official Rust client of A2A 1.0: the checks of `../python/checks.py`, as far as its library goes.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use a2a::*;
use a2a_client::agent_card::AgentCardResolver;
use a2a_client::{A2AClient, A2AClientFactory, Transport};
use a2a_grpc::GrpcTransportFactory;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::Notify;

/// Far more than any check takes: only what hangs is ended by it.
const PATIENCE: Duration = Duration::from_secs(30);

type Outcome<T = ()> = Result<T, String>;
type Events = BoxStream<'static, Result<StreamResponse, A2AError>>;

struct Face {
    client: A2AClient<Box<dyn Transport>>,
    hook: Hook,
}

fn same<T: PartialEq + std::fmt::Debug>(got: T, wanted: T) -> Outcome {
    if got == wanted { Ok(()) } else { Err(format!("got {got:?}, wanted {wanted:?}")) }
}

fn refused<T: std::fmt::Debug>(code: i32, got: Result<T, A2AError>) -> Outcome {
    match got {
        Err(why) if why.code == code => Ok(()),
        other => Err(format!("wanted {code}, got {other:?}")),
    }
}

fn text_of(parts: &[Part]) -> String {
    let text = |part: &Part| match &part.content {
        PartContent::Text(text) => Some(text.clone()),
        _ => None,
    };
    parts.iter().filter_map(text).collect()
}

fn texts(task: &Task) -> Vec<String> {
    task.artifacts.iter().flatten().map(|artifact| text_of(&artifact.parts)).collect()
}

fn said(task: &Task) -> String {
    task.status.message.as_ref().map(|message| text_of(&message.parts)).unwrap_or_default()
}

fn message(parts: Vec<Part>) -> Message {
    Message::new(Role::User, parts)
}

/// `task SUBMITTED`, `status COMPLETED`, `artifact text`, `message text`.
fn line(event: &StreamResponse) -> String {
    match event {
        StreamResponse::Task(task) => format!("task {:?}", task.status.state),
        StreamResponse::Message(message) => format!("message {}", text_of(&message.parts)),
        StreamResponse::StatusUpdate(update) => format!("status {:?}", update.status.state),
        StreamResponse::ArtifactUpdate(update) => format!("artifact {}", text_of(&update.artifact.parts)),
    }
}

async fn drained(mut events: Events) -> Result<Vec<String>, A2AError> {
    let mut lines = Vec::new();
    while let Some(event) = events.next().await {
        lines.push(line(&event?));
    }
    Ok(lines)
}

fn last(lines: &[String]) -> &str {
    lines.last().map_or("", String::as_str)
}

impl Face {
    fn request(message: Message, at_once: bool) -> SendMessageRequest {
        let configuration = SendMessageConfiguration {
            accepted_output_modes: None,
            task_push_notification_config: None,
            history_length: None,
            return_immediately: Some(at_once),
        };
        SendMessageRequest { message, configuration: Some(configuration), metadata: None, tenant: None }
    }

    async fn try_send(&self, message: Message, at_once: bool) -> Result<Task, A2AError> {
        match self.client.send_message(&Self::request(message, at_once)).await? {
            SendMessageResponse::Task(task) => Ok(task),
            SendMessageResponse::Message(message) => panic!("no task: {message:?}"),
        }
    }

    async fn send(&self, text: &str) -> Outcome<Task> {
        self.try_send(message(vec![Part::text(text)]), false).await.map_err(|why| format!("{why:?}"))
    }

    async fn hand_in(&self, text: &str) -> Outcome<Task> {
        self.try_send(message(vec![Part::text(text)]), true).await.map_err(|why| format!("{why:?}"))
    }

    async fn follow_up(&self, task: &str, text: &str) -> Result<Task, A2AError> {
        let mut message = message(vec![Part::text(text)]);
        message.task_id = Some(task.to_owned());
        self.try_send(message, false).await
    }

    async fn stream(&self, message: Message) -> Result<Vec<String>, A2AError> {
        drained(self.client.send_streaming_message(&Self::request(message, false)).await?).await
    }

    async fn subscribe(&self, task: &str) -> Result<Events, A2AError> {
        self.client.subscribe_to_task(&SubscribeToTaskRequest { id: task.to_owned(), tenant: None }).await
    }

    async fn get(&self, task: &str) -> Result<Task, A2AError> {
        let request = GetTaskRequest { id: task.to_owned(), history_length: None, tenant: None };
        self.client.get_task(&request).await
    }

    async fn cancel(&self, task: &str) -> Result<Task, A2AError> {
        let request = CancelTaskRequest { id: task.to_owned(), metadata: None, tenant: None };
        self.client.cancel_task(&request).await
    }
}

fn told<T>(result: Result<T, A2AError>) -> Outcome<T> {
    result.map_err(|why| format!("{why:?}"))
}

async fn sends(face: &Face) -> Outcome {
    let task = face.send("echo hello").await?;
    same((task.status.state.clone(), texts(&task)), (TaskState::Completed, vec!["echo hello".to_owned()]))?;
    same(texts(&told(face.get(&task.id).await)?), vec!["echo hello".to_owned()])?;
    let task = face.send("chunks").await?;
    same((texts(&task), said(&task)), (vec!["Hello world".to_owned()], "said it all".to_owned()))?;
    same(face.send("reject").await?.status.state, TaskState::Rejected)?;
    same(face.send("fail").await?.status.state, TaskState::Failed)
}

async fn a_send_returns_at_once(face: &Face) -> Outcome {
    let task = face.hand_in("hold").await?;
    same(task.status.state.is_terminal(), false)?;
    same(told(face.cancel(&task.id).await)?.status.state, TaskState::Canceled)
}

async fn streams(face: &Face) -> Outcome {
    let lines = told(face.stream(message(vec![Part::text("chunks")])).await)?;
    same(lines.iter().filter(|line| line.starts_with("task")).count(), 1)?;
    let pieces: String = lines.iter().filter_map(|line| line.strip_prefix("artifact ")).collect();
    same((pieces.as_str(), last(&lines)), ("Hello world", "status Completed"))?;
    let lines = told(face.stream(message(vec![Part::text("ask")])).await)?;
    same(last(&lines), "status InputRequired")
}

async fn a_reply_is_a_message(face: &Face) -> Outcome {
    let request = Face::request(message(vec![Part::text("reply")]), false);
    match told(face.client.send_message(&request).await)? {
        SendMessageResponse::Message(reply) => same(text_of(&reply.parts), "hello".to_owned())?,
        SendMessageResponse::Task(task) => return Err(format!("a task: {task:?}")),
    }
    let lines = told(face.stream(message(vec![Part::text("reply")])).await)?;
    same(lines, vec!["message hello".to_owned()])
}

async fn a_question_is_answered(face: &Face) -> Outcome {
    let asked = face.send("ask").await?;
    same((asked.status.state.clone(), said(&asked)), (TaskState::InputRequired, "Which one?".to_owned()))?;
    let done = told(face.follow_up(&asked.id, "this one").await)?;
    same((done.status.state.clone(), texts(&done)), (TaskState::Completed, vec!["this one".to_owned()]))
}

async fn a_subscriber_sees_the_rest(face: &Face) -> Outcome {
    let task = face.hand_in("hold").await?;
    let mut events = told(face.subscribe(&task.id).await)?;
    let first = events.next().await.ok_or("no event")?;
    same(line(&told(first)?).starts_with("task"), true)?;
    told(face.follow_up(&task.id, "go on").await)?;
    let lines = told(drained(events).await)?;
    same(last(&lines), "status Completed")?;
    same(lines.iter().any(|line| line == "artifact go on"), true)
}

async fn cancelling_is_told_to_a_subscriber(face: &Face) -> Outcome {
    let task = face.hand_in("hold").await?;
    let mut events = told(face.subscribe(&task.id).await)?;
    told(events.next().await.ok_or("no event")?)?;
    same(told(face.cancel(&task.id).await)?.status.state, TaskState::Canceled)?;
    same(last(&told(drained(events).await)?), "status Canceled")
}

async fn files_and_data_come_back(face: &Face) -> Outcome {
    let file = |content| Part {
        content,
        filename: Some("a".to_owned()),
        media_type: Some("text/plain".to_owned()),
        metadata: None,
    };
    // The library makes every number a float.
    let data = serde_json::json!({"list": [1.0, 2.5, null]});
    let parts = vec![
        Part::text("echo"),
        file(PartContent::Raw(b"\0\x01some bytes".to_vec())),
        file(PartContent::Url("https://example.com/a".to_owned())),
        Part { content: PartContent::Data(data), filename: None, media_type: None, metadata: None },
    ];
    let task = told(face.try_send(message(parts.clone()), false).await)?;
    let artifacts = task.artifacts.unwrap_or_default();
    same(artifacts.into_iter().flat_map(|artifact| artifact.parts).collect::<Vec<_>>(), parts)
}

async fn tasks_are_listed(face: &Face) -> Outcome {
    let task = face.send("echo").await?;
    let listed: ListTasksRequest =
        serde_json::from_value(serde_json::json!({"contextId": task.context_id})).map_err(|why| why.to_string())?;
    let page = told(face.client.list_tasks(&listed).await)?;
    same(page.tasks.into_iter().map(|task| task.id).collect::<Vec<_>>(), vec![task.id])
}

async fn refusals(face: &Face) -> Outcome {
    refused(error_code::TASK_NOT_FOUND, face.get("made-up").await)?;
    refused(error_code::TASK_NOT_FOUND, face.cancel("made-up").await)?;
    refused(error_code::TASK_NOT_FOUND, face.follow_up("made-up", "x").await)?;
    let opened = |events: Result<Events, A2AError>| async { drained(events?).await };
    refused(error_code::TASK_NOT_FOUND, opened(face.subscribe("made-up").await).await)?;
    let task = face.send("echo").await?;
    refused(error_code::TASK_NOT_CANCELABLE, face.cancel(&task.id).await)?;
    refused(error_code::UNSUPPORTED_OPERATION, face.follow_up(&task.id, "x").await)?;
    refused(error_code::UNSUPPORTED_OPERATION, opened(face.subscribe(&task.id).await).await)
}

async fn configurations(face: &Face) -> Outcome {
    let task = face.hand_in("hold").await?;
    let url = face.hook.url.clone();
    let config: TaskPushNotificationConfig = serde_json::from_value(serde_json::json!({
        "id": "c", "taskId": task.id, "url": url, "token": "t-1",
        "authentication": {"scheme": "Bearer", "credentials": "s-1"},
    }))
    .map_err(|why| why.to_string())?;
    told(face.client.create_push_config(&config).await)?;
    let request = GetTaskPushNotificationConfigRequest { task_id: task.id.clone(), id: "c".to_owned(), tenant: None };
    same(told(face.client.get_push_config(&request).await)?.url, url)?;
    let listed = ListTaskPushNotificationConfigsRequest {
        task_id: task.id.clone(),
        page_size: None,
        page_token: None,
        tenant: None,
    };
    same(told(face.client.list_push_configs(&listed).await)?.configs.len(), 1)?;
    told(face.follow_up(&task.id, "go on").await)?;
    face.hook.until(|post| post.contains("TASK_STATE_COMPLETED") && post.contains("Bearer s-1")).await?;
    let gone = DeleteTaskPushNotificationConfigRequest { task_id: task.id.clone(), id: "c".to_owned(), tenant: None };
    told(face.client.delete_push_config(&gone).await)?;
    refused(error_code::TASK_NOT_FOUND, face.client.get_push_config(&request).await)
}

async fn the_extended_card(face: &Face) -> Outcome {
    let card = told(face.client.get_extended_agent_card(&GetExtendedAgentCardRequest { tenant: None }).await)?;
    same((card.name, card.skills.len()), ("Clients".to_owned(), 2))
}

/// A webhook's receiver on a free port: what was posted to it, heads and bodies.
struct Hook {
    url: String,
    posts: Arc<Mutex<Vec<String>>>,
    more: Arc<Notify>,
}

impl Hook {
    async fn listen() -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/hook", listener.local_addr()?);
        let posts = Arc::new(Mutex::new(Vec::new()));
        let more = Arc::new(Notify::new());
        let told = (Arc::clone(&posts), Arc::clone(&more));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (all, more) = told.clone();
                tokio::spawn(async move {
                    let (mut post, mut chunk) = (Vec::new(), [0; 4096]);
                    while let Ok(read @ 1..) = stream.read(&mut chunk).await {
                        post.extend_from_slice(&chunk[..read]);
                        if is_whole(&post) {
                            break;
                        }
                    }
                    all.lock().expect("nobody panics with it").push(String::from_utf8_lossy(&post).into_owned());
                    more.notify_waiters();
                    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                    let _ = stream.write_all(answer).await;
                });
            }
        });
        Ok(Self { url, posts, more })
    }

    async fn until(&self, holds: impl Fn(&str) -> bool) -> Outcome {
        let found = async {
            loop {
                // Told of everything that comes after the look.
                let more = self.more.notified();
                if self.posts.lock().expect("nobody panics with it").iter().any(|post| holds(post)) {
                    return;
                }
                more.await;
            }
        };
        let found = tokio::time::timeout(PATIENCE, found).await;
        found.map_err(|_| format!("no such notification among {:?}", self.posts.lock()))
    }
}

/// Whether the head and as much of a body as it says are there.
fn is_whole(post: &[u8]) -> bool {
    let text = String::from_utf8_lossy(post).to_ascii_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
    body.len() >= length.unwrap_or(0)
}

async fn report(binding: &str, name: &str, check: impl Future<Output = Outcome>) -> usize {
    let outcome = tokio::time::timeout(PATIENCE, check).await.unwrap_or_else(|_| Err("it hangs".to_owned()));
    match outcome {
        Ok(()) => println!("PASS {binding} {name}"),
        Err(why) => {
            println!("FAIL {binding} {name}: {why}");
            return 1;
        }
    }
    0
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    let option = |name: &str| {
        args.iter().position(|arg| arg == name).and_then(|at| args.get(at + 1)).cloned().unwrap_or_default()
    };
    let (bindings, without) = (option("--bindings"), option("--without"));
    let card = AgentCardResolver::new(None).resolve(&args[1]).await.expect("the card is there");
    let mut failed = 0;
    for binding in bindings.split(',') {
        // The library would try the card's other interfaces where this one fails.
        let mut card = card.clone();
        card.supported_interfaces.retain(|interface| interface.protocol_binding == binding);
        let factory = A2AClientFactory::builder().register(Arc::new(GrpcTransportFactory::new())).build();
        let client = factory.create_from_card(&card).await.expect("the card names this binding");
        let face = Face { client, hook: Hook::listen().await.expect("a port is free") };
        macro_rules! run {
            ($($check:ident),+) => { $(failed += report(binding, stringify!($check), $check(&face)).await;)+ };
        }
        run!(sends, a_send_returns_at_once, streams, a_reply_is_a_message, a_question_is_answered);
        run!(a_subscriber_sees_the_rest, cancelling_is_told_to_a_subscriber);
        run!(files_and_data_come_back, tasks_are_listed, refusals);
        if !without.contains("push") {
            run!(configurations);
        }
        if !without.contains("extended_card") {
            run!(the_extended_card);
        }
    }
    println!("{}", if failed == 0 { "all passed".to_owned() } else { format!("{failed} failed") });
    std::process::exit(i32::from(failed > 0));
}

//! One operation, whatever its binding: the use case is called and its result is made an answer.

use baton_core::model::{AgentCard, TaskObject, TaskPushNotificationConfig};
use baton_wire::fault::{Fault, Kind};
use baton_wire::request::{Call, ListTasksRequest, SendMessageRequest};
use baton_wire::response::{
    Empty, ListTaskPushNotificationConfigsResponse, ListTasksResponse, SendMessageResponse,
};
use http::HeaderMap;
use serde::{Serialize, Serializer};

use super::super::fault;
use crate::service::follow::Follow;
use crate::service::list::List;
use crate::service::send::{Send, Sent};
use crate::service::{Error, Scope, Service};

/// The extension that makes a repeated send safe: the messageId is the idempotency key.
pub const IDEMPOTENT_SEND: &str = "urn:x-baton:idempotent-send:v1";

const IDEMPOTENCY_KEY: &str = "idempotency-key";
const EXTENSIONS: &str = "a2a-extensions";
const LAST_EVENT_ID: &str = "last-event-id";

/// Bytes of an idempotency key.
const KEY: usize = 255;

/// What an operation answers.
pub enum Answer {
    Sent(SendMessageResponse),
    Task(Box<TaskObject>),
    Page(ListTasksResponse),
    PushConfig(Box<TaskPushNotificationConfig>),
    PushConfigs(ListTaskPushNotificationConfigsResponse),
    Deleted,
    ExtendedCard(Box<AgentCard>),
    Stream(Box<Follow>),
}

/// An answer that is not a stream.
impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Sent(sent) => sent.serialize(serializer),
            Self::Task(task) => task.serialize(serializer),
            Self::Page(page) => page.serialize(serializer),
            Self::PushConfig(config) => config.serialize(serializer),
            Self::PushConfigs(configs) => configs.serialize(serializer),
            Self::Deleted => Empty {}.serialize(serializer),
            Self::ExtendedCard(card) => card.serialize(serializer),
            Self::Stream(_) => serializer.serialize_unit(),
        }
    }
}

/// What the request's headers say beside its operation.
#[derive(Debug, Default)]
pub struct Parameters {
    idempotency_key: Option<String>,
    pub idempotent: bool,
    last_event_id: Option<u64>,
}

impl Parameters {
    pub fn read(headers: &HeaderMap) -> Result<Self, Fault> {
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("\u{0}"));
        let idempotency_key = text(IDEMPOTENCY_KEY)
            .map(|key| {
                let good = (1..=KEY).contains(&key.len()) && !key.chars().any(char::is_control);
                good.then(|| key.to_owned()).ok_or_else(|| {
                    Error::invalid("Idempotency-Key", format!("has 1 to {KEY} printable characters"))
                })
            })
            .transpose();
        let last_event_id = text(LAST_EVENT_ID)
            .filter(|last| !last.is_empty())
            .map(|last| {
                last.parse().map_err(|_| Error::invalid("Last-Event-ID", "is the id of an event: a number"))
            })
            .transpose();
        let idempotent = headers.get_all(EXTENSIONS).iter().any(|value| {
            value.to_str().is_ok_and(|value| value.split(',').any(|uri| uri.trim() == IDEMPOTENT_SEND))
        });
        let invalid = |why| fault::of(why, None);
        Ok(Self {
            idempotency_key: idempotency_key.map_err(invalid)?,
            idempotent,
            last_event_id: last_event_id.map_err(invalid)?,
        })
    }
}

/// Does what was asked.
pub async fn call(
    service: &Service,
    scope: &Scope,
    call: Call,
    parameters: Parameters,
) -> Result<Answer, Fault> {
    let agent = scope.agent.name().as_str();
    if call.tenant().is_some_and(|tenant| tenant != agent) {
        return Err(fault::of(
            Error::invalid("tenant", format!("is not '{agent}', the agent of this URL")),
            None,
        ));
    }
    match call {
        Call::SendMessage(request) => send(service, scope, *request, parameters).await,
        Call::SendStreamingMessage(request) => {
            let id = request.message.task_id.clone();
            let (send, _) = to_send(*request, parameters)?;
            let follow = service.stream(scope, send).await.map_err(|why| fault::of(why, id.as_deref()))?;
            Ok(Answer::Stream(Box::new(follow)))
        }
        Call::GetTask(request) => {
            let snapshot =
                service.load(scope, &request.id).await.map_err(|why| fault::of(why, Some(&request.id)))?;
            Ok(Answer::Task(Box::new(snapshot.object(length(request.history_length), true))))
        }
        Call::ListTasks(request) => list(service, scope, request).await.map_err(|why| fault::of(why, None)),
        Call::CancelTask(request) => {
            let snapshot =
                service.cancel(scope, &request.id).await.map_err(|why| fault::of(why, Some(&request.id)))?;
            Ok(Answer::Task(Box::new(snapshot.object(None, true))))
        }
        Call::SubscribeToTask(request) => {
            let follow = service.subscribe(scope, &request.id, parameters.last_event_id).await;
            Ok(Answer::Stream(Box::new(follow.map_err(|why| fault::of(why, Some(&request.id)))?)))
        }
        Call::CreateTaskPushNotificationConfig(_)
        | Call::GetTaskPushNotificationConfig(_)
        | Call::ListTaskPushNotificationConfigs(_)
        | Call::DeleteTaskPushNotificationConfig(_) => Err(fault::of(Error::PushNotSupported, None)),
        Call::GetExtendedAgentCard(_) => {
            Err(Fault::new(Kind::UnsupportedOperation).with_message("This agent has no extended card"))
        }
    }
}

async fn send(
    service: &Service,
    scope: &Scope,
    request: SendMessageRequest,
    parameters: Parameters,
) -> Result<Answer, Fault> {
    let id = request.message.task_id.clone();
    let (send, history) = to_send(request, parameters)?;
    let sent = service.send(scope, send).await.map_err(|why| fault::of(why, id.as_deref()))?;
    Ok(Answer::Sent(match sent {
        Sent::Task(snapshot) => SendMessageResponse::Task(snapshot.object(history, true)),
        Sent::Message(message) => SendMessageResponse::Message(message),
    }))
}

fn to_send(request: SendMessageRequest, parameters: Parameters) -> Result<(Send, Option<usize>), Fault> {
    let configuration = request.configuration;
    if configuration.task_push_notification_config.is_some() {
        return Err(fault::of(Error::PushNotSupported, None));
    }
    let key = parameters
        .idempotency_key
        .or_else(|| parameters.idempotent.then(|| request.message.message_id.clone()));
    let send = Send {
        message: request.message,
        accepted_output_modes: configuration.accepted_output_modes,
        metadata: request.metadata,
        return_immediately: configuration.return_immediately,
        idempotency_key: key,
    };
    Ok((send, length(configuration.history_length)))
}

async fn list(service: &Service, scope: &Scope, request: ListTasksRequest) -> Result<Answer, Error> {
    let listed = service
        .list(
            scope,
            List {
                context: request.context_id,
                state: request.status,
                since: request.status_timestamp_after,
                size: length(request.page_size),
                page_token: request.page_token,
                history: length(request.history_length),
                artifacts: request.include_artifacts,
            },
        )
        .await?;
    let history = length(request.history_length);
    Ok(Answer::Page(ListTasksResponse {
        tasks: listed.tasks.iter().map(|task| task.object(history, request.include_artifacts)).collect(),
        next_page_token: listed.next_page_token,
        page_size: i32::try_from(listed.size).unwrap_or(i32::MAX),
        total_size: i32::try_from(listed.total).unwrap_or(i32::MAX),
    }))
}

/// A length that was checked not to be negative.
fn length(asked: Option<i32>) -> Option<usize> {
    asked.and_then(|asked| usize::try_from(asked).ok())
}

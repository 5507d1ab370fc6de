//! One operation, whatever its binding: the use case is called and its result is made an answer.

use std::time::Duration;

use baton_core::model::{AgentCard, TaskObject, TaskPushNotificationConfig};
use baton_store::Edition;
use baton_wire::fault::{Fault, Kind};
use baton_wire::request::{Call, ListTasksRequest, SendMessageRequest};
use baton_wire::response::{
    Empty, ListTaskPushNotificationConfigsResponse, ListTasksResponse, SendMessageResponse,
};
use baton_wire::v03::card::Card;
use baton_wire::v03::{Spell, Spelling};
use baton_wire::version::Version;
use http::header::{CACHE_CONTROL, HeaderName, VARY};
use http::{HeaderMap, HeaderValue};
use serde::{Serialize, Serializer};

use super::super::fault;
use super::extensions::Activated;
use crate::service::follow::Follow;
use crate::service::list::List;
use crate::service::send::{Send, Sent, check_key};
use crate::service::{Error, Scope, Service};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

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

impl Answer {
    /// What HTTP caches need to know: an extended card is for its caller only.
    pub fn headers(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> + use<> {
        let private = matches!(self, Self::ExtendedCard(_));
        let headers = [(CACHE_CONTROL, "private, max-age=60"), (VARY, "authorization")];
        let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
        headers.into_iter().filter(move |_| private)
    }
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

/// The same in 0.3.
impl Spell for Answer {
    fn spell<S: Serializer>(&self, spelling: Spelling, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Sent(sent) => sent.spell(spelling, to),
            Self::Task(task) => task.spell(spelling, to),
            Self::Page(page) => page.spell(spelling, to),
            Self::PushConfig(config) => config.spell(spelling, to),
            Self::PushConfigs(configs) => configs.spell(spelling, to),
            Self::Deleted => Empty {}.spell(spelling, to),
            Self::ExtendedCard(card) => {
                // Over HTTP every agent speaks both versions at one URL.
                let http = card.supported_interfaces.iter().filter(|at| at.protocol_binding != "GRPC");
                let interfaces: Vec<_> = http.cloned().collect();
                Card { card, interfaces: &interfaces }.serialize(to)
            }
            Self::Stream(_) => to.serialize_unit(),
        }
    }
}

/// What the request says beside its operation: its version, and its headers.
#[derive(Debug)]
pub struct Parameters {
    idempotency_key: Option<String>,
    pub activated: Activated,
    last_event_id: Option<u64>,
    /// What the receivers of push notifications read: what the client speaks. A configuration keeps it.
    pub edition: Edition,
    /// The longest that a blocking call may take; the node's own limit where there is none.
    pub wait: Option<Duration>,
}

impl Parameters {
    /// Refuses a request that does not name the extensions that the agent requires.
    pub fn read(headers: &HeaderMap, scope: &Scope, version: Version) -> Result<Self, Fault> {
        let activated = Activated::read(headers, &scope.agent.settings)?;
        let text = |name: &HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("\u{0}"));
        let idempotency_key = text(&IDEMPOTENCY_KEY)
            .map(|key| check_key("Idempotency-Key", key).map(|()| key.to_owned()))
            .transpose();
        let last_event_id = text(&LAST_EVENT_ID)
            .filter(|last| !last.is_empty())
            .map(|last| {
                last.parse().map_err(|_| Error::invalid("Last-Event-ID", "is the id of an event: a number"))
            })
            .transpose();
        let invalid = |why| fault::of(why, None);
        Ok(Self {
            idempotency_key: idempotency_key.map_err(invalid)?,
            activated,
            last_event_id: last_event_id.map_err(invalid)?,
            edition: match version {
                Version::V1_0 => Edition::V1,
                Version::V0_3 => Edition::V03,
            },
            wait: None,
        })
    }
}

/// Does what was asked. That a grant does not allow it is counted.
pub async fn call(
    service: &Service,
    scope: &Scope,
    call: Call,
    parameters: Parameters,
) -> Result<Answer, Fault> {
    let operation = call.operation();
    let answered = run(service, scope, call, parameters).await;
    if answered.as_ref().is_err_and(|fault| fault.kind == Kind::PermissionDenied) {
        service.note_refused(scope, operation.method());
    }
    answered
}

async fn run(service: &Service, scope: &Scope, call: Call, parameters: Parameters) -> Result<Answer, Fault> {
    let agent = scope.agent.name().as_str();
    if call.tenant().is_some_and(|tenant| tenant != agent) {
        return Err(fault::of(
            Error::invalid("tenant", format!("is not '{agent}', the agent of this URL")),
            None,
        ));
    }
    // A future is as large as the largest that it may have to hold: what is asked for less often is kept elsewhere.
    match call {
        Call::SendMessage(request) => send(service, scope, request, parameters).await,
        Call::SendStreamingMessage(request) => {
            let id = request.message.task_id.clone();
            let (send, _) = to_send(request, parameters);
            let follow = Box::pin(service.stream(scope, send)).await;
            let follow = follow.map_err(|why| fault::of(why, id.as_deref()))?;
            Ok(Answer::Stream(Box::new(follow)))
        }
        Call::GetTask(request) => {
            let snapshot =
                service.load(scope, &request.id).await.map_err(|why| fault::of(why, Some(&request.id)))?;
            Ok(Answer::Task(Box::new(snapshot.object(length(request.history_length), true))))
        }
        Call::ListTasks(request) => {
            Box::pin(list(service, scope, request)).await.map_err(|why| fault::of(why, None))
        }
        Call::CancelTask(request) => {
            let canceled = Box::pin(service.cancel(scope, &request.id)).await;
            let snapshot = canceled.map_err(|why| fault::of(why, Some(&request.id)))?;
            Ok(Answer::Task(Box::new(snapshot.object(None, true))))
        }
        Call::SubscribeToTask(request) => {
            let follow = Box::pin(service.subscribe(scope, &request.id, parameters.last_event_id)).await;
            Ok(Answer::Stream(Box::new(follow.map_err(|why| fault::of(why, Some(&request.id)))?)))
        }
        Call::CreateTaskPushNotificationConfig(config) => {
            let id = config.task_id.clone();
            let created = Box::pin(service.create_push(scope, config, parameters.edition)).await;
            let config = created.map_err(|why| fault::of(why, id.as_deref()))?;
            Ok(Answer::PushConfig(Box::new(config)))
        }
        Call::GetTaskPushNotificationConfig(request) => {
            let found = Box::pin(service.load_push(scope, &request.task_id, &request.id)).await;
            let config = found.map_err(|why| fault::of(why, Some(&request.task_id)))?;
            Ok(Answer::PushConfig(Box::new(config)))
        }
        Call::ListTaskPushNotificationConfigs(request) => {
            let size = length(request.page_size).filter(|size| *size > 0);
            let page = (size, request.page_token.as_deref());
            let listed = Box::pin(service.list_push(scope, &request.task_id, page)).await;
            let (configs, next_page_token) = listed.map_err(|why| fault::of(why, Some(&request.task_id)))?;
            Ok(Answer::PushConfigs(ListTaskPushNotificationConfigsResponse { configs, next_page_token }))
        }
        Call::DeleteTaskPushNotificationConfig(request) => {
            let deleted = Box::pin(service.delete_push(scope, &request.task_id, &request.id)).await;
            deleted.map_err(|why| fault::of(why, Some(&request.task_id)))?;
            Ok(Answer::Deleted)
        }
        Call::GetExtendedAgentCard(_) => {
            let card = service.extended_card(scope).map_err(|why| fault::of(why, None))?;
            Ok(Answer::ExtendedCard(Box::new(card)))
        }
    }
}

async fn send(
    service: &Service,
    scope: &Scope,
    request: Box<SendMessageRequest>,
    parameters: Parameters,
) -> Result<Answer, Fault> {
    let id = request.message.task_id.clone();
    let (send, history) = to_send(request, parameters);
    let sent = service.send(scope, send).await.map_err(|why| fault::of(why, id.as_deref()))?;
    Ok(Answer::Sent(match sent {
        Sent::Task(snapshot) => SendMessageResponse::Task(snapshot.object(history, true)),
        Sent::Message(message) => SendMessageResponse::Message(message),
    }))
}

fn to_send(request: Box<SendMessageRequest>, parameters: Parameters) -> (Box<Send>, Option<usize>) {
    let configuration = request.configuration;
    let key = parameters
        .idempotency_key
        .or_else(|| parameters.activated.idempotent_send.then(|| request.message.message_id.clone()));
    let send = Box::new(Send {
        message: request.message,
        accepted_output_modes: configuration.accepted_output_modes,
        metadata: request.metadata,
        extensions: parameters.activated.of_agent,
        return_immediately: configuration.return_immediately,
        idempotency_key: key,
        push: configuration.task_push_notification_config.map(|config| (config, parameters.edition)),
        wait: parameters.wait,
    });
    (send, length(configuration.history_length))
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

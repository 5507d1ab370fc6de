//! Owns the official Rust SDK as its users meet it: the default handler over the in-memory store, JSON-RPC,
//! and an agent that answers with one artifact and COMPLETED.

use std::sync::Arc;

use a2a::{
    A2AError, Artifact, StreamResponse, TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent,
};
use a2a_server::{AgentExecutor, DefaultRequestHandler, ExecutorContext, InMemoryTaskStore};
use axum::Router;
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};

pub fn router() -> Router {
    let handler = DefaultRequestHandler::new(Echo, InMemoryTaskStore::new());
    a2a_server::jsonrpc::jsonrpc_router(Arc::new(handler))
}

struct Echo;

impl AgentExecutor for Echo {
    fn execute(&self, context: ExecutorContext) -> BoxStream<'static, Result<StreamResponse, A2AError>> {
        let artifact = StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id: context.task_id.clone(),
            context_id: context.context_id.clone(),
            artifact: Artifact {
                artifact_id: a2a::new_artifact_id(),
                name: None,
                description: None,
                parts: context.message.map(|message| message.parts).unwrap_or_default(),
                metadata: None,
                extensions: None,
            },
            append: None,
            last_chunk: Some(true),
            metadata: None,
        });
        let completed = status(context.task_id, context.context_id, TaskState::Completed);
        stream::iter([Ok(artifact), Ok(completed)]).boxed()
    }

    fn cancel(&self, context: ExecutorContext) -> BoxStream<'static, Result<StreamResponse, A2AError>> {
        let canceled = status(context.task_id, context.context_id, TaskState::Canceled);
        stream::iter([Ok(canceled)]).boxed()
    }
}

fn status(task_id: a2a::TaskId, context_id: String, state: TaskState) -> StreamResponse {
    StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
        task_id,
        context_id,
        status: TaskStatus { state, message: None, timestamp: Some(chrono::Utc::now()) },
        metadata: None,
    })
}

"""The official Python library of A2A 1.0 (`a2a-sdk` 1.x)."""

import base64
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as pb
from a2a.utils import errors
from google.protobuf import json_format

import checks

CODES = {
    errors.TaskNotFoundError: -32001,
    errors.TaskNotCancelableError: -32002,
    errors.PushNotificationNotSupportedError: -32003,
    errors.UnsupportedOperationError: -32004,
}


def to_part(part):
    kind, value, *more = part
    if kind == "text":
        return pb.Part(text=value)
    if kind == "data":
        return json_format.ParseDict({"data": value}, pb.Part())
    media, name = more
    if kind == "bytes":
        return pb.Part(raw=base64.b64decode(value), media_type=media, filename=name)
    return pb.Part(url=value, media_type=media, filename=name)


def from_part(part):
    kind = part.WhichOneof("content")
    if kind == "text":
        return ("text", part.text)
    if kind == "data":
        return ("data", json_format.MessageToDict(part)["data"])
    if kind == "raw":
        return ("bytes", base64.b64encode(part.raw).decode(), part.media_type, part.filename)
    return ("uri", part.url, part.media_type, part.filename)


def text_of(parts):
    return "".join(part.text for part in parts)


def state_of(status):
    return pb.TaskState.Name(status.state).removeprefix("TASK_STATE_").lower().replace("_", "-")


def from_task(task):
    return {
        "id": task.id,
        "context": task.context_id,
        "state": state_of(task.status),
        "said": text_of(task.status.message.parts),
        "texts": [text_of(artifact.parts) for artifact in task.artifacts],
        "parts": [from_part(part) for artifact in task.artifacts for part in artifact.parts],
        "history": len(task.history),
    }


def from_event(event):
    kind = event.WhichOneof("payload")
    if kind == "message":
        return ("message", text_of(event.message.parts))
    if kind == "task":
        return ("task", state_of(event.task.status))
    if kind == "artifact_update":
        return ("artifact", text_of(event.artifact_update.artifact.parts))
    return ("status", state_of(event.status_update.status))


class Face:
    def __init__(self, card, config):
        self.streaming = ClientFactory(config(True)).create(card)
        self.plain = ClientFactory(config(False)).create(card)

    def can(self, what):
        return {"push_inline": "push"}.get(what, what) not in self.without

    def error(self, why):
        return (next((code for kind, code in CODES.items() if isinstance(why, kind)), None), None)

    def lost(self, kind):
        return kind

    def request(self, text, task=None, context=None, blocking=True, parts=None, push=None):
        parts = [to_part(part) for part in parts or [("text", text)]]
        request = pb.SendMessageRequest(
            message=pb.Message(
                message_id=uuid.uuid4().hex, role=pb.ROLE_USER, parts=parts, task_id=task, context_id=context
            )
        )
        request.configuration.return_immediately = not blocking
        if push:
            request.configuration.task_push_notification_config.url = push
        return request

    async def send(self, *args, **more):
        async for event in self.plain.send_message(self.request(*args, **more)):
            if event.HasField("message"):
                return {"message": text_of(event.message.parts)}
            return from_task(event.task)

    async def stream(self, *args, **more):
        async for event in self.streaming.send_message(self.request(*args, **more)):
            yield from_event(event)

    async def get(self, task, history=None):
        return from_task(await self.plain.get_task(pb.GetTaskRequest(id=task, history_length=history)))

    async def cancel(self, task):
        return from_task(await self.plain.cancel_task(pb.CancelTaskRequest(id=task)))

    async def subscribe(self, task):
        async for event in self.streaming.subscribe(pb.SubscribeToTaskRequest(id=task)):
            yield from_event(event)

    async def list(self, context):
        page = await self.plain.list_tasks(pb.ListTasksRequest(context_id=context))
        assert page.total_size == len(page.tasks), page
        return [from_task(task) for task in page.tasks]

    async def push_set(self, task, config, url, token="", scheme=None, credentials=""):
        hook = pb.TaskPushNotificationConfig(id=config, task_id=task, url=url, token=token)
        if scheme:
            hook.authentication.scheme, hook.authentication.credentials = scheme, credentials
        await self.plain.create_task_push_notification_config(hook)

    async def push_get(self, task, config):
        request = pb.GetTaskPushNotificationConfigRequest(task_id=task, id=config)
        got = await self.plain.get_task_push_notification_config(request)
        return (got.id, got.url)

    async def push_list(self, task):
        request = pb.ListTaskPushNotificationConfigsRequest(task_id=task)
        return [(got.id, got.url) for got in (await self.plain.list_task_push_notification_configs(request)).configs]

    async def push_delete(self, task, config):
        request = pb.DeleteTaskPushNotificationConfigRequest(task_id=task, id=config)
        await self.plain.delete_task_push_notification_config(request)

    @staticmethod
    def pushed_state(body):
        event = json_format.ParseDict(body, pb.StreamResponse())
        kind = event.WhichOneof("payload")
        return {"task": lambda: state_of(event.task.status), "status_update": lambda: state_of(event.status_update.status)}.get(
            kind, lambda: None
        )()

    async def extended_card(self):
        card = await self.plain.get_extended_agent_card(pb.GetExtendedAgentCardRequest())
        return (card.name, [skill.id for skill in card.skills])

    async def close(self):
        await self.plain.close()
        await self.streaming.close()


async def connect(url, binding):
    limits = httpx.Limits(max_connections=200)
    # For streams the library's own patience: it gives up after five seconds without a byte. A send that waits has no bytes.
    http = httpx.AsyncClient(limits=limits)
    patient = httpx.AsyncClient(limits=limits, timeout=checks.PATIENCE)
    card = await A2ACardResolver(http, url).get_agent_card()

    def config(streaming):
        made = ClientConfig(
            streaming=streaming,
            httpx_client=http if streaming else patient,
            supported_protocol_bindings=[binding],
            use_client_preference=True,
        )
        if binding == "GRPC":
            import grpc.aio

            made.grpc_channel_factory = grpc.aio.insecure_channel
        return made

    return Face(card, config)


if __name__ == "__main__":
    checks.main(connect)

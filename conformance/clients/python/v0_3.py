"""The official Python library of A2A 0.3 (`a2a-sdk` 0.3)."""

import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientHTTPError, A2AClientJSONRPCError
from a2a.types import (
    DataPart,
    FilePart,
    FileWithBytes,
    FileWithUri,
    GetTaskPushNotificationConfigParams,
    Message,
    MessageSendConfiguration,
    Part,
    PushNotificationAuthenticationInfo,
    PushNotificationConfig,
    Role,
    Task,
    TaskArtifactUpdateEvent,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TextPart,
)

import checks


def to_part(part):
    kind, value, *more = part
    if kind == "text":
        return Part(root=TextPart(text=value))
    if kind == "data":
        return Part(root=DataPart(data=value))
    media, name = more
    file = FileWithBytes(bytes=value, mime_type=media, name=name) if kind == "bytes" else None
    return Part(root=FilePart(file=file or FileWithUri(uri=value, mime_type=media, name=name)))


def from_part(part):
    root = part.root
    if root.kind == "text":
        return ("text", root.text)
    if root.kind == "data":
        return ("data", root.data)
    file = root.file
    kind, value = ("bytes", file.bytes) if isinstance(file, FileWithBytes) else ("uri", file.uri)
    return (kind, value, file.mime_type, file.name)


def text_of(parts):
    return "".join(part.root.text for part in parts if part.root.kind == "text")


def from_task(task):
    said = task.status.message
    artifacts = task.artifacts or []
    return {
        "id": task.id,
        "context": task.context_id,
        "state": task.status.state.value,
        "said": text_of(said.parts) if said else "",
        "texts": [text_of(artifact.parts) for artifact in artifacts],
        "parts": [from_part(part) for artifact in artifacts for part in artifact.parts],
        "history": len(task.history or []),
    }


def from_event(event):
    if isinstance(event, Message):
        return ("message", text_of(event.parts))
    task, update = event
    if update is None:
        return ("task", task.status.state.value)
    if isinstance(update, TaskArtifactUpdateEvent):
        return ("artifact", text_of(update.artifact.parts))
    return ("status", update.status.state.value)


class Face:
    def __init__(self, card, config, http):
        factory = ClientFactory(config)
        config.streaming = True
        self.streaming = factory.create(card)
        plain = ClientFactory(
            ClientConfig(
                streaming=False,
                httpx_client=http,
                grpc_channel_factory=config.grpc_channel_factory,
                supported_transports=config.supported_transports,
                use_client_preference=True,
            )
        )
        self.plain = plain.create(card)

    def can(self, what):
        # The library has neither a list of tasks nor, of configurations, more than set and get.
        if what == "push_inline":
            # Over REST and gRPC the library trips over its own configuration, before anything is sent.
            return self.binding == "JSONRPC" and self.can("push")
        return what in ("push", "extended_card") and what not in self.without

    def error(self, why):
        if isinstance(why, A2AClientJSONRPCError):
            return (why.error.code, None)
        if isinstance(why, A2AClientHTTPError):
            return (None, why.status_code)
        if hasattr(why, "code") and callable(why.code):  # grpc
            return (None, {"NOT_FOUND": 404, "FAILED_PRECONDITION": 400}.get(why.code().name))
        return (None, None)

    def lost(self, kind):
        """Over REST the library takes any answer that is no stream for a wrong request."""
        return "UnsupportedOperation" if self.binding == "HTTP+JSON" else kind

    def message(self, text, task, context, parts):
        parts = [to_part(part) for part in parts or [("text", text)]]
        return Message(message_id=uuid.uuid4().hex, role=Role.user, parts=parts, task_id=task, context_id=context)

    async def send(self, text, task=None, context=None, blocking=True, parts=None, push=None):
        hook = PushNotificationConfig(url=push) if push else None
        configuration = MessageSendConfiguration(blocking=blocking, push_notification_config=hook)
        message = self.message(text, task, context, parts)
        async for event in self.plain.send_message(message, configuration=configuration):
            if isinstance(event, Message):
                return {"message": text_of(event.parts)}
            assert isinstance(event[0], Task)
            return from_task(event[0])

    async def stream(self, text, task=None, context=None):
        async for event in self.streaming.send_message(self.message(text, task, context, None)):
            yield from_event(event)

    async def get(self, task, history=None):
        return from_task(await self.plain.get_task(TaskQueryParams(id=task, history_length=history)))

    async def cancel(self, task):
        return from_task(await self.plain.cancel_task(TaskIdParams(id=task)))

    async def subscribe(self, task):
        async for event in self.streaming.resubscribe(TaskIdParams(id=task)):
            yield from_event(event)

    async def push_set(self, task, config, url, token=None, scheme=None, credentials=None):
        authentication = None
        if scheme:
            authentication = PushNotificationAuthenticationInfo(schemes=[scheme], credentials=credentials)
        hook = PushNotificationConfig(id=config, url=url, token=token, authentication=authentication)
        await self.plain.set_task_callback(TaskPushNotificationConfig(task_id=task, push_notification_config=hook))

    async def push_get(self, task, config):
        params = GetTaskPushNotificationConfigParams(id=task, push_notification_config_id=config)
        got = (await self.plain.get_task_callback(params)).push_notification_config
        return (got.id, got.url)

    @staticmethod
    def pushed_state(body):
        assert body.get("kind") == "task", f"a configuration of 0.3 gets tasks, not {body!r}"
        return Task.model_validate(body).status.state.value

    async def extended_card(self):
        card = await self.plain.get_card()
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
    config = ClientConfig(httpx_client=http, supported_transports=[binding], use_client_preference=True)
    if binding == "GRPC":
        import grpc.aio

        config.grpc_channel_factory = grpc.aio.insecure_channel
    return Face(card, config, patient)


if __name__ == "__main__":
    checks.main(connect)

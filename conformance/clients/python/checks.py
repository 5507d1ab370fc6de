"""What a client of A2A must be able to do, whatever its library: a table of checks over a small face that each library
is given in `v0_3.py` and `v1.py`."""

import argparse
import asyncio
import base64
import json
import sys
import threading
import traceback
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Far more than any check takes: only what hangs is ended by it.
PATIENCE = 30

# Code of JSON-RPC and HTTP status.
KINDS = {
    "TaskNotFound": (-32001, 404),
    "TaskNotCancelable": (-32002, 400),
    "PushNotificationNotSupported": (-32003, 400),
    "UnsupportedOperation": (-32004, 400),
}

CHECKS = []


def check(needs=None):
    """Adds a check; `needs` is what the face must have for it."""

    def add(function):
        CHECKS.append((function.__name__, needs, function))
        return function

    return add


def same(got, wanted):
    if got != wanted:
        raise AssertionError(f"got {got!r}, wanted {wanted!r}")


async def refuses(face, kind, awaitable):
    code, status = KINDS[kind]
    try:
        got = await awaitable
    except Exception as why:  # whatever the library raises
        said = face.error(why)
        # One of the two is enough: a library that loses the code keeps the status.
        if said not in ((code, None), (None, status), (code, status)):
            raise AssertionError(f"wanted {kind}, got {said} from {type(why).__name__}: {why}") from why
        return
    raise AssertionError(f"wanted {kind}, got {got!r}")


async def drained(stream):
    return [event async for event in stream]


# The checks. A task is a dict: id, context, state, said (its status message), texts (of its artifacts), parts (of its
# artifacts), history (how many messages). An event is a pair of its kind and what it says.


@check()
async def a_send_waits_for_the_end(face):
    task = await face.send("echo hello")
    same((task["state"], task["texts"]), ("completed", ["echo hello"]))
    same((await face.get(task["id"]))["texts"], ["echo hello"])


@check()
async def a_send_returns_at_once(face):
    task = await face.send("hold", blocking=False)
    assert task["state"] in ("submitted", "working"), task
    same((await face.cancel(task["id"]))["state"], "canceled")


@check()
async def a_stream_runs_to_its_end(face):
    events = await drained(face.stream("chunks"))
    kinds = [kind for kind, _ in events]
    assert kinds[0] in ("task", "status"), events
    same(kinds.count("task"), 1)
    same("".join(text for kind, text in events if kind == "artifact"), "Hello world")
    same(events[-1], ("status", "completed"))


@check()
async def an_artifact_in_pieces_is_one(face):
    task = await face.send("chunks")
    same((task["texts"], task["said"]), (["Hello world"], "said it all"))


@check()
async def a_reply_is_a_message(face):
    same(await face.send("reply"), {"message": "hello"})


@check()
async def a_streamed_reply_is_a_message(face):
    same(await drained(face.stream("reply")), [("message", "hello")])


@check()
async def a_question_is_answered(face):
    asked = await face.send("ask")
    same((asked["state"], asked["said"]), ("input-required", "Which one?"))
    done = await face.send("this one", task=asked["id"], context=asked["context"])
    same((done["id"], done["state"], done["texts"]), (asked["id"], "completed", ["this one"]))


@check()
async def a_stream_ends_at_a_question(face):
    events = await drained(face.stream("ask"))
    same(events[-1], ("status", "input-required"))


@check()
async def a_question_is_answered_in_a_stream(face):
    asked = await face.send("ask")
    events = await drained(face.stream("that one", task=asked["id"], context=asked["context"]))
    same(events[-1], ("status", "completed"))
    assert ("artifact", "that one") in events, events


@check()
async def cancelling_is_told_to_a_subscriber(face):
    task = await face.send("hold", blocking=False)
    stream = face.subscribe(task["id"])
    first = await anext(stream)
    same(first[0], "task")
    same((await face.cancel(task["id"]))["state"], "canceled")
    same((await drained(stream))[-1], ("status", "canceled"))


@check()
async def a_subscriber_sees_the_rest(face):
    task = await face.send("hold", blocking=False)
    stream = face.subscribe(task["id"])
    same((await anext(stream))[0], "task")
    await face.send("go on", task=task["id"], context=task["context"])
    events = await drained(stream)
    same(events[-1], ("status", "completed"))
    assert ("artifact", "go on") in events, events


# A widespread client gives up after five seconds without a byte.
@check()
async def a_silent_stream_stays_open(face):
    task = await face.send("hold", blocking=False)
    stream = face.subscribe(task["id"])
    await anext(stream)
    rest = asyncio.ensure_future(drained(stream))
    done, _ = await asyncio.wait({rest}, timeout=6)
    assert not done, f"the stream ended: {rest.result()!r}"
    await face.send("go on", task=task["id"], context=task["context"])
    same((await rest)[-1], ("status", "completed"))


@check()
async def a_task_is_rejected(face):
    task = await face.send("reject")
    same((task["state"], task["said"]), ("rejected", "not this"))


@check()
async def a_task_fails(face):
    same((await face.send("fail"))["state"], "failed")


@check()
async def files_and_data_come_back(face):
    raw = base64.b64encode(b"\x00\x01some bytes").decode()
    parts = [
        ("text", "echo"),
        ("bytes", raw, "application/octet-stream", "a.bin"),
        ("uri", "https://example.com/a.txt", "text/plain", "a.txt"),
        ("data", {"list": [1, 2.5, None], "deep": {"true": True}}),
    ]
    same((await face.send("", parts=parts))["parts"], parts)


@check()
async def history_is_as_long_as_asked(face):
    task = await face.send("echo")
    same((await face.get(task["id"], history=1))["history"], 1)
    same((await face.get(task["id"]))["history"], 1)


@check("list")
async def tasks_are_listed(face):
    task = await face.send("echo listed")
    listed = await face.list(task["context"])
    same([each["id"] for each in listed], [task["id"]])


@check()
async def an_unknown_task_is_not_found(face):
    await refuses(face, "TaskNotFound", face.get("made-up"))
    await refuses(face, "TaskNotFound", face.cancel("made-up"))
    await refuses(face, "TaskNotFound", face.send("x", task="made-up"))


@check()
async def an_unknown_stream_is_not_found(face):
    await refuses(face, face.lost("TaskNotFound"), drained(face.subscribe("made-up")))


@check()
async def a_task_that_has_ended_takes_nothing(face):
    task = await face.send("echo")
    await refuses(face, "TaskNotCancelable", face.cancel(task["id"]))
    await refuses(face, "UnsupportedOperation", face.send("x", task=task["id"]))
    await refuses(face, face.lost("UnsupportedOperation"), drained(face.subscribe(task["id"])))


class Hook:
    """A webhook's receiver on a free port."""

    def __init__(self):
        self.posts = []
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                hook.posts.append((self.path, dict(self.headers.items()), json.loads(body)))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, name):
        return f"http://127.0.0.1:{self.server.server_port}/{name}"

    async def until(self, name, holds):
        for _ in range(PATIENCE * 20):
            mine = [(headers, body) for path, headers, body in self.posts if path == f"/{name}"]
            for headers, body in mine:
                if holds(body):
                    return headers, body
            await asyncio.sleep(0.05)
        raise AssertionError(f"no such notification among {mine!r}")


@check("push")
async def a_configuration_is_set_and_got_and_listed(face):
    task = await face.send("hold", blocking=False)
    await face.push_set(task["id"], "mine", "http://127.0.0.1:9/hook")
    same(await face.push_get(task["id"], "mine"), ("mine", "http://127.0.0.1:9/hook"))
    if face.can("push_list"):
        same(await face.push_list(task["id"]), [("mine", "http://127.0.0.1:9/hook")])
    if face.can("push_delete"):
        await face.push_delete(task["id"], "mine")
        await refuses(face, "TaskNotFound", face.push_get(task["id"], "mine"))
    await face.cancel(task["id"])


@check("push")
async def the_end_of_a_task_is_pushed(face):
    name = uuid.uuid4().hex
    task = await face.send("hold", blocking=False)
    await face.push_set(task["id"], "c", face.hook.url(name), token="t-1", scheme="Bearer", credentials="s-1")
    await face.send("go on", task=task["id"], context=task["context"])
    headers, _ = await face.hook.until(name, lambda body: face.pushed_state(body) == "completed")
    headers = {key.lower(): value for key, value in headers.items()}
    same((headers.get("authorization"), headers.get("x-a2a-notification-token")), ("Bearer s-1", "t-1"))


@check("push_inline")
async def a_configuration_comes_with_a_message(face):
    name = uuid.uuid4().hex
    await face.send("echo pushed", push=face.hook.url(name))
    await face.hook.until(name, lambda body: face.pushed_state(body) == "completed")


@check("extended_card")
async def the_extended_card_is_shown(face):
    same(await face.extended_card(), ("Clients", ["words", "more"]))


async def one(face, name, needs, function):
    if needs is not None and not face.can(needs):
        return None
    try:
        await asyncio.wait_for(function(face), PATIENCE)
    except Exception as why:  # a failing check is reported, whatever it raised
        if not isinstance(why, AssertionError):
            traceback.print_exc()
        return False, name, f"{type(why).__name__}: {why}"
    return True, name, ""


async def run(faces):
    """All checks of all bindings side by side: none of them minds the others."""
    failed = 0
    for face in faces:
        rows = await asyncio.gather(*(one(face, *row) for row in CHECKS))
        for passed, name, why in filter(None, rows):
            failed += not passed
            print(f"{'PASS' if passed else 'FAIL'} {face.binding} {name}{': ' + why if why else ''}")
        await face.close()
    return failed


def main(connect):
    parser = argparse.ArgumentParser()
    parser.add_argument("url", help="the agent's URL, below which its card is")
    parser.add_argument("--bindings", required=True, help="comma list of JSONRPC, HTTP+JSON, GRPC")
    parser.add_argument("--without", default="", help="comma list of what the node does not have: push, extended_card")
    args = parser.parse_args()

    async def all_of_them():
        hook = Hook()
        faces = []
        for binding in args.bindings.split(","):
            face = await connect(args.url, binding)
            face.hook, face.binding = hook, binding
            face.without = set(args.without.split(","))
            faces.append(face)
        return await run(faces)

    failed = asyncio.run(all_of_them())
    print(f"{failed} failed" if failed else "all passed")
    sys.exit(1 if failed else 0)

#!/usr/bin/env python3
"""Writes `fuzz/seeds` anew: what the golden files of the wire hold, and what they cannot show, written here.

One file is one input of the target whose folder it is in; all are text. Run it when the golden files have changed, and
look at the difference before you commit it.
"""

import json
import pathlib
import shutil

HERE = pathlib.Path(__file__).parent
GOLDEN = HERE.parent / "crates/baton-wire/tests/it"

MESSAGE = {"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "x"}]}
HOOK = {"id": "c", "url": "https://example.com/hook", "token": "t"}
PROTO = {"messageId": "m", "role": "ROLE_USER", "content": [{"text": "x"}]}

V03 = [
    ("message/send", {"message": MESSAGE, "metadata": {"n": 3}, "configuration": {
        "acceptedOutputModes": ["text/plain"], "historyLength": 0, "blocking": False, "pushNotificationConfig": {
            "url": "https://example.com/hook", "token": "t",
            "authentication": {"schemes": ["Bearer", "Basic"], "credentials": "c"}}}}),
    ("message/stream", {"message": MESSAGE | {"contextId": "c", "taskId": "t", "referenceTaskIds": ["r"], "parts": [
        {"kind": "file", "file": {"bytes": "+/8=", "mimeType": "image/png", "name": "a.png"}},
        {"kind": "file", "file": {"uri": "https://example.com/a.png"}, "metadata": {"page": 1.0}},
        {"kind": "data", "data": {"value": [3.0]}, "metadata": {"data_part_compat": True, "k": "v"}}]}}),
    ("tasks/get", {"id": "t", "historyLength": 2}),
    ("tasks/cancel", {"id": "t", "metadata": {"why": "so"}}),
    ("tasks/resubscribe", {"id": "t"}),
    ("tasks/list", {"contextId": "c", "status": "input-required", "pageSize": 5}),
    ("tasks/pushNotificationConfig/set", {"taskId": "t", "pushNotificationConfig": HOOK}),
    ("tasks/pushNotificationConfig/get", {"id": "t", "pushNotificationConfigId": "c"}),
    ("tasks/pushNotificationConfig/list", {"id": "t"}),
    ("tasks/pushNotificationConfig/delete", {"id": "t", "pushNotificationConfigId": "c"}),
    ("agent/getAuthenticatedExtendedCard", {}),
]

REST_V03 = [
    ("POST /v1/message:send", {"request": PROTO, "configuration": {
        "blocking": True, "history_length": 3, "pushNotification": HOOK}}),
    ("POST /v1/message:stream", {"message": PROTO | {"content": [
        {"file": {"fileWithBytes": "+/8=", "mimeType": "image/png"}}, {"data": {"data": {"a": 1}}}]}}),
    ("POST /v1/tasks/t/pushNotificationConfigs", {"parent": "tasks/t", "configId": "c", "config": {
        "name": "tasks/t/pushNotificationConfigs/c", "pushNotificationConfig": HOOK}}),
    ("POST /v1/tasks/t/pushNotificationConfigs", {"name": "tasks/t/pushNotificationConfigs/c",
                                                  "pushNotificationConfig": HOOK}),
    ("GET /v1/tasks/t?history_length=2", None),
    ("GET /v1/tasks?status=TASK_STATE_CANCELLED&page_size=7&pageToken=p%2B+q", None),
    ("POST /v1/tasks/t:cancel", {"name": "tasks/t"}),
    ("GET /v1/tasks/t:subscribe?A2A-Version=0.3", None),
    ("GET /v1/card", None),
    ("PUT /tasks", None),
]

UPDATES = [
    {"statusUpdate": {"taskId": "t", "contextId": "c", "metadata": {"k": [1, 2.0]}, "status": {
        "state": "TASK_STATE_INPUT_REQUIRED", "timestamp": "2025-10-28T10:40:00.007Z",
        "message": {"messageId": "s", "role": "ROLE_AGENT", "parts": [{"text": "which?"}]}}}},
    {"artifactUpdate": {"taskId": "t", "contextId": "c", "append": True, "lastChunk": True, "artifact": {
        "artifactId": "a", "name": "n", "parts": [
            {"raw": "+/8=", "filename": "a.png", "mediaType": "image/png"}, {"url": "https://example.com/a.png"},
            {"data": [3.0, None], "metadata": {"k": "v"}}]}}},
]

ERROR = {"error": {"code": 404, "status": "NOT_FOUND", "message": "no", "details": [
    {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "TASK_NOT_FOUND"}]}}

LINES = [
    {"type": "ready", "name": "a", "version": "1"},
    {"type": "pong", "id": 7},
    {"type": "status", "taskId": "t", "message": {"role": "ROLE_AGENT", "parts": [{"text": "hi"}]}},
    {"type": "status", "message": "hi"},
    {"type": "artifact", "artifact": {"artifactId": "a", "name": "n", "parts": [{"data": [1, 2.0]}]},
     "append": True, "last_chunk": True},
    {"type": "artifact", "name": "n", "text": "hello"},
    {"type": "ask", "kind": "auth", "text": "who are you?"},
    {"type": "reply", "message": {"messageId": "m", "parts": [{"raw": "+/8=", "filename": "a.png"}]}},
    {"type": "reject", "text": "no"},
    {"type": "fail", "text": "busy", "retryable": True, "reason": "exhausted_steps"},
    {"type": "complete", "message": {"text": "done", "metadata": {"k": 1}}},
    {"type": "usage", "tokens": 9007199254740993},
]

JSON = [
    '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"literals":[null,true,false]}',
    '{"\\u20ac":"Euro","\\r":"CR","\\ufb33":"Hebrew","1":"One","\\ud83d\\ude00":"Emoji","\\u0080":"C","\\u00f6":"o"}',
    '[5e-324,-0,1.7976931348623157e308,9007199254740991,-9007199254740993,1e21,1e-7,0.1]',
    ' {"a" : [ 3 , 3.0 ],\n"b c":" x\\" y ", "":{}}',
    '{"a":1,"a":2}',
    '["\\ud83d"]',
]

STREAMS = [
    '64 1 7 300\n\ufeffid: 1\r\ndata: 😀é\r\n\r\n:\rretry: 20\rdata: b\rdata\r\r\ndata: c\n\n',
    '4096 5\nid\ndata:  a\ndata:b\nevent: error\nretry: 1x\nfoo: bar\n\nid: 7\n\n',
    '16 3 3 3\ndata: as large as it may be, and then some\n\n',
]

# Of GetTask in both versions, of ListTasks, CancelTask and SendMessage: short ones are text too.
MESSAGES = [
    "\x02\n\x01t",
    "\x02\n\x07tasks/t",
    "\x03\x12\x01c\x18\x06\x20\x05",
    "\x04\x12\x01t",
    "\x00\x12\x0c\n\x01m\x20\x01\x2a\x05\n\x03abc",
]


def golden(path):
    """The lines of a snapshot, without its header."""
    return (GOLDEN / path).read_text().split("---\n", 2)[2].rstrip("\n").split("\n")


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def call(method, params):
    return compact({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def gather():
    requests = golden("snapshots/it__golden__requests_both_ways.snap")
    answers = golden("snapshots/it__golden__answers_both_ways.snap")
    wrong = golden("snapshots/it__violations__send_message.snap")
    v03 = [line.split(" ", 1)[1] for line in golden("v03/snapshots/it__v03__golden__answers.snap") if " {" in line]
    v03_stream = golden("v03/snapshots/it__v03__golden__streams.snap")
    jsonrpc = [line for line in requests if line.startswith("{")]
    rest = [line.split(" ", 2) for line in requests if line.startswith(("POST", "GET", "DELETE"))]
    shown = [compact(json.loads(line)["result"]) for line in answers]
    card = {
        "name": "Echo", "description": "Says it again", "version": "1", "capabilities": {"streaming": True},
        "supportedInterfaces": [{"url": "https://example.com", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "securitySchemes": {"b": {"httpAuthSecurityScheme": {"scheme": "bearer"}}}, "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"], "skills": [{"id": "s", "name": "n", "description": "d", "tags": ["t"]}],
    }
    return {
        "jsonrpc": jsonrpc + [call("SendMessage", json.loads(line)) for line in wrong if valid(line)][:12]
        + [call(*V03[0]), '[{"jsonrpc":"2.0"}]', '{"jsonrpc":"2.0","id":"\\u0041","method":"Get\\u0054ask"}'],
        "rest": [f"{method} {target}\n{''.join(body)}" for method, target, *body in rest]
        + [f"{head}\n{compact(body) if body else ''}" for head, body in REST_V03],
        "v03": [call(*request) for request in V03] + v03 + list(map(compact, UPDATES))
        + [line.removeprefix("data: ") for line in v03_stream if line.startswith('data: {"task"')]
        + [compact(json.loads(line.removeprefix("data: "))["result"]) for line in v03_stream if '"kind"' in line],
        "answer": answers + shown + list(map(compact, UPDATES)) + [compact(card), compact(ERROR)],
        "sse": STREAMS + ["4096 9 40\n" + "\n".join(v03_stream) + "\n"],
        "grpc": jsonrpc[:2] + [line for line in shown if line.startswith(('{"task"', '{"message"'))]
        + list(map(compact, UPDATES)) + MESSAGES,
        "jsonl": [compact(line) for line in LINES],
        "canonical": JSON + [compact(card)],
    }


def valid(line):
    try:
        return isinstance(json.loads(line), dict) and not line.startswith(" ")
    except ValueError:
        return False


for target, seeds in gather().items():
    folder = HERE / "seeds" / target
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for at, seed in enumerate(dict.fromkeys(seeds), 1):
        (folder / f"{at:02}").write_bytes(seed.encode())

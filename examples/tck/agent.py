#!/usr/bin/env python3
"""The `jsonl` agent that the public A2A conformance kit (a2a-tck) expects.

What a task does is chosen by the start of its newest message's `messageId`, longest prefix first.
"""

import base64
import json
import select
import sys
import time

FILE = {"filename": "output.txt", "mediaType": "text/plain"}
RAW = dict(FILE, raw=base64.b64encode(b"Generated file content\n").decode())

# Twice the kit's streaming timeout of 2 s, so that it can come back while the task is still being worked on.
RESUBSCRIBE_SECONDS = 4
# Long enough for the kit to see the task WORKING.
OPEN_SECONDS = 0.5


def say(**line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def complete(text=None):
    say(type="complete", **({"text": text} if text else {}))


def artifact(*parts, **more):
    say(type="artifact", artifact={"artifactId": "output", "parts": list(parts)}, **more)


def with_artifact(part):
    artifact(part)
    complete()


def stream(*parts):
    say(type="status", text="Working on it")
    for count, part in enumerate(parts):
        artifact(part, append=count > 0, last_chunk=count == len(parts) - 1)
    complete()


PREFIXES = {
    "tck-complete-task": lambda: complete("Hello from TCK"),
    "tck-input-required": lambda: say(type="ask", text="Input required"),
    "tck-message-response": lambda: say(type="reply", text="Direct message response"),
    "tck-artifact-text": lambda: with_artifact({"text": "Generated text content"}),
    "tck-artifact-file": lambda: with_artifact(RAW),
    "tck-artifact-file-url": lambda: with_artifact(dict(FILE, url="https://example.com/output.txt")),
    "tck-artifact-data": lambda: with_artifact({"data": {"key": "value", "count": 42}}),
    "tck-stream-001": lambda: stream({"text": "Stream hello from TCK"}),
    "tck-stream-002": complete,
    "tck-stream-003": lambda: stream({"text": "Stream task lifecycle"}),
    "tck-stream-ordering-001": lambda: stream({"text": "Ordered output"}),
    "tck-stream-artifact-text": lambda: stream({"text": "Streamed text content"}),
    "tck-stream-artifact-file": lambda: stream(RAW),
    "tck-stream-artifact-chunked": lambda: stream({"text": "chunk-1 "}, {"text": "chunk-2"}),
    "tck-reject-task": lambda: say(type="reject", text="rejected"),
    "tck-": complete,
}


class Agent:
    """One task at a time, and at most one thing that is due later."""

    def __init__(self):
        self.due = None
        self.then = None

    def later(self, seconds, then):
        say(type="status", text="Working on it")
        self.due, self.then = time.monotonic() + seconds, then

    def start(self, message_id):
        self.due = None
        fitting = [prefix for prefix in PREFIXES if message_id.startswith(prefix)]
        if fitting:
            PREFIXES[max(fitting, key=len)]()
        elif message_id.startswith("test-resubscribe-message-id"):
            self.later(RESUBSCRIBE_SECONDS, complete)
        else:
            self.later(OPEN_SECONDS, lambda: say(type="ask", text="What next?"))

    def hear(self, frame):
        if frame["type"] == "ping":
            say(type="pong", id=frame["id"])
        elif frame["type"] in ("task", "message"):
            self.start(frame["message"]["messageId"])
        elif frame["type"] == "cancel":
            self.due = None
            say(type="fail", text="canceled", reason="canceled")

    def run(self):
        say(type="ready", name="tck")
        pending = b""
        while True:
            wait = None if self.due is None else max(0.0, self.due - time.monotonic())
            if not select.select([0], [], [], wait)[0]:
                self.due = None
                self.then()
                continue
            # Not sys.stdin: what its buffer holds, select cannot see.
            read = sys.stdin.buffer.raw.read(65536)
            if not read:
                return
            *lines, pending = (pending + read).split(b"\n")
            for line in lines:
                self.hear(json.loads(line))


if __name__ == "__main__":
    Agent().run()

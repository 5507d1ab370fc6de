#!/usr/bin/env python3
"""The `jsonl` agent behind the foreign clients: the first word of a message says what becomes of its task.

echo …   the message's parts come back in an artifact; COMPLETED
chunks   the artifact "Hello", then " world" appended to it; COMPLETED
ask      INPUT_REQUIRED; the answer comes back in an artifact; COMPLETED
hold     WORKING until a further message comes, which is echoed; COMPLETED. Takes a cancel
reply    a direct Message "hello"
reject   REJECTED
fail     FAILED
"""

import json
import sys


def say(**line):
    print(json.dumps(line), flush=True)


def text_of(message):
    return " ".join(part["text"] for part in message["parts"] if "text" in part)


def finish(message):
    say(type="artifact", artifact={"artifactId": "echo", "name": "echo", "parts": message["parts"]})
    say(type="complete")


def chunks(_):
    say(type="artifact", artifact={"artifactId": "out", "parts": [{"text": "Hello"}]})
    say(type="artifact", append=True, last_chunk=True, artifact={"artifactId": "out", "parts": [{"text": " world"}]})
    say(type="complete", text="said it all")


BEGIN = {
    "echo": finish,
    "chunks": chunks,
    "ask": lambda _: say(type="ask", text="Which one?"),
    "hold": lambda _: say(type="status", text="holding"),
    "reply": lambda _: say(type="reply", text="hello"),
    "reject": lambda _: say(type="reject", text="not this"),
    "fail": lambda _: say(type="fail", text="it broke", reason="failed"),
}


def main():
    say(type="ready", name="clients")
    for line in sys.stdin:
        frame = json.loads(line)
        kind = frame["type"]
        if kind == "ping":
            say(type="pong", id=frame["id"])
        elif kind == "cancel":
            say(type="fail", text="canceled", reason="canceled")
        elif kind == "message":
            finish(frame["message"])
        elif kind == "task" and len([said for said in frame["messages"] if said["role"] == "ROLE_USER"]) > 1:
            # Begun elsewhere and answered since.
            finish(frame["message"])
        elif kind == "task":
            words = text_of(frame["message"]).split() or ["echo"]
            BEGIN.get(words[0], finish)(frame["message"])


if __name__ == "__main__":
    main()

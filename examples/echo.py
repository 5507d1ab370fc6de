#!/usr/bin/env python3
"""A minimal `jsonl` agent: one artifact per task, which is what it was sent."""

import json
import sys


def say(**line):
    print(json.dumps(line), flush=True)


say(type="ready", name="echo")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "ping":
        say(type="pong", id=frame["id"])
    elif frame["type"] == "task":
        text = "\n".join(part["text"] for part in frame["message"]["parts"] if "text" in part)
        say(type="artifact", text=text)
        say(type="complete")

#!/usr/bin/env python3
"""A worker for an agent of kind `pull`: it counts the words of what it is handed, and asks where there are none.

    baton grants create --label worker --agent clerk --verbs work      # prints the token
    BATON_TOKEN=bt_… examples/worker.py http://127.0.0.1:8420 clerk

No library is needed. In dev mode the token can be left out.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request


class Lost(Exception):
    """The task is not ours any more: it was cancelled, or the lease ran out."""


class Queue:
    def __init__(self, node, agent, token):
        self.node, self.agent, self.token = node.rstrip("/"), agent, token

    def say(self, verb, **arguments):
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        body = json.dumps({"agent": self.agent, **arguments}).encode()
        request = urllib.request.Request(f"{self.node}/api/v1/work/{verb}", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=70) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refusal:
            message = json.load(refusal)["error"]["message"]
            if refusal.code == 409:
                raise Lost(message) from None
            raise SystemExit(f"{verb}: {message}") from None


def text_of(message):
    return " ".join(part.get("text", "") for part in message["parts"]).strip()


def ask(queue, held, question):
    """Asks the owner and waits for the answer; the heartbeats keep the task."""
    standing = queue.say("ask", question=question, **held)
    while True:
        standing = queue.say("heartbeat", after_seq=standing["seq"], **held)
        for message in standing.get("messages", []):
            return text_of(message)
        time.sleep(1)


def work(queue, given):
    held = {"task_id": given["task_id"], "lease_token": given["lease_token"]}
    text = text_of(given["task"]["history"][-1])
    if not text:
        text = ask(queue, held, "There is no text. What shall I count?")
    queue.say("progress", message="Counting", **held)
    queue.say("complete", result=f"{len(text.split())} words", **held)


def main():
    node, agent = sys.argv[1:3] if len(sys.argv) > 2 else ("http://127.0.0.1:8420", "clerk")
    queue = Queue(node, agent, os.environ.get("BATON_TOKEN"))
    while True:
        for given in queue.say("claim_next", wait_seconds=30)["tasks"]:
            try:
                work(queue, given)
            except Lost as why:
                print(f"{given['task_id']}: {why}", file=sys.stderr)


if __name__ == "__main__":
    main()

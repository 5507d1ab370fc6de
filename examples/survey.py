#!/usr/bin/env python3
"""A `jsonl` agent that asks: three questions, then a report as an artifact. A cancel ends it at once.

It keeps what it was told nowhere: the whole history comes with every task, so that the survey goes on where it was
after this process, or the node, has been restarted.
"""

import json
import sys

QUESTIONS = ["What is your name?", "What do you work on?", "What slows you down?"]


def say(**line):
    print(json.dumps(line), flush=True)


def text_of(message):
    return "\n".join(part["text"] for part in message["parts"] if "text" in part)


def go_on(answers):
    """Asks the next question, or reports when all are answered."""
    if len(answers) < len(QUESTIONS):
        say(type="ask", text=QUESTIONS[len(answers)])
        return
    say(type="status", text="Writing the report")
    for question, answer in zip(QUESTIONS, answers):
        say(type="artifact", append=question != QUESTIONS[0], last_chunk=question == QUESTIONS[-1],
            artifact={"artifactId": "report", "name": "report.md", "parts": [{"text": f"**{question}** {answer}\n"}]})
    say(type="artifact", artifact={"artifactId": "answers", "parts": [{"data": dict(zip(QUESTIONS, answers))}]})
    say(type="usage", questions=len(QUESTIONS))
    say(type="complete", text="Thank you.")


def main():
    answers = []
    say(type="ready", name="survey")
    for line in sys.stdin:
        frame = json.loads(line)
        if frame["type"] == "ping":
            say(type="pong", id=frame["id"])
        elif frame["type"] == "task":
            # The first message only opens the survey; the user's later ones are answers.
            said = [message for message in frame["messages"] if message["role"] == "ROLE_USER"]
            answers = [text_of(message) for message in said[1:]]
            go_on(answers)
        elif frame["type"] == "message":
            answers.append(text_of(frame["message"]))
            go_on(answers)
        elif frame["type"] == "cancel":
            say(type="fail", text="The survey was called off.", reason="canceled")


if __name__ == "__main__":
    main()

"""The official Python client of MCP works for an A2A caller, and hands work in itself: in the revision with sessions and in
the one without. `worker.py URL`, where URL is any agent's at the node."""

import argparse
import asyncio
import json
import sys
import traceback
import urllib.request
import uuid

from mcp import Client

# Far more than anything takes: only what hangs is ended by it.
PATIENCE = 30
AGENT = "workers"
QUEUE = f"baton://queues/{AGENT}"


def same(got, wanted):
    if got != wanted:
        raise AssertionError(f"got {got!r}, wanted {wanted!r}")


class Owner:
    """Somebody who speaks A2A."""

    def __init__(self, origin):
        self.url = f"{origin}/a2a/{AGENT}"

    def call(self, method, params):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        request = urllib.request.Request(self.url, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)["result"]

    def say(self, text, task=None):
        message = {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": text}]}
        if task:
            message["taskId"] = task
        params = {"message": message, "configuration": {"returnImmediately": True}}
        return self.call("SendMessage", params)["task"]

    def get(self, task):
        return self.call("GetTask", {"id": task})


async def tool(client, name, **arguments):
    result = await client.call_tool(name, arguments)
    if result.is_error:
        raise AssertionError(f"{name}: {result.content[0].text}")
    return result.structured_content


class Bells:
    """What is rung, whatever the revision."""

    def __init__(self, client, rung):
        self.client, self.rung = client, rung

    async def subscribe(self, uri, stack):
        if self.client.protocol_version < "2026":
            await self.client.subscribe_resource(uri)
            return
        subscription = await stack.enter_async_context(self.client.listen(resource_subscriptions=[uri]))

        async def read():
            async for event in subscription:
                await self.rung.put(str(event.uri))

        task = asyncio.create_task(read())
        stack.callback(task.cancel)

    async def hear(self, uri):
        while await asyncio.wait_for(self.rung.get(), PATIENCE) != uri:
            pass


async def serves_an_a2a_caller(client, owner, bells, stack):
    await bells.subscribe(QUEUE, stack)
    handed_in = await asyncio.to_thread(owner.say, "count these words")
    await bells.hear(QUEUE)
    given = (await tool(client, "claim_next", agent=AGENT))["tasks"][0]
    same(given["task_id"], handed_in["id"])
    same(given["task"]["history"][0]["parts"], [{"text": "count these words"}])
    held = {"task_id": given["task_id"], "lease_token": given["lease_token"]}
    await tool(client, "progress", message="counting", **held)
    await tool(client, "progress", parts=[{"text": "th"}], artifact_id="a", **held)
    await tool(client, "progress", parts=[{"text": "ree"}], artifact_id="a", append=True, last_chunk=True, **held)
    asked = await tool(client, "ask", question="In which tongue?", **held)
    task = await asyncio.to_thread(owner.get, given["task_id"])
    same(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED")
    same(task["status"]["message"]["parts"], [{"text": "In which tongue?"}])
    await bells.subscribe(f"baton://tasks/{given['task_id']}", stack)
    await asyncio.to_thread(owner.say, "English", given["task_id"])
    await bells.hear(f"baton://tasks/{given['task_id']}")
    told = await tool(client, "heartbeat", after_seq=asked["seq"], **held)
    same(told["messages"][0]["parts"], [{"text": "English"}])
    await tool(client, "complete", parts=[{"data": {"words": 3, "big": 9007199254740993}}], **held)
    task = await asyncio.to_thread(owner.get, given["task_id"])
    same(task["status"]["state"], "TASK_STATE_COMPLETED")
    same([part for artifact in task["artifacts"] for part in artifact["parts"]],
         [{"text": "th"}, {"text": "ree"}, {"data": {"words": 3, "big": 9007199254740993}}])
    late = await client.call_tool("fail", held)
    same((late.is_error, late.meta["baton/error"]["details"][0]["reason"]), (True, "CONFLICT"))


async def hands_work_in(client, owner, _bells, _stack):
    made = (await tool(client, "create_for", agent=AGENT, text="do it", priority=7))["task"]
    same(made["status"]["state"], "TASK_STATE_SUBMITTED")
    listed = await asyncio.to_thread(owner.call, "ListTasks", {"pageSize": 1})
    same(listed["tasks"][0]["id"], made["id"])
    mine = await tool(client, "list_tasks", agent=AGENT, page_size=1)
    same((mine["tasks"][0]["id"], mine["total_size"]), (made["id"], listed["totalSize"]))
    given = (await tool(client, "claim", task_id=made["id"]))["tasks"][0]
    same(given["priority"], 7)
    await tool(client, "ask", task_id=made["id"], lease_token=given["lease_token"], question="Sure?")
    answered = (await tool(client, "answer", task_id=made["id"], text="yes"))["task"]
    same(answered["status"]["state"], "TASK_STATE_WORKING")
    canceled = (await tool(client, "cancel", task_id=made["id"]))["task"]
    same(canceled["status"]["state"], "TASK_STATE_CANCELED")
    same((await asyncio.to_thread(owner.get, made["id"]))["status"]["state"], "TASK_STATE_CANCELED")
    shown = (await tool(client, "get_task", task_id=made["id"]))["task"]
    same([message["parts"] for message in shown["history"]], [[{"text": "do it"}], [{"text": "Sure?"}], [{"text": "yes"}]])
    read = await client.read_resource(f"baton://tasks/{made['id']}")
    same(json.loads(read.contents[0].text)["id"], made["id"])


async def refuses(client, _owner, _bells, _stack):
    unknown = await client.call_tool("get_task", {"task_id": str(uuid.uuid4())})
    same((unknown.is_error, unknown.meta["baton/error"]["code"]), (True, 404))
    wrong = await client.call_tool("create_for", {"agent": AGENT, "text": "x", "priority": 1000})
    same(wrong.meta["baton/error"]["details"][0]["reason"], "INVALID_PARAMS")
    odd = await client.call_tool("claim_next", {"mx": 1})
    same(odd.is_error, True)


async def run(origin, mode):
    from contextlib import AsyncExitStack

    rung = asyncio.Queue()

    async def hear(message):
        uri = getattr(getattr(message, "params", None), "uri", None)
        if uri is not None:
            await rung.put(str(uri))

    owner, failed = Owner(origin), 0
    for check in [serves_an_a2a_caller, hands_work_in, refuses]:
        try:
            async with AsyncExitStack() as stack:
                client = await stack.enter_async_context(Client(f"{origin}/mcp", mode=mode, message_handler=hear))
                tools = {each.name for each in (await client.list_tools()).tools}
                same(len(tools), 14)
                await asyncio.wait_for(check(client, owner, Bells(client, rung), stack), 3 * PATIENCE)
                print(f"ok   {client.protocol_version} {check.__name__}")
        except Exception:
            failed += 1
            print(f"FAIL {mode} {check.__name__}")
            traceback.print_exc(file=sys.stdout)
    return failed


async def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("url")
    arguments.add_argument("--bindings")
    origin = arguments.parse_args().url.split("/a2a/")[0]
    failed = await run(origin, "legacy") + await run(origin, "auto")
    sys.exit(1 if failed else 0)


asyncio.run(main())

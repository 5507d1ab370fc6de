// The official TypeScript client of MCP works for an A2A caller, and hands work in itself. `worker.mjs URL`, where URL is any
// agent's at the node.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const AGENT = "workers";
const QUEUE = `baton://queues/${AGENT}`;
// Far more than anything takes: only what hangs is ended by it.
const PATIENCE = 30_000;

const origin = process.argv[2].split("/a2a/")[0];

// Somebody who speaks A2A.
const owner = {
  async call(method, params) {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const headers = { "Content-Type": "application/json" };
    const answer = await (await fetch(`${origin}/a2a/${AGENT}`, { method: "POST", headers, body })).json();
    assert.ok(answer.result, JSON.stringify(answer));
    return answer.result;
  },
  async say(text, taskId) {
    const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }], taskId };
    return (await this.call("SendMessage", { message, configuration: { returnImmediately: true } })).task;
  },
  get(id) {
    return this.call("GetTask", { id });
  },
};

class Bells {
  rung = [];
  waiting = [];
  ring(uri) {
    this.rung.push(uri);
    this.waiting.splice(0).forEach((wake) => wake());
  }
  async hear(uri) {
    const until = Date.now() + PATIENCE;
    while (!this.rung.includes(uri)) {
      assert.ok(Date.now() < until, `${uri} was not rung`);
      await Promise.race([new Promise((wake) => this.waiting.push(wake)), new Promise((wake) => setTimeout(wake, 500))]);
    }
    this.rung = this.rung.filter((other) => other !== uri);
  }
}

async function tool(client, name, args) {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(!result.isError, `${name}: ${result.content[0].text}`);
  return result.structuredContent;
}

const checks = {
  async serves_an_a2a_caller(client, bells) {
    await client.subscribeResource({ uri: QUEUE });
    const handedIn = await owner.say("count these words");
    await bells.hear(QUEUE);
    const given = (await tool(client, "claim_next", { agent: AGENT })).tasks[0];
    assert.equal(given.task_id, handedIn.id);
    const held = { task_id: given.task_id, lease_token: given.lease_token };
    await tool(client, "progress", { ...held, parts: [{ text: "th" }], artifact_id: "a" });
    await tool(client, "progress", { ...held, parts: [{ text: "ree" }], artifact_id: "a", append: true });
    const asked = await tool(client, "ask", { ...held, question: "In which tongue?" });
    assert.equal((await owner.get(given.task_id)).status.state, "TASK_STATE_INPUT_REQUIRED");
    await client.subscribeResource({ uri: `baton://tasks/${given.task_id}` });
    await owner.say("English", given.task_id);
    await bells.hear(`baton://tasks/${given.task_id}`);
    const told = await tool(client, "heartbeat", { ...held, after_seq: asked.seq });
    assert.deepEqual(told.messages[0].parts, [{ text: "English" }]);
    await tool(client, "complete", { ...held, result: "three" });
    const task = await owner.get(given.task_id);
    assert.equal(task.status.state, "TASK_STATE_COMPLETED");
    assert.deepEqual(task.artifacts.map((artifact) => artifact.parts.map((part) => part.text).join("")), ["three", "three"]);
    const late = await client.callTool({ name: "fail", arguments: held });
    assert.ok(late.isError && late._meta["baton/error"].details[0].reason === "CONFLICT");
  },
  async hands_work_in(client) {
    const made = (await tool(client, "create_for", { agent: AGENT, text: "do it", priority: 7 })).task;
    assert.equal((await owner.get(made.id)).history[0].parts[0].text, "do it");
    const given = (await tool(client, "claim", { task_id: made.id })).tasks[0];
    assert.equal(given.priority, 7);
    await tool(client, "cancel", { task_id: made.id });
    assert.equal((await owner.get(made.id)).status.state, "TASK_STATE_CANCELED");
    const read = await client.readResource({ uri: `baton://tasks/${made.id}` });
    assert.equal(JSON.parse(read.contents[0].text).id, made.id);
  },
};

let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  const client = new Client({ name: "worker", version: "1" });
  const bells = new Bells();
  try {
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, (note) => bells.ring(note.params.uri));
    await client.connect(new StreamableHTTPClientTransport(new URL(`${origin}/mcp`)));
    assert.equal((await client.listTools()).tools.length, 14);
    await check(client, bells);
    console.log(`ok   ${name}`);
  } catch (why) {
    failed += 1;
    console.log(`FAIL ${name}`, why);
  } finally {
    await client.close().catch(() => {});
  }
}
process.exit(failed ? 1 : 0);

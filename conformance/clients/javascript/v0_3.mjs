// The official JavaScript library of A2A 0.3 (`@a2a-js/sdk` 0.3).

import { randomUUID } from 'node:crypto';
import { ClientFactory, ClientFactoryOptions } from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import { main } from './checks.mjs';

function toPart([kind, value, mimeType]) {
  if (kind === 'text') return { kind, text: value };
  if (kind === 'data') return { kind, data: value };
  return { kind: 'file', file: kind === 'bytes' ? { bytes: value, mimeType } : { uri: value, mimeType } };
}

function fromPart(part) {
  if (part.kind === 'text') return ['text', part.text];
  if (part.kind === 'data') return ['data', part.data];
  const { bytes, uri, mimeType } = part.file;
  return bytes === undefined ? ['uri', uri, mimeType] : ['bytes', bytes, mimeType];
}

const textOf = (parts = []) => parts.map((part) => part.text ?? '').join('');

function fromTask(task) {
  const artifacts = task.artifacts ?? [];
  return {
    id: task.id,
    context: task.contextId,
    state: task.status.state,
    said: textOf(task.status.message?.parts),
    texts: artifacts.map(({ parts }) => textOf(parts)),
    parts: artifacts.flatMap(({ parts }) => parts.map(fromPart)),
    history: (task.history ?? []).length,
  };
}

function fromEvent(event) {
  switch (event.kind) {
    case 'message':
      return ['message', textOf(event.parts)];
    case 'task':
      return ['task', event.status.state];
    case 'status-update':
      return ['status', event.status.state];
    default:
      return ['artifact', textOf(event.artifact.parts)];
  }
}

const REASONS = { UNSUPPORTED_OPERATION: 'UnsupportedOperation' };

const KINDS = { '-32001': 'TaskNotFound', '-32002': 'TaskNotCancelable', '-32004': 'UnsupportedOperation' };

class Face {
  constructor(client) {
    this.client = client;
  }

  can(what) {
    // Over gRPC the library writes a null within data as a number that it is not, and fails before anything is sent.
    if (what === 'null') return this.binding !== 'GRPC';
    return what !== 'list' && !this.without.includes(what);
  }

  /**
   * The library throws a class for each kind, or the error of JSON-RPC, directly or as the cause. Over gRPC it has no class for
   * FAILED_PRECONDITION but where a task is cancelled: the kind is the reason in the details that its cause carries.
   */
  error(why) {
    const named = [why, why?.cause].map((error) => error?.constructor?.name ?? '');
    const kind = Object.values(KINDS).find((known) => named.some((name) => name.startsWith(known)));
    const details = why?.cause?.metadata?.get?.('grpc-status-details-bin')?.[0]?.toString('latin1') ?? '';
    const reason = Object.keys(REASONS).find((known) => details.includes(known));
    return kind ?? REASONS[reason] ?? KINDS[String(why?.errorResponse?.error?.code ?? why?.cause?.errorResponse?.error?.code)];
  }

  params(text, { task, context, blocking, parts, push } = {}) {
    const sent = (parts ?? [['text', text]]).map(toPart);
    const message = { kind: 'message', messageId: randomUUID(), role: 'user', parts: sent };
    if (task) message.taskId = task;
    if (context) message.contextId = context;
    const configuration = {};
    if (blocking !== undefined) configuration.blocking = blocking;
    if (push) configuration.pushNotificationConfig = { url: push };
    return { message, configuration };
  }

  async send(text, more) {
    const sent = await this.client.sendMessage(this.params(text, more));
    return sent.kind === 'message' ? { message: textOf(sent.parts) } : fromTask(sent);
  }

  async *stream(text, more) {
    for await (const event of this.client.sendMessageStream(this.params(text, more))) yield fromEvent(event);
  }

  async get(id, historyLength) {
    return fromTask(await this.client.getTask(historyLength === undefined ? { id } : { id, historyLength }));
  }

  async cancel(id) {
    return fromTask(await this.client.cancelTask({ id }));
  }

  async *subscribe(id) {
    for await (const event of this.client.resubscribeTask({ id })) yield fromEvent(event);
  }

  async pushSet(taskId, { id, url, token, scheme, credentials }) {
    const pushNotificationConfig = { id, url };
    if (token) pushNotificationConfig.token = token;
    if (scheme) pushNotificationConfig.authentication = { schemes: [scheme], credentials };
    await this.client.setTaskPushNotificationConfig({ taskId, pushNotificationConfig });
  }

  async pushGet(id, pushNotificationConfigId) {
    const got = await this.client.getTaskPushNotificationConfig({ id, pushNotificationConfigId });
    return { id: got.pushNotificationConfig.id, url: got.pushNotificationConfig.url };
  }

  async pushList(id) {
    const got = await this.client.listTaskPushNotificationConfig({ id });
    return got.map(({ pushNotificationConfig: { id, url } }) => ({ id, url }));
  }

  pushDelete(id, pushNotificationConfigId) {
    return this.client.deleteTaskPushNotificationConfig({ id, pushNotificationConfigId });
  }

  pushedState(body) {
    if (body.kind !== 'task') throw new Error(`a configuration of 0.3 gets tasks, not ${JSON.stringify(body)}`);
    return body.status.state;
  }

  extendedCard() {
    return this.client.getAgentCard();
  }
}

await main(async (url, binding) => {
  // No other transport, so that none takes the place of this one.
  const all = [...ClientFactoryOptions.default.transports, new GrpcTransportFactory()];
  const transports = all.filter(({ protocolName }) => protocolName === binding);
  const options = { ...ClientFactoryOptions.default, transports };
  // The library finds a card only below a URL that ends with a slash.
  return new Face(await new ClientFactory(options).createFromUrl(`${url}/`));
});

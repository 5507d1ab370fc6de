// The official JavaScript library of A2A 1.0 (`@a2a-js/sdk` 1.x).

import { randomUUID } from 'node:crypto';
import { Role, TaskState } from '@a2a-js/sdk';
import { ClientFactory, ClientFactoryOptions } from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import { main } from './checks.mjs';

function toPart([kind, value, mediaType = '']) {
  const part = { metadata: undefined, filename: '', mediaType };
  switch (kind) {
    case 'bytes':
      return { ...part, content: { $case: 'raw', value: Buffer.from(value, 'base64') } };
    case 'uri':
      return { ...part, content: { $case: 'url', value } };
    default:
      return { ...part, content: { $case: kind, value } };
  }
}

function fromPart({ content: { $case, value }, mediaType }) {
  switch ($case) {
    case 'raw':
      return ['bytes', Buffer.from(value).toString('base64'), mediaType];
    case 'url':
      return ['uri', value, mediaType];
    default:
      return [$case, value];
  }
}

const textOf = (parts = []) => parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');

const stateOf = (status) => TaskState[status.state].replace('TASK_STATE_', '').toLowerCase().replaceAll('_', '-');

const fromTask = (task) => ({
  id: task.id,
  context: task.contextId,
  state: stateOf(task.status),
  said: textOf(task.status.message?.parts),
  texts: task.artifacts.map(({ parts }) => textOf(parts)),
  parts: task.artifacts.flatMap(({ parts }) => parts.map(fromPart)),
  history: task.history.length,
});

function fromEvent({ payload: { $case, value } }) {
  switch ($case) {
    case 'message':
      return ['message', textOf(value.parts)];
    case 'task':
      return ['task', stateOf(value.status)];
    case 'statusUpdate':
      return ['status', stateOf(value.status)];
    default:
      return ['artifact', textOf(value.artifact.parts)];
  }
}

const KINDS = ['TaskNotFound', 'TaskNotCancelable', 'UnsupportedOperation'];

class Face {
  constructor(client) {
    this.client = client;
  }

  can(what) {
    return !this.without.includes(what);
  }

  error(why) {
    const names = [why?.constructor?.name, why?.name].map(String);
    return KINDS.find((kind) => names.some((name) => name.includes(kind)));
  }

  params(text, { task = '', context = '', blocking = true, parts, push } = {}) {
    const message = {
      messageId: randomUUID(),
      role: Role.ROLE_USER,
      parts: (parts ?? [['text', text]]).map(toPart),
      taskId: task,
      contextId: context,
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    };
    const hook = push && { tenant: '', id: '', taskId: '', url: push, token: '', authentication: undefined };
    const configuration = {
      acceptedOutputModes: [],
      taskPushNotificationConfig: hook,
      historyLength: undefined,
      returnImmediately: !blocking,
    };
    return { tenant: '', message, configuration, metadata: undefined };
  }

  async send(text, more) {
    const sent = await this.client.sendMessage(this.params(text, more));
    return 'messageId' in sent ? { message: textOf(sent.parts) } : fromTask(sent);
  }

  async *stream(text, more) {
    for await (const event of this.client.sendMessageStream(this.params(text, more))) yield fromEvent(event);
  }

  async get(id, historyLength) {
    return fromTask(await this.client.getTask({ tenant: '', id, historyLength }));
  }

  async cancel(id) {
    return fromTask(await this.client.cancelTask({ tenant: '', id, metadata: undefined }));
  }

  async *subscribe(id) {
    for await (const event of this.client.resubscribeTask({ tenant: '', id })) yield fromEvent(event);
  }

  async list(contextId) {
    const page = await this.client.listTasks({ tenant: '', contextId, status: TaskState.TASK_STATE_UNSPECIFIED, pageToken: '' });
    return page.tasks.map(fromTask);
  }

  async pushSet(taskId, { id, url, token = '', scheme, credentials }) {
    const authentication = scheme && { scheme, credentials };
    await this.client.createTaskPushNotificationConfig({ tenant: '', id, taskId, url, token, authentication });
  }

  async pushGet(taskId, id) {
    const got = await this.client.getTaskPushNotificationConfig({ tenant: '', taskId, id });
    return { id: got.id, url: got.url };
  }

  async pushList(taskId) {
    const got = await this.client.listTaskPushNotificationConfig({ tenant: '', taskId, pageSize: 0, pageToken: '' });
    return got.configs.map(({ id, url }) => ({ id, url }));
  }

  pushDelete(taskId, id) {
    return this.client.deleteTaskPushNotificationConfig({ tenant: '', taskId, id });
  }

  pushedState(body) {
    const status = body.task?.status ?? body.statusUpdate?.status;
    return status?.state.replace('TASK_STATE_', '').toLowerCase();
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

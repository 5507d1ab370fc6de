// What a client of A2A must be able to do: the checks of ../python/checks.py for the JavaScript libraries, over the small face
// that each is given in v0_3.mjs and v1.mjs.

import { createServer } from 'node:http';
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual, parseArgs } from 'node:util';

// Far more than any check takes: only what hangs is ended by it.
const PATIENCE = 30_000;

const checks = [];
const check = (name, run, needs) => checks.push({ name, run, needs });

function same(got, wanted) {
  if (!isDeepStrictEqual(got, wanted)) {
    throw new Error(`got ${JSON.stringify(got)}, wanted ${JSON.stringify(wanted)}`);
  }
}

async function refuses(face, kind, promise) {
  let got;
  try {
    got = await promise;
  } catch (why) {
    const said = face.error(why);
    if (said !== kind) throw new Error(`wanted ${kind}, got ${said} from ${why?.name}: ${why?.message}`);
    return;
  }
  throw new Error(`wanted ${kind}, got ${JSON.stringify(got)}`);
}

async function drained(stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

const last = (events) => events[events.length - 1];
const next = async (stream) => (await stream.next()).value;

// A task: id, context, state, said (its status message), texts and parts (of its artifacts), history (how many messages).
// An event: a pair of its kind and what it says.

check('a_send_waits_for_the_end', async (face) => {
  const task = await face.send('echo hello');
  same([task.state, task.texts], ['completed', ['echo hello']]);
  same((await face.get(task.id)).texts, ['echo hello']);
});

check('a_send_returns_at_once', async (face) => {
  const task = await face.send('hold', { blocking: false });
  if (!['submitted', 'working'].includes(task.state)) throw new Error(JSON.stringify(task));
  same((await face.cancel(task.id)).state, 'canceled');
});

check('a_stream_runs_to_its_end', async (face) => {
  const events = await drained(face.stream('chunks'));
  same(events[0][0], 'task');
  same(events.filter(([kind]) => kind === 'task').length, 1);
  same(events.filter(([kind]) => kind === 'artifact').map(([, text]) => text).join(''), 'Hello world');
  same(last(events), ['status', 'completed']);
});

check('an_artifact_in_pieces_is_one', async (face) => {
  const task = await face.send('chunks');
  same([task.texts, task.said], [['Hello world'], 'said it all']);
});

check('a_reply_is_a_message', async (face) => same(await face.send('reply'), { message: 'hello' }));

check('a_streamed_reply_is_a_message', async (face) => {
  same(await drained(face.stream('reply')), [['message', 'hello']]);
});

check('a_question_is_answered', async (face) => {
  const asked = await face.send('ask');
  same([asked.state, asked.said], ['input-required', 'Which one?']);
  const done = await face.send('this one', { task: asked.id, context: asked.context });
  same([done.id, done.state, done.texts], [asked.id, 'completed', ['this one']]);
});

check('a_stream_ends_at_a_question', async (face) => {
  same(last(await drained(face.stream('ask'))), ['status', 'input-required']);
});

check('a_question_is_answered_in_a_stream', async (face) => {
  const asked = await face.send('ask');
  const events = await drained(face.stream('that one', { task: asked.id, context: asked.context }));
  same(last(events), ['status', 'completed']);
  same(events.filter(([kind]) => kind === 'artifact'), [['artifact', 'that one']]);
});

check('cancelling_is_told_to_a_subscriber', async (face) => {
  const task = await face.send('hold', { blocking: false });
  const stream = face.subscribe(task.id);
  same((await next(stream))[0], 'task');
  same((await face.cancel(task.id)).state, 'canceled');
  same(last(await drained(stream)), ['status', 'canceled']);
});

check('a_subscriber_sees_the_rest', async (face) => {
  const task = await face.send('hold', { blocking: false });
  const stream = face.subscribe(task.id);
  same((await next(stream))[0], 'task');
  await face.send('go on', { task: task.id, context: task.context });
  const events = await drained(stream);
  same(last(events), ['status', 'completed']);
  same(events.filter(([kind]) => kind === 'artifact'), [['artifact', 'go on']]);
});

check('a_task_is_rejected', async (face) => {
  const task = await face.send('reject');
  same([task.state, task.said], ['rejected', 'not this']);
});

check('a_task_fails', async (face) => same((await face.send('fail')).state, 'failed'));

check('files_and_data_come_back', async (face) => {
  const raw = Buffer.from('\u0000\u0001some bytes').toString('base64');
  const parts = [
    ['text', 'echo'],
    ['bytes', raw, 'application/octet-stream'],
    ['uri', 'https://example.com/a.txt', 'text/plain'],
    ['data', { list: [1, 2.5, ...(face.can('null') ? [null] : [])], deep: { true: true } }],
  ];
  same((await face.send('', { parts })).parts, parts);
});

check('history_is_as_long_as_asked', async (face) => {
  const task = await face.send('echo');
  same((await face.get(task.id, 1)).history, 1);
  same((await face.get(task.id)).history, 1);
});

check('tasks_are_listed', async (face) => {
  const task = await face.send('echo listed');
  same((await face.list(task.context)).map(({ id }) => id), [task.id]);
}, 'list');

check('an_unknown_task_is_not_found', async (face) => {
  await refuses(face, 'TaskNotFound', face.get('made-up'));
  await refuses(face, 'TaskNotFound', face.cancel('made-up'));
  await refuses(face, 'TaskNotFound', face.send('x', { task: 'made-up' }));
});

check('an_unknown_stream_is_not_found', async (face) => {
  await refuses(face, 'TaskNotFound', drained(face.subscribe('made-up')));
  await refuses(face, 'TaskNotFound', drained(face.stream('x', { task: 'made-up' })));
});

check('a_task_that_has_ended_takes_nothing', async (face) => {
  const task = await face.send('echo');
  await refuses(face, 'TaskNotCancelable', face.cancel(task.id));
  await refuses(face, 'UnsupportedOperation', face.send('x', { task: task.id }));
  await refuses(face, 'UnsupportedOperation', drained(face.subscribe(task.id)));
});

/** A webhook's receiver on a free port. */
class Hook {
  posts = [];

  async listen() {
    this.server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += chunk));
      request.on('end', () => {
        this.posts.push({ path: request.url, headers: request.headers, body: JSON.parse(body) });
        response.end();
      });
    });
    await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }

  url(name) {
    return `http://127.0.0.1:${this.server.address().port}/${name}`;
  }

  async until(name, holds) {
    for (const begun = Date.now(); Date.now() - begun < PATIENCE; ) {
      const found = this.posts.find(({ path, body }) => path === `/${name}` && holds(body));
      if (found) return found;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`no such notification among ${JSON.stringify(this.posts.filter(({ path }) => path === `/${name}`))}`);
  }
}

check('a_configuration_is_set_and_got_and_listed', async (face) => {
  const task = await face.send('hold', { blocking: false });
  const url = 'http://127.0.0.1:9/hook';
  await face.pushSet(task.id, { id: 'mine', url });
  same(await face.pushGet(task.id, 'mine'), { id: 'mine', url });
  same(await face.pushList(task.id), [{ id: 'mine', url }]);
  await face.pushDelete(task.id, 'mine');
  await refuses(face, 'TaskNotFound', face.pushGet(task.id, 'mine'));
  await face.cancel(task.id);
}, 'push');

check('the_end_of_a_task_is_pushed', async (face) => {
  const name = randomUUID();
  const task = await face.send('hold', { blocking: false });
  const more = { token: 't-1', scheme: 'Bearer', credentials: 's-1' };
  await face.pushSet(task.id, { id: 'c', url: face.hook.url(name), ...more });
  await face.send('go on', { task: task.id, context: task.context });
  const { headers } = await face.hook.until(name, (body) => face.pushedState(body) === 'completed');
  same([headers.authorization, headers['x-a2a-notification-token']], ['Bearer s-1', 't-1']);
}, 'push');

check('a_configuration_comes_with_a_message', async (face) => {
  const name = randomUUID();
  await face.send('echo pushed', { push: face.hook.url(name) });
  await face.hook.until(name, (body) => face.pushedState(body) === 'completed');
}, 'push');

check('the_extended_card_is_shown', async (face) => {
  const { name, skills } = await face.extendedCard();
  same([name, skills.map(({ id }) => id)], ['Clients', ['words', 'more']]);
}, 'extended_card');

async function one(face, { name, run, needs }) {
  if (needs && !face.can(needs)) return null;
  const late = new Promise((_, reject) => setTimeout(() => reject(new Error('it hangs')), PATIENCE).unref());
  try {
    await Promise.race([run(face), late]);
    return { name, why: '' };
  } catch (why) {
    return { name, why: `${why?.name}: ${why?.message}` };
  }
}

/** All checks of a binding side by side: none of them minds the others. */
export async function main(connect) {
  const options = { bindings: { type: 'string' }, without: { type: 'string', default: '' } };
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const hook = new Hook();
  await hook.listen();
  let failed = 0;
  for (const binding of values.bindings.split(',')) {
    const face = await connect(positionals[0], binding);
    Object.assign(face, { hook, binding, without: values.without.split(',') });
    const rows = await Promise.all(checks.map((row) => one(face, row)));
    for (const { name, why } of rows.filter(Boolean)) {
      failed += why ? 1 : 0;
      console.log(`${why ? 'FAIL' : 'PASS'} ${binding} ${name}${why && `: ${why}`}`);
    }
  }
  console.log(failed ? `${failed} failed` : 'all passed');
  process.exit(failed ? 1 : 0);
}

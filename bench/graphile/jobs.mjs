// How many jobs graphile-worker takes in and works off in a second: `node jobs.mjs HOST COUNT CLIENTS CONCURRENCY`.
// Jobs are added one at a time by each client while they are worked on; its batching stays off, as it is by default.
// Prints one line of JSON: {"count": jobs, "seconds": from the first that is added to the last that is done}.
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";

const [host, count, clients, concurrency] = [process.argv[2], ...process.argv.slice(3).map(Number)];
const text = "Please look at the figures of last week and say what has changed since then";

const pool = () => {
  const pool = new pg.Pool({ host, user: "baton", database: "postgres", max: Math.max(clients, concurrency) + 2 });
  pool.on("error", fail);
  pool.on("connect", (client) => client.on("error", fail));
  return pool;
};
const fail = (why) => {
  throw why;
};
const [adding, working] = [pool(), pool()];
const logger = new Logger(() => () => {});
const utils = await makeWorkerUtils({ pgPool: adding, logger });
await utils.migrate();
const runner = await run({ pgPool: working, concurrency, logger, noHandleSignals: true, taskList: { cycle: () => {} } });

let done = 0;
const all = new Promise((resolve) => {
  runner.events.on("job:complete", ({ error }) => {
    if (error) throw error;
    done += 1;
    if (done === count) resolve(performance.now());
  });
});
// What connects and is prepared only once is no part of it.
await Promise.all(Array.from({ length: clients }, () => adding.query("select 1")));

const start = performance.now();
let next = 0;
const add = async () => {
  while (next < count) {
    const number = next++;
    await utils.addJob("cycle", { number, text });
  }
};
await Promise.all(Array.from({ length: clients }, add));
const end = await all;
await runner.stop();
await utils.release();
await Promise.all([adding.end(), working.end()]);
console.log(JSON.stringify({ count, seconds: (end - start) / 1000 }));

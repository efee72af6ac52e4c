import { afterEach, beforeAll, expect, it } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { migrate, resolveOptions } from '@app/sharding';
import { runOnce, withClient } from '../support/admin-query.js';
import { bookmarksOptions, call } from '../support/bookmarks.js';
import { BookmarksProcess } from '../support/bookmarks-process.js';
import { bootApp, deployment, type Deployment } from '../support/deployment.js';
import { RunningDirectory } from '../support/own-control.js';
import { TestCluster } from '../support/test-cluster.js';

/** A process that was stopped, or too busy to listen: its first route afterwards is by fresh data (P7). */
const STANDSTILL_MS = 3200;

let databases: Deployment;
let close: (() => Promise<void>) | undefined;

beforeAll(async () => {
  databases = await deployment(2);
});
afterEach(() => close?.());

it('an event loop that was blocked: the next route, made in the same turn, sees the change', async () => {
  const app = await bootApp(databases.options({ directoryShardRouter: true }));
  close = () => app.close();
  const running = new RunningDirectory(app);
  let stale = 0;
  for (const shard of ['shard1', 'shard0']) {
    await withClient(databases.control, async (client) => {
      const changed = client.query(
        `select pg_sleep(0.3); insert into _sharding_directory (routing_key, shard_name) values ('acme', '${shard}')
          on conflict (routing_key) do update set shard_name = excluded.shard_name`,
      );
      await new Promise((resolve) => setImmediate(resolve)); // it is sent
      const before = running.directory.revision;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STANDSTILL_MS);
      const route = running.route('acme');
      if (running.directory.revision === before) stale++; // nothing was heard of the change when it was asked
      expect(await route).toBe(shard);
      await changed;
    });
  }
  expect(stale).toBe(2);
}, 60_000);

it('an event loop that is kept busy by routes alone: they see every change, and none fails', async () => {
  const limits = { directoryOnOutage: 'fail', directoryMaxStalenessMs: 5000 } as const;
  const app = await bootApp(databases.options({ directoryShardRouter: true, ...limits }));
  close = () => app.close();
  const running = new RunningDirectory(app);
  const [from, to] = [running.hashed('busy'), running.other('busy')];
  const repin = (shard: string) => `update _sharding_directory set shard_name = '${shard}'; commit;`;
  await withClient(databases.control, async (client) => {
    const changed = client.query(`do $$ begin
      perform pg_sleep(0.3); insert into _sharding_directory (routing_key, shard_name) values ('busy', '${to}'); commit;
      perform pg_sleep(4); ${repin(from)} perform pg_sleep(4); ${repin(to)} end $$`);
    await new Promise((resolve) => setImmediate(resolve)); // it is sent
    const seen: string[] = [];
    const ends = performance.now() + 13_000;
    let routes = 0;
    for (; performance.now() < ends; routes++) {
      const shard = await running.route('busy'); // waits for no I/O
      if (shard !== seen.at(-1)) seen.push(shard);
    }
    expect(seen).toEqual([from, to, from, to]);
    expect(routes).toBeGreaterThan(10_000);
    await changed;
  });
}, 60_000);

it('a process that was stopped: the request that waits for it when it goes on is routed by fresh data', async () => {
  const cluster = TestCluster.attach();
  const [control, ...shards] = await Promise.all(
    ['control', 'shard0', 'shard1'].map((label) => cluster.createDatabase({ label })),
  );
  await migrate(resolveOptions(bookmarksOptions({ control: control!, shards })), () => undefined);
  const service = await BookmarksProcess.start({
    control: control!,
    shards,
    settings: { SHARDING_DATABASE__DIRECTORY_SHARD_ROUTER: 'true' },
  });
  close = () => service.dispose();
  const create = (title: string) =>
    call(`${service.url}/api/bookmarks`, { tenant: 'acme', json: { url: 'https://example.com/', title } });
  expect(await create('before')).toMatchObject({ status: 201 });

  for (let round = 1; round <= 2; round++) {
    service.signal('SIGSTOP');
    await runOnce(
      control!,
      `insert into _sharding_directory (routing_key, shard_name) values ('acme', $1)
        on conflict (routing_key) do update set shard_name = excluded.shard_name`,
      [`shard${round % 2}`],
    );
    await pause(STANDSTILL_MS); // the fault itself
    const answer = create(`round ${round}`);
    await pause(50); // it is in the socket when the process goes on
    service.signal('SIGCONT');
    expect(await answer).toMatchObject({ status: 201 });
    const found = await runOnce(shards[round % 2]!, 'select from bookmarks where title = $1', [
      `round ${round}`,
    ]);
    expect(found).toHaveLength(1);
  }
}, 90_000);

import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { waitFor } from '@test/support';
import { runOnce, withClient } from '../support/admin-query.js';
import { bookmarksOptions, bootBookmarks, call } from '../support/bookmarks.js';
import { PostgresServer } from '../support/postgres-server.js';
import type { RunningBookmarks } from '../support/bookmarks.js';

/**
 * NOTIFY takes a lock of the whole server, "object of database 0", until its transaction has committed: whatever sends one
 * with each write commits one after the other, over all databases (C31). Pins may; tenants' writes never do.
 */
const NOTIFY_LOCK = `from pg_locks where locktype = 'object' and database = 0 and classid = 'pg_database'::regclass
  and objid = 0`;

let server: PostgresServer;
let urls: { control: string; shards: string[] };
let bookmarks: RunningBookmarks;

beforeEach(async () => {
  // who asks for a synchronous commit waits for a standby that never comes, and keeps its locks meanwhile
  const settings = { synchronous_standby_names: 'nobody', synchronous_commit: 'local' };
  server = await PostgresServer.start({ name: 'one for all', settings });
  const [control = '', ...shards] = await Promise.all(
    ['control', 'shard0', 'shard1'].map((name) => server.createDatabase(name)),
  );
  urls = { control, shards };
  bookmarks = await bootBookmarks(bookmarksOptions(urls, { directoryShardRouter: true }));
});
afterEach(async () => {
  await bookmarks?.app.close();
  await server?.dispose();
});

const create = (tenant: string) =>
  call(`${bookmarks.url}/api/bookmarks`, { tenant, json: { url: 'https://example.com/', title: tenant } });

it('shards have no trigger and no function of ours that notifies', async () => {
  for (const shard of urls.shards) {
    expect(await runOnce(shard, 'select tgname from pg_trigger where not tgisinternal')).toEqual([]);
    const notifying = `select proname from pg_proc where prosrc ilike '%notify%' and pronamespace = 'public'::regnamespace`;
    expect(await runOnce(shard, notifying)).toEqual([]);
  }
  expect(
    (await runOnce(urls.control, 'select from pg_trigger where not tgisinternal')).length,
  ).toBeGreaterThan(0);
});

it('writes of tenants do not wait for the lock of a NOTIFY, and send none', async () => {
  let notifications = 0;
  const tenants = Array.from({ length: 20 }, (_, n) => `tenant-${n}`);
  await withClient(urls.shards[0]!, async (listener) => {
    listener.on('notification', () => notifications++);
    await listener.query('listen _sharding_directory');
    await withClient(urls.control, async (pinning) => {
      await pinning.query('set synchronous_commit = on');
      const pinned = pinning.query(
        `insert into _sharding_directory (routing_key, shard_name) values ('acme', 'shard1')`,
      );
      const held = async () => (await server.query(`select ${NOTIFY_LOCK} and granted`)).length === 1;
      await waitFor(held, { what: 'the pin to hold the lock of NOTIFY' });
      for (const shard of urls.shards) {
        await expect(runOnce(shard, `set lock_timeout = '300ms'; notify x`)).rejects.toMatchObject({
          code: '55P03', // who sends a NOTIFY waits, in any database
        });
      }
      const answers = await Promise.all(tenants.map(create));
      expect(answers.map(({ status }) => status)).toEqual(tenants.map(() => 201));
      expect(await server.query(`select ${NOTIFY_LOCK}`)).toHaveLength(1);
      await server.query(`alter system set synchronous_standby_names = ''`);
      await server.query('select pg_reload_conf()');
      await pinned;
    });
    await listener.query('select 1'); // what was sent has arrived
  });
  expect(notifications).toBe(0);
}, 60_000);

import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { seededPick } from '../support/seeded-random.js';
import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { DirectoryConnection, DirectoryRouter, Pins } from '@app/sharding';
import { HashRouter, routeKey } from '@app/routing';
import { waitFor } from '@test/support';
import { withClient } from '../support/admin-query.js';
import { bootApp, deployment, type Deployment } from '../support/deployment.js';
import { OwnControl, RunningDirectory } from '../support/own-control.js';
import type pg from 'pg';

/** Re-pins under look-ups: an answer that is older than a change never comes back once the change was applied (P7). */
const KEYS = Array.from({ length: 12 }, (_, n) => `tenant-${n}`);
const SHARDS = ['shard0', 'shard1', null] as const;
const ROUNDS = 200;
const SEED = Number(process.env['DIRECTORY_SEED'] ?? randomInt(2 ** 31));

/** Of the last statement that changed anything: the others are not announced. */
const CHANGED = 'select max(revision) as revision from _sharding_directory_changes';

/** What the network takes for each way. */
const LATE_MS = 150;

let databases: Deployment;
let running: RunningDirectory;

beforeAll(async () => {
  databases = await deployment(2);
});
afterEach(async () => {
  await running?.app.close();
  await databases.query('control', 'truncate _sharding_directory');
});

/** Asks for every key, side by side, until it is stopped. */
class Readers {
  asked = 0;
  readonly failures: unknown[] = [];
  readonly #lanes: Promise<void>[];
  #stopped = false;

  constructor(private readonly ask: (key: string) => Promise<unknown>) {
    this.#lanes = KEYS.flatMap((key) => [this.#lane(key), this.#lane(key)]);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#lanes);
  }

  async #lane(key: string): Promise<void> {
    while (!this.#stopped) {
      await this.ask(key).catch((error: unknown) => this.failures.push(error));
      this.asked++;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

async function repin(client: pg.Client, key: string, shard: string | null): Promise<number> {
  if (shard === null) await client.query('delete from _sharding_directory where routing_key = $1', [key]);
  else {
    await client.query(
      `insert into _sharding_directory (routing_key, shard_name) values ($1, $2)
        on conflict (routing_key) do update set shard_name = excluded.shard_name`,
      [key, shard],
    );
  }
  const { rows } = await client.query<{ revision: string | null }>(CHANGED);
  return Number(rows[0]!.revision ?? 0);
}

describe.each([
  ['all in memory', { directorySnapshotMax: 1000 }],
  ['each key looked up', { directorySnapshotMax: 1 }],
  ['the mode changes all the time', { directorySnapshotMax: 6 }],
])(`%s (DIRECTORY_SEED=${SEED})`, (_how, database) => {
  it('a storm of re-pins, with several directories in one process', async () => {
    const app = await bootApp(databases.options({ directoryShardRouter: true, ...database }));
    running = new RunningDirectory(app);
    const connection = app.get(DirectoryConnection);
    const second = new DirectoryRouter(connection, { snapshotMax: 1, fallback: new HashRouter() });
    await connection.opened[1]!.directory.start(); // opened after the boot
    const routers = [
      running.route.bind(running),
      async (key: string) => {
        return (await routeKey(second, key, running.shards.topology)).name;
      },
    ];
    const readers = new Readers((key) => Promise.all(routers.map((route) => route(key))));
    const next = seededPick(SEED);
    const wrong: unknown[] = [];
    try {
      await withClient(databases.control, async (client) => {
        for (let round = 0; round < ROUNDS; round++) {
          const key = KEYS[next(KEYS.length)]!;
          const shard = SHARDS[next(SHARDS.length)]!;
          const revision = await repin(client, key, shard);
          const applied = async () =>
            connection.opened.every(({ directory }) => directory.revision >= revision);
          await waitFor(applied, { what: `revision ${revision} to be applied`, everyMs: 1 });
          const expected = shard ?? running.hashed(key);
          for (let again = 0; again < 3; again++) {
            for (const [index, route] of routers.entries()) {
              const answer = await route(key);
              if (answer !== expected) wrong.push({ round, index, key, answer, expected });
            }
          }
        }
      });
    } finally {
      await readers.stop();
    }
    expect(wrong).toEqual([]);
    expect(readers.failures).toEqual([]);
    expect(readers.asked).toBeGreaterThan(ROUNDS * 10);
  }, 60_000);

  it('Pins.pin() of the same process: the next route sees it', async () => {
    running = new RunningDirectory(
      await bootApp(databases.options({ directoryShardRouter: true, ...database })),
    );
    const pins = running.app.get(Pins);
    const readers = new Readers((key) => running.route(key));
    const next = seededPick(SEED + 1);
    const wrong: unknown[] = [];
    try {
      for (let round = 0; round < 60; round++) {
        const key = KEYS[next(KEYS.length)]!;
        const shard = SHARDS[next(SHARDS.length)]!;
        if (shard === null) await pins.unpin(key);
        else await pins.pin(key, shard);
        const answer = await running.route(key);
        if (answer !== (shard ?? running.hashed(key))) wrong.push({ round, key, answer, shard });
      }
    } finally {
      await readers.stop();
    }
    expect(wrong).toEqual([]);
    expect(readers.failures).toEqual([]);
  }, 60_000);
});

it('Pins and plain SQL that want the same rows in another order both get through', async () => {
  running = new RunningDirectory(await bootApp(databases.options({ directoryShardRouter: true })));
  const pins = running.app.get(Pins);
  await pins.pin('mine', 'shard0');
  await pins.pin('theirs', 'shard0');
  await withClient(databases.control, async (client) => {
    await client.query(`begin; update _sharding_directory set note = 'a' where routing_key = 'theirs'`);
    const pinned = pins.pin('mine', 'shard1');
    const waits = async () =>
      (
        await databases.query(
          'control',
          `select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`,
        )
      ).length === 1;
    await waitFor(waits, { what: 'the pin to wait for its turn' });
    await client.query(`update _sharding_directory set note = 'b' where routing_key = 'mine'`);
    await client.query('commit');
    await pinned;
  });
  expect(await running.route('mine')).toBe('shard1');
});

it('answers that come later than the news of a change are not kept', async () => {
  const control = await OwnControl.start();
  try {
    await control.pin('other', 'shard0');
    await control.pin('acme', 'shard0');
    const options = { directorySnapshotMax: 1, maintenanceUrl: control.direct };
    const late = await control.boot(options); // the listener is not behind the slow proxy, the pool is
    await late.route('warm');
    control.proxy.delay(LATE_MS);
    let overtaken = 0;
    for (let round = 0; round < 20 && overtaken < 3; round++) {
      const [from, to] = round % 2 === 0 ? ['shard0', 'shard1'] : ['shard1', 'shard0'];
      await control.pin('acme', from); // nothing is kept of it now
      await revisionOf(control, late);
      const slow = late.route('acme');
      await pause(1.2 * LATE_MS); // the server has read it, and its answer is under way
      await control.pin('acme', to);
      await revisionOf(control, late);
      if ((await slow) === from) overtaken++;
      expect(await late.route('acme')).toBe(to);
    }
    expect(overtaken).toBe(3);
    control.proxy.heal();
  } finally {
    await control.dispose();
  }
}, 60_000);

async function revisionOf(control: OwnControl, late: RunningDirectory): Promise<void> {
  const [row] = await control.sql('select revision from _sharding_revision');
  const applied = async () => late.directory.revision >= Number(row!['revision']);
  await waitFor(applied, { what: 'the change to be heard of', everyMs: 2 });
}

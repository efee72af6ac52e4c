import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { waitFor } from '@test/support';
import { withClient } from '../support/admin-query.js';
import { bootApp, deployment, type Deployment } from '../support/deployment.js';
import { RunningDirectory } from '../support/own-control.js';

/** Directories of many rows, and changes of many rows: every route is right throughout (P7, C29). */
const MANY = 100_000;

let databases: Deployment;
let running: RunningDirectory;

beforeEach(async () => {
  databases = await deployment(2);
});
let stopping: (() => Promise<unknown>) | undefined;
afterEach(async () => {
  await stopping?.(); // also where the test has failed
  stopping = undefined;
  await running.app.close();
});

const sql = (text: string, params?: unknown[]) => databases.query('control', text, params);
const boot = async (database = {}) => {
  running = new RunningDirectory(
    await bootApp(databases.options({ directoryShardRouter: true, ...database })),
  );
};
const insertMany = (count: number) =>
  sql(
    `insert into _sharding_directory (routing_key, shard_name)
      select 'row-' || n, 'shard' || n % 2 from generate_series(1, $1) n`,
    [count],
  );
const untilMode = (mode: string) =>
  waitFor(async () => running.directory.mode === mode, { what: `mode ${mode}`, timeoutMs: 60_000 }); // ten times a load
/** Waits until what the database says now is known. */
async function untilApplied(): Promise<void> {
  const [row] = await sql('select max(revision) as revision from _sharding_directory_changes');
  const revision = Number(row!['revision']);
  await waitFor(async () => running.directory.revision >= revision, { what: `revision ${revision}` });
}

/** Asks for rows at random, and for keys without one, until it is stopped; gives the wrong answers. */
class Prober {
  asked = 0;
  readonly #wrong: unknown[] = [];
  readonly #modes = new Set<string>();
  #stopped = false;
  readonly #loop = this.#run();

  async stop(): Promise<{ wrong: unknown[]; modes: Set<string> }> {
    this.#stopped = true;
    await this.#loop;
    return { wrong: this.#wrong, modes: this.#modes };
  }

  async #run(): Promise<void> {
    for (; !this.#stopped; this.asked += 2) {
      const row = 1 + Math.floor(Math.random() * MANY);
      await this.#expect(`row-${row}`, `shard${row % 2}`);
      const free = `free-${row % 1000}`;
      await this.#expect(free, running.hashed(free));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async #expect(key: string, expected: string): Promise<void> {
    const answer = await running.route(key);
    this.#modes.add(running.directory.mode);
    if (answer !== expected) this.#wrong.push({ key, answer, expected });
  }
}

it('100,000 rows are kept, one more is not, and back', async () => {
  await insertMany(MANY);
  await boot();
  expect(running.directory).toMatchObject({ mode: 'snapshot', rows: MANY, listening: true });
  const prober = new Prober();
  stopping = () => prober.stop();
  await sql(`insert into _sharding_directory (routing_key, shard_name) values ('one more', 'shard1')`);
  await untilMode('per_key');
  const askedPerKey = prober.asked;
  await waitFor(async () => prober.asked > askedPerKey + 500, {
    what: 'routes of single keys',
    timeoutMs: 15_000,
  });
  expect(await running.route('one more')).toBe('shard1');
  await sql(`delete from _sharding_directory where routing_key = 'one more'`);
  await untilMode('snapshot');
  expect(await running.route('one more')).toBe(running.hashed('one more'));
  const asked = prober.asked;
  await waitFor(async () => prober.asked > asked + 500, { what: 'routes of the snapshot' });
  const { wrong, modes } = await prober.stop();
  expect(wrong).toEqual([]);
  expect(modes).toEqual(new Set(['snapshot', 'per_key']));
}, 150_000);

it('a change of other keys leaves what was looked up where it is', async () => {
  await insertMany(500);
  await boot({ directorySnapshotMax: 100 });
  for (let n = 1; n <= 50; n++) await running.route(`row-${n}`);
  expect(running.directory.lookedUp).toBe(50);
  for (let n = 0; n < 5; n++) {
    await sql(`update _sharding_directory set shard_name = 'shard0' where routing_key = 'row-${n * 2 + 1}'`);
    await untilApplied();
  }
  expect(running.directory.lookedUp).toBe(45);
  expect(await running.route('row-1')).toBe('shard0');
});

describe.each([
  ['all in memory', {}],
  ['each key looked up', { directorySnapshotMax: 1 }],
])('%s', (_how, database) => {
  beforeEach(async () => {
    await insertMany(300);
    await boot(database);
    await routes({ 'row-1': 'shard1', 'row-2': 'shard0', free: running.hashed('free') });
  });

  async function routes(expected: Record<string, string>): Promise<void> {
    await untilApplied();
    const answers: Record<string, string> = {};
    for (const key of Object.keys(expected)) answers[key] = await running.route(key);
    expect(answers).toEqual(expected);
  }

  it('a change of more than 100 keys in one statement', async () => {
    await sql(`update _sharding_directory set shard_name = 'shard' || 1 - right(shard_name, 1)::int`);
    await routes({ 'row-1': 'shard0', 'row-2': 'shard1', 'row-300': 'shard1' });
  });

  it('a rename: both names', async () => {
    await sql(
      `update _sharding_directory set routing_key = 'free', shard_name = $1 where routing_key = 'row-1'`,
      [running.other('free')],
    );
    await routes({ 'row-1': running.hashed('row-1'), free: running.other('free') });
  });

  it('a delete of everything, and TRUNCATE', async () => {
    await sql('delete from _sharding_directory');
    await routes({ 'row-1': running.hashed('row-1'), 'row-2': running.hashed('row-2') });
    await insertMany(300);
    await routes({ 'row-1': 'shard1', 'row-2': 'shard0' });
    await sql('truncate _sharding_directory');
    await routes({ 'row-1': running.hashed('row-1'), 'row-2': running.hashed('row-2') });
  });

  it('a transaction that is rolled back changes nothing', async () => {
    const before = running.directory.revision;
    await withClient(databases.control, async (client) => {
      await client.query(
        `begin; update _sharding_directory set shard_name = 'shard0' where routing_key = 'row-1'`,
      );
      expect(await running.route('row-1')).toBe('shard1');
      await client.query('rollback');
    });
    await sql(`insert into _sharding_directory (routing_key, shard_name) values ('later', 'shard1')`);
    await routes({ 'row-1': 'shard1', later: 'shard1' });
    expect(running.directory.revision).toBe(before + 1);
  });

  it('more than a thousand revisions at once', async () => {
    await sql(`do $$ begin
      for n in 1..1100 loop
        update _sharding_directory set shard_name = case shard_name when 'shard0' then 'shard1' else 'shard0' end
          where routing_key = case n when 1 then 'row-1' else 'row-3' end;
      end loop;
    end $$`);
    await routes({ 'row-1': 'shard0', 'row-2': 'shard0', 'row-3': 'shard0' });
  });

  it('an older copy of the database: a revision that goes back', async () => {
    await sql('alter table _sharding_directory disable trigger user');
    await sql(`update _sharding_directory set shard_name = 'shard0' where routing_key = 'row-1'`);
    await sql('update _sharding_revision set revision = revision - 1');
    await sql('alter table _sharding_directory enable trigger user');
    const [row] = await sql('select revision from _sharding_revision');
    await waitFor(async () => running.directory.revision === Number(row!['revision']), {
      what: 'the older revision',
    });
    expect(await running.route('row-1')).toBe('shard0');
  });
});

it('changes of many keys that never end do not keep the directory from being read', async () => {
  await insertMany(30_000);
  let changes = 0;
  let stopped = false;
  const writing = withClient(databases.control, async (client) => {
    for (; !stopped; changes++) {
      await client.query(
        `update _sharding_directory set note = $1 where routing_key like 'row-1111%' or routing_key like 'row-222%'`,
        [changes],
      );
    }
  });
  stopping = () => {
    stopped = true;
    return writing;
  };
  await waitFor(async () => changes > 3, { what: 'the changes to begin' });
  await boot();
  expect(running.directory.mode).toBe('snapshot');
  const from = changes;
  await waitFor(async () => changes > from + 30, { what: 'more changes', timeoutMs: 20_000 });
  expect(running.directory.staleSince).toBeUndefined();
  expect(running.directory.ageMs).toBeLessThan(3000);
  await stopping();
  await sql(`update _sharding_directory set shard_name = 'shard0' where routing_key = 'row-1'`);
  await untilApplied();
  expect(await running.route('row-1')).toBe('shard0');
  expect(running.directory.listening).toBe(true);
}, 60_000);

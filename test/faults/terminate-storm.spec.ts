import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { waitFor } from '@test/support';
import { withClient } from '../support/admin-query.js';
import { Load, codeOf, summary } from '../support/load.js';
import { ILL, NotesFleet, POOL_SIZE, WELL, lostOrDoubled } from '../support/notes-fleet.js';
import type pg from 'pg';

const ROUNDS = 10;
/** Everybody but who asks; tells of each whether it was in the middle of a write that waits for the lock. */
const TERMINATE = `select pg_terminate_backend(pid) as done, wait_event_type = 'Lock' as held from pg_stat_activity
  where datname = 'notes' and backend_type = 'client backend' and pid <> pg_backend_pid()`;
const HELD = `select from pg_stat_activity where datname = 'notes' and wait_event_type = 'Lock'`;

let fleet: NotesFleet;

beforeEach(async () => {
  fleet = await NotesFleet.start();
});

afterEach(() => fleet.dispose());

interface Storm {
  /** In the database of the notes; whatever else is connected there is ended. */
  readonly client: pg.Client;
  /** Sees who waits while the client holds the lock: a transaction has one snapshot of that. */
  readonly watcher: pg.Client;
}

/**
 * Ends every session twice: while a lock holds at least one write in its middle, and while whatever runs goes on. Gives the
 * number of writes that were ended in their middle.
 */
async function strike({ client, watcher }: Storm): Promise<number> {
  await client.query('begin; lock table notes in exclusive mode');
  const held = async () => (await watcher.query(HELD)).rowCount! > 0;
  await waitFor(held, { what: 'a write that waits for the lock', timeoutMs: 30_000 });
  const { rows } = await client.query<{ done: boolean; held: boolean }>(TERMINATE);
  await client.query('commit');
  await client.query(TERMINATE);
  return rows.filter((ended) => ended.done && ended.held).length;
}

it('a storm of pg_terminate_backend leaves the process alive, the other shard alone and the pool whole', async () => {
  await fleet.untilWell();
  const load = new Load({ url: fleet.url, tenants: [WELL, ILL], lanes: 2 });
  const ended: number[] = [];
  try {
    await withClient(fleet.server.url(), (watcher) =>
      withClient(fleet.server.url('notes'), async (client) => {
        while (ended.length < ROUNDS) ended.push(await strike({ client, watcher }));
      }),
    );
  } finally {
    await load.stop();
  }
  await fleet.untilWell();
  await fleet.untilIdle();

  expect(ended.filter((writes) => writes > 0)).toHaveLength(ROUNDS);
  expect(Object.keys(summary(load.of(WELL))).sort()).toEqual(['200', '201']);
  const failures = load.of(ILL).filter(({ status }) => status >= 300);
  const codes = failures.map((answer) => `${answer.status} ${codeOf(answer)}`);
  expect(codes.filter((code) => !['503 shard_unavailable', '500 commit_unknown'].includes(code))).toEqual([]);
  const rows = await fleet.texts();
  expect(lostOrDoubled(load.answers, rows)).toEqual({ lost: [], doubled: [] });
  const stored = new Set(rows.map(({ text }) => text));
  const unavailable = failures
    .filter(({ text }) => text !== undefined)
    .filter((answer) => codeOf(answer) === 'shard_unavailable');
  expect(unavailable.filter(({ text }) => stored.has(text!))).toEqual([]);
  const inTheMiddle = ended.reduce((sum, writes) => sum + writes, 0);
  expect(unavailable.length).toBeGreaterThanOrEqual(inTheMiddle);

  const after = await Promise.all(Array.from({ length: 40 }, () => fleet.call(ILL)));
  expect(summary(after)).toEqual({ '200': 40 });
  expect(fleet.stats()).toMatchObject({ max: POOL_SIZE, active: 0, waiting: 0 });
}, 120_000);

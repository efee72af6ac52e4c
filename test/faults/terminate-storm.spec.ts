import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { withClient } from '../support/admin-query.js';
import { Load, codeOf, summary } from '../support/load.js';
import { ILL, NotesFleet, POOL_SIZE, WELL, lostOrDoubled } from '../support/notes-fleet.js';

const EVERY_MS = 20;
const ROUNDS = 100;
const TERMINATE = `select pg_terminate_backend(pid) as done from pg_stat_activity
  where datname = 'notes' and backend_type = 'client backend'`;

let fleet: NotesFleet;

beforeEach(async () => {
  fleet = await NotesFleet.start();
});

afterEach(() => fleet.dispose());

it('a storm of pg_terminate_backend leaves the process alive, the other shard alone and the pool whole', async () => {
  await fleet.untilWell();
  const load = new Load({ url: fleet.url, tenants: [WELL, ILL] });
  let rounds = 0;
  let terminated = 0;
  await withClient(fleet.server.url(), async (client) => {
    for (; rounds < ROUNDS; rounds++) {
      terminated += (await client.query(TERMINATE)).rowCount ?? 0;
      await pause(EVERY_MS); // the rhythm of the storm
    }
  });
  const answers = await load.stop();
  await fleet.untilWell();
  await fleet.untilIdle();

  expect(rounds).toBe(ROUNDS);
  expect(terminated).toBeGreaterThan(ROUNDS / 10);
  expect(Object.keys(summary(load.of(WELL))).sort()).toEqual(['200', '201']);
  const failures = load.of(ILL).filter(({ status }) => status >= 300);
  expect(failures.length).toBeGreaterThan(0);
  expect(
    failures.filter((answer) => !['shard_unavailable', 'commit_unknown'].includes(codeOf(answer)!)),
  ).toEqual([]);
  expect(lostOrDoubled(answers, await fleet.texts())).toEqual({ lost: [], doubled: [] });
  const after = await Promise.all(Array.from({ length: 40 }, () => fleet.call(ILL)));
  expect(summary(after)).toEqual({ '200': 40 });
  expect(fleet.stats()).toMatchObject({ max: POOL_SIZE, active: 0, waiting: 0 });
}, 60_000);

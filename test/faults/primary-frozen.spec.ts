import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Shards } from '@app/sharding';
import { waitFor } from '@test/support';
import { Load, codeOf, summary } from '../support/load.js';
import {
  CONNECT_TIMEOUT_MS,
  ILL,
  NotesFleet,
  POOL_SIZE,
  WELL,
  lostOrDoubled,
} from '../support/notes-fleet.js';

/** What `pg` gives a statement, and what the library gives a rollback or a commit after that. */
const QUERY_TIMEOUT_MS = 1000;
const GRACE_MS = 3000;
const BOUND_MS = CONNECT_TIMEOUT_MS + QUERY_TIMEOUT_MS + GRACE_MS + 2000;

let fleet: NotesFleet;

beforeEach(async () => {
  fleet = await NotesFleet.start({ typeorm: { extra: { query_timeout: QUERY_TIMEOUT_MS } } });
});

afterEach(async () => {
  fleet.server.thaw();
  await fleet.dispose();
});

it('a primary that freezes under load holds up its own requests alone, each within its bound, and is well when it thaws', async () => {
  await fleet.untilWell();
  const load = new Load({ url: fleet.url, tenants: [WELL, ILL] });
  await waitFor(async () => load.good(ILL) >= 40, { what: 'the load to run', timeoutMs: 15_000 });
  fleet.server.freeze({ backends: true });
  const before = load.of(ILL).length;
  await waitFor(async () => load.of(ILL).length > before + 8, {
    what: 'requests to fail',
    timeoutMs: BOUND_MS,
  });
  expect(await fleet.health()).toMatchObject({ status: 503, down: ['db:shard:shard1'] });
  const served = load.good(WELL);
  await waitFor(async () => load.good(WELL) > served + 20, { what: 'shard0 to be served meanwhile' });
  fleet.server.thaw();
  await fleet.untilWell();
  const answers = await load.stop();
  await fleet.untilIdle();

  expect(Object.keys(summary(load.of(WELL))).sort()).toEqual(['200', '201']);
  const failures = load.of(ILL).filter(({ status }) => status >= 300);
  const known = ['shard_unavailable', 'deadline_exceeded', 'commit_unknown'];
  expect(failures.filter((answer) => !known.includes(codeOf(answer)!))).toEqual([]);
  expect(load.of(ILL).filter(({ ms }) => ms > BOUND_MS)).toEqual([]);
  expect(lostOrDoubled(answers, await fleet.texts())).toEqual({ lost: [], doubled: [] });
}, 60_000);

it('a postmaster that freezes lets open connections work and says so in health; new ones fail within their bound', async () => {
  const db = await fleet.app.get(Shards).dbOn('shard1');
  await fleet.untilWell();
  await fleet.untilIdle();
  fleet.server.freeze();
  expect(await fleet.health()).toMatchObject({ status: 503, down: ['db:shard:shard1'] });
  expect(await fleet.call(ILL)).toMatchObject({ status: 200 });
  expect(await fleet.write(ILL, 'on an open connection')).toMatchObject({ status: 201 });
  await fleet.untilIdle();

  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const open = fleet.stats().idle;
  let holding = 0;
  const holders = Array.from({ length: open }, () =>
    db.tx(async (tx) => {
      await tx.query('select 1');
      holding++;
      await finished;
    }),
  );
  await waitFor(async () => holding === open, { what: 'the open connections to be in use' });
  const late = await Promise.all(Array.from({ length: POOL_SIZE }, () => fleet.call(ILL)));
  expect(summary(late)).toEqual({ '503 shard_unavailable': POOL_SIZE });
  expect(late.filter(({ ms }) => ms > CONNECT_TIMEOUT_MS + 2000)).toEqual([]);
  expect(await fleet.call(WELL)).toMatchObject({ status: 200 });
  finish();
  await Promise.all(holders);

  fleet.server.thaw();
  await fleet.untilWell();
  await fleet.untilIdle();
}, 60_000);

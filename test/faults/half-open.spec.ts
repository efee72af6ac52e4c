import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Shards } from '@app/sharding';
import { waitFor } from '@test/support';
import { codeOf, summary } from '../support/load.js';
import { CONNECT_TIMEOUT_MS, ILL, NotesFleet, POOL_SIZE, WELL } from '../support/notes-fleet.js';

/** TCP connections that are cut without FIN or RST: only limits of our own can tell (threat to P6 and P8). */
const QUERY_TIMEOUT_MS = 800;
const GRACE_MS = 3000;
const BOUND_MS = CONNECT_TIMEOUT_MS + QUERY_TIMEOUT_MS + GRACE_MS + 2000;

let fleet: NotesFleet;

beforeEach(async () => {
  fleet = await NotesFleet.start({ typeorm: { extra: { query_timeout: QUERY_TIMEOUT_MS } } });
});

afterEach(() => fleet.dispose());

describe('a connection that goes silent in the middle of a statement', () => {
  it.each(['before', 'after'] as const)(
    'cut %s the server got it: bounded by query_timeout, its connection is thrown away',
    async (when) => {
      fleet.proxy.cutOn(/^select count/i, when, 'silent');
      const answer = await fleet.call(ILL);
      expect(answer).toMatchObject({ status: 504, body: { code: 'deadline_exceeded' } });
      expect(answer.ms).toBeLessThan(BOUND_MS);
      expect(fleet.proxy.injections).toBe(1);
      await fleet.untilIdle();
      expect(fleet.stats().idle).toBe(0);
      expect(summary(await Promise.all(Array.from({ length: 8 }, () => fleet.call(ILL))))).toEqual({
        '200': 8,
      });
    },
  );

  it('inside tx({ timeoutMs }): bounded by that, and nothing of it is left', async () => {
    const db = await fleet.app.get(Shards).dbOn('shard1');
    fleet.proxy.cutOn(/pg_sleep/, 'before', 'silent');
    const began = performance.now();
    const late = db.tx((tx) => tx.query('select pg_sleep(0)'), { timeoutMs: 500 });
    await expect(late).rejects.toMatchObject({ code: 'deadline_exceeded' });
    expect(performance.now() - began).toBeLessThan(500 + GRACE_MS + 2000);
    expect(fleet.proxy.injections).toBe(1);
    await fleet.untilIdle();
    expect(await fleet.write(ILL, 'next')).toMatchObject({ status: 201 });
  });
});

it('idle connections that went silent cost each its user one bounded failure, and the pool is whole again', async () => {
  const db = await fleet.app.get(Shards).dbOn('shard1');
  let holding = 0;
  await Promise.all(
    Array.from({ length: POOL_SIZE }, () =>
      db.tx(async (tx) => {
        await tx.query('select 1');
        holding++;
        await waitFor(async () => holding === POOL_SIZE, { what: 'the pool to be full' });
      }),
    ),
  );
  await waitFor(async () => fleet.stats().idle === POOL_SIZE, { what: 'the pool to be idle' });
  expect(fleet.proxy.blackHoleOpen()).toBe(POOL_SIZE);

  const answers = await Promise.all(Array.from({ length: POOL_SIZE }, () => fleet.call(ILL)));
  const failures = answers.filter(({ status }) => status !== 200);
  expect(
    failures.filter((answer) => !['deadline_exceeded', 'shard_unavailable'].includes(codeOf(answer)!)),
  ).toEqual([]);
  expect(failures.length).toBeLessThanOrEqual(POOL_SIZE);
  expect(answers.filter(({ ms }) => ms > BOUND_MS)).toEqual([]);
  expect(await fleet.call(WELL)).toMatchObject({ status: 200 });
  await fleet.untilWell();
  await fleet.untilIdle();
  expect(summary(await Promise.all(Array.from({ length: 20 }, () => fleet.call(ILL))))).toEqual({
    '200': 20,
  });
  expect(fleet.stats().idle).toBeLessThanOrEqual(POOL_SIZE);
});

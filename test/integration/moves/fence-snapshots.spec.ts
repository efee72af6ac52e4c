import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { installFence, raiseFence, setTombstones, waitForWriters } from '@app/sharding/operator';
import { waitFor } from '@test/support';
import { FenceShard, NOTES, order, outcomeOf, table } from './fence-shard.js';
import type pg from 'pg';
import type { FenceOrder } from '@app/sharding/operator';

const tables = [table('notes')];
const write = (key: string) => `insert into notes (tenant_id) values ('${key}')`;
let shard: FenceShard;
let acme: FenceOrder;

beforeAll(async () => {
  shard = await FenceShard.create(NOTES);
});

beforeEach(async () => {
  acme = order({ keys: ['acme'] });
  await installFence(shard.mover, tables, { keyKind: 'text' });
});

afterEach(async () => {
  await shard.rollback();
  await shard.query('delete from _sharding_fence');
});

afterAll(() => shard.close());

/** A transaction with its snapshot. */
async function begun(isolation: string): Promise<pg.Client> {
  const client = await shard.connect();
  await client.query(`begin isolation level ${isolation}`);
  await client.query('select 1 from notes limit 1');
  return client;
}

describe.each(['repeatable read', 'serializable'])(
  'a transaction in %s that has its snapshot',
  (isolation) => {
    it('from before the fence fails with 40001, whatever it writes', async () => {
      const [writer, neighbour] = [await begun(isolation), await begun(isolation)];
      await raiseFence(shard.mover, acme, 60_000);
      expect(await outcomeOf(writer.query(write('acme')))).toBe('40001');
      expect(await outcomeOf(neighbour.query(write('globex')))).toBe('40001');
    });

    it('from before tombstones too, and TRUNCATE', async () => {
      const [writer, truncates] = [await begun(isolation), await begun(isolation)];
      expect(await setTombstones(shard.mover, acme)).toBe('broken');
      expect(await outcomeOf(writer.query(write('acme')))).toBe('40001');
      await Promise.all([writer, truncates].map((client) => client.query('rollback')));
      const late = await begun(isolation);
      const globex = order({ keys: ['globex'] });
      await raiseFence(shard.mover, globex, 60_000);
      expect(await outcomeOf(late.query('truncate notes'))).toBe('40001');
    });

    it('from after the fence is refused, and others write', async () => {
      await raiseFence(shard.mover, acme, 60_000);
      const writer = await begun(isolation);
      expect(await outcomeOf(writer.query(write('globex')))).toBe('ok');
      expect(await outcomeOf(writer.query(write('acme')))).toBe('SHM01');
    });

    it('and has written keeps no other fence waiting', async () => {
      const writer = await begun(isolation);
      expect(await outcomeOf(writer.query(write('globex')))).toBe('ok');
      await shard.mover.client.query(`set lock_timeout = '500ms'`);
      await raiseFence(shard.mover, acme, 60_000);
    });

    it('fails too where a raise is under way, and not where that is rolled back', async () => {
      const bump = `update _sharding_fence_gate set raised = raised + 1`;
      const next = `select setval('_sharding_fence_raises', raised) from _sharding_fence_gate`;
      for (const [end, expected] of [
        ['commit', '40001'],
        ['rollback', 'ok'],
      ] as const) {
        const [writer, raiser] = [await begun(isolation), await shard.connect()];
        await raiser.query(`begin; ${bump}; ${next}`);
        const writing = outcomeOf(writer.query(write('globex')));
        await waitFor(
          async () =>
            (
              await shard.query(`select from pg_stat_activity where query like 'insert%globex%' and wait_event_type = 'Lock'
            and datname = current_database()`)
            ).length > 0,
          { what: 'the writer to wait for the raise' },
        );
        await raiser.query(end);
        expect(await writing).toBe(expected);
        await writer.query('rollback');
      }
    });
  },
);

describe('a transaction in read committed', () => {
  it('that has begun before the fence is refused', async () => {
    const writer = await begun('read committed');
    expect(await outcomeOf(writer.query(write('globex')))).toBe('ok');
    await raiseFence(shard.mover, acme, 60_000);
    expect(await outcomeOf(writer.query(write('acme')))).toBe('SHM01');
  });

  it('that has written before the fence is waited for, and one that begins later is not', async () => {
    const writer = await begun('read committed');
    await writer.query(write('acme'));
    await raiseFence(shard.mover, acme, 60_000);
    const still = waitForWriters(shard.mover, tables, { limitMs: 10_000 });
    const later = await begun('read committed');
    await later.query(write('globex'));
    await writer.query('commit');
    await still;
  });

  it('whose bulk statement is under way is refused with it, or waited for', async () => {
    const writer = await shard.connect();
    await writer.query('select pg_advisory_lock(1)');
    const bulk = await shard.connect();
    const working = outcomeOf(
      bulk.query(`insert into notes (tenant_id, body)
        select 'acme', case n when 500 then pg_advisory_xact_lock(1)::text end from generate_series(1, 1000) n`),
    );
    await waitFor(
      async () =>
        (await shard.query(`select from pg_locks where locktype = 'advisory' and not granted`)).length > 0,
      { what: 'the statement to be in the middle' },
    );
    await raiseFence(shard.mover, acme, 60_000);
    const still = waitForWriters(shard.mover, tables, { limitMs: 10_000 });
    await writer.query('select pg_advisory_unlock(1)');
    expect(await working).toBe('SHM01');
    await still;
  });
});

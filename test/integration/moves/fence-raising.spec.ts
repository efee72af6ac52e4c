import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  clearSubjects,
  fenceLeft,
  installFence,
  lowerFence,
  raiseFence,
  removeIdleFences,
  removeTombstones,
  setTombstones,
} from '@app/sharding/operator';
import { waitFor } from '@test/support';
import { FenceShard, NOTES, order, table } from './fence-shard.js';

const write = `insert into notes (tenant_id) values ('acme')`;
let shard: FenceShard;

beforeAll(async () => {
  shard = await FenceShard.create(NOTES);
});

afterEach(async () => {
  await shard.query('delete from _sharding_fence');
  await shard.query('delete from _sharding_move_sides');
});

afterAll(() => shard.close());

const refusals = { code: 'move_refused' };
const later = (message: string) => ({ ...refusals, message });

describe('a fence', () => {
  it('lifts itself by the clock of the server', async () => {
    const acme = order({ keys: ['acme'] });
    await raiseFence(shard.mover, acme, 400);
    expect(await shard.outcome(write)).toBe('SHM01');
    expect(await fenceLeft(shard.mover, acme)).toBeGreaterThan(0);
    await waitFor(async () => (await shard.outcome(write)) === 'ok', { what: 'the fence to lift itself' });
    expect(await fenceLeft(shard.mover, acme)).toBe(0);
    expect(await setTombstones(shard.mover, acme)).toBe('broken');
  });

  it('can be raised again, for longer', async () => {
    const acme = order({ keys: ['acme', 'globex'] });
    await raiseFence(shard.mover, acme, 1000);
    await raiseFence(shard.mover, acme, 60_000);
    expect(await fenceLeft(shard.mover, acme)).toBeGreaterThan(50_000);
    expect(await setTombstones(shard.mover, acme)).toBe('unbroken');
  });

  it('is of one move, until it has lifted itself', async () => {
    const [first, second] = [order({ keys: ['acme', 'globex'] }), order({ keys: ['initech', 'globex'] })];
    await raiseFence(shard.mover, first, 60_000);
    const message = `no fence: a key is fenced by move ${first.id}`;
    await expect(raiseFence(shard.mover, second, 1000)).rejects.toMatchObject(later(message));
    await expect(setTombstones(shard.mover, second)).rejects.toMatchObject(later(message));
    expect(await shard.fence()).toEqual(['key:acme fenced', 'key:globex fenced']);
    await raiseFence(shard.mover, first, 0.001);
    await raiseFence(shard.mover, second, 60_000);
    expect(await fenceLeft(shard.mover, second)).toBeGreaterThan(0);
  });

  it('of a later epoch cannot be changed by an older one, and the other way round it can', async () => {
    const old = order({ keys: ['acme'], epoch: '9' });
    const now = { ...old, epoch: '10' };
    await raiseFence(shard.mover, old, 60_000);
    await raiseFence(shard.mover, now, 60_000);
    const message = `move ${old.id} is done by another process by now`;
    await expect(raiseFence(shard.mover, old, 1000)).rejects.toMatchObject(later(message));
    await expect(setTombstones(shard.mover, old)).rejects.toMatchObject(later(message));
    await lowerFence(shard.mover, old);
    expect(await shard.fence()).toEqual(['key:acme fenced']);
    await lowerFence(shard.mover, now);
    await lowerFence(shard.mover, now);
    expect(await shard.fence()).toEqual([]);
    await shard.query(`insert into _sharding_move_sides (move_id, role, epoch) values ($1, 'source', 10)`, [
      old.id,
    ]);
    await expect(raiseFence(shard.mover, old, 1000)).rejects.toMatchObject(later(message));
    await raiseFence(shard.mover, now, 1000);
  });
});

describe('a tombstone', () => {
  it('stays until the key comes back, and may be set twice', async () => {
    const acme = order({ keys: ['acme'] });
    expect(await setTombstones(shard.mover, acme)).toBe('broken');
    expect(await setTombstones(shard.mover, { ...acme, epoch: '2' })).toBe('broken');
    await lowerFence(shard.mover, { ...acme, epoch: '3' });
    await removeTombstones(shard.mover, acme);
    expect(await removeIdleFences(shard.mover)).toEqual([]);
    expect(await shard.outcome(write)).toBe('SHM01');
    const again = order({ keys: ['acme'] });
    await expect(raiseFence(shard.mover, again, 1000)).rejects.toMatchObject(
      later(`no fence: a key has left this shard by move ${acme.id}`),
    );
    await clearSubjects(shard.mover, again);
    expect(await shard.outcome(write)).toBe('ok');
  });

  it('of an attempt that was refused is taken away, and is no fence again by a mistake', async () => {
    const acme = order({ keys: ['acme'] });
    await setTombstones(shard.mover, acme);
    await expect(raiseFence(shard.mover, acme, 1000)).rejects.toMatchObject(refusals);
    await removeTombstones(shard.mover, acme);
    expect(await shard.outcome(write)).toBe('ok');
  });
});

describe('without a fence', () => {
  it('there is no trigger, no function and no row', async () => {
    await raiseFence(shard.mover, order({ keys: ['acme'] }), 0.001);
    expect(await shard.guards()).toEqual([
      'function',
      'notes 0_sharding_fence_N_2_text',
      'notes 0_sharding_fence_truncate',
    ]);
    expect(await removeIdleFences(shard.mover)).toEqual(['public.notes']);
    expect(await shard.guards()).toEqual([]);
    expect(await shard.fence()).toEqual([]);
    expect(await removeIdleFences(shard.mover)).toEqual([]);
  });

  it('of the tables that a fence is for, none is raised', async () => {
    const absent = order({ keys: ['acme'], tables: [table('notes'), table('absent')] });
    await expect(raiseFence(shard.mover, absent, 1000)).rejects.toMatchObject(refusals);
    expect(await shard.fence()).toEqual([]);
  });
});

describe('removal and fences at the same time', () => {
  it('never leave a fence without its triggers', async () => {
    const remover = await shard.session();
    let stop = false;
    const removing = (async () => {
      while (!stop) await removeIdleFences(remover);
    })();
    for (let round = 0; round < 8; round++) {
      const acme = order({ keys: ['acme'] });
      await raiseFence(shard.mover, acme, 60_000);
      expect(await shard.outcome(write)).toBe('SHM01');
      await lowerFence(shard.mover, acme);
    }
    stop = true;
    await removing;
  });

  it('of several movers on one table all succeed', async () => {
    const keys = ['a', 'b', 'c', 'd'];
    await removeIdleFences(shard.mover);
    await Promise.all(
      keys.map(async (key) => raiseFence(await shard.session(), order({ keys: [key] }), 60_000)),
    );
    expect(await shard.fence()).toEqual(keys.map((key) => `key:${key} fenced`));
  });

  it('put back what somebody has disabled or changed', async () => {
    await raiseFence(shard.mover, order({ keys: ['acme'] }), 60_000);
    await shard.query('alter table notes disable trigger all');
    expect(await shard.outcome(write)).toBe('ok');
    await installFence(shard.mover, [table('notes')], { keyKind: 'text' });
    expect(await shard.outcome(write)).toBe('SHM01');
    await shard.query('alter table notes rename tenant_id to organisation');
    await installFence(shard.mover, [table('notes', 'organisation')], { keyKind: 'text' });
    expect(await shard.outcome(`insert into notes (organisation) values ('acme')`)).toBe('SHM01');
    await shard.query('alter table notes rename organisation to tenant_id');
  });
});

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { slotOf } from '@app/routing';
import {
  clearSubjects,
  lowerFence,
  raiseFence,
  removeTombstones,
  setTombstones,
} from '@app/sharding/operator';
import { FenceShard, NOTES, order, table } from './fence-shard.js';

/** Hash to the slot of `acme`: found by counting. */
const SLOT = slotOf('acme');
const inSlot: string[] = [];
for (let n = 0; inSlot.length < 2; n++) if (slotOf(`tenant${n}`) === SLOT) inSlot.push(`tenant${n}`);
const [pinned = '', other = ''] = inSlot;
const write = (key: string, into = 'notes') => `insert into ${into} (tenant_id) values ('${key}')`;
let shard: FenceShard;

beforeAll(async () => {
  shard = await FenceShard.create(
    NOTES,
    'create table accounts (tenant_id bigint, body text)',
    'create table small (tenant_id smallint)',
    'create table ids (tenant_id uuid)',
    'create table padded (tenant_id char(12))',
    'create table short (tenant_id varchar(4))',
  );
});

afterEach(() => shard.query('delete from _sharding_fence'));
afterAll(() => shard.close());

async function outcomes(keys: readonly string[], into?: string): Promise<string[]> {
  const found: string[] = [];
  for (const key of keys) found.push(await shard.outcome(write(key, into), 'read committed'));
  return found;
}

describe('a fenced slot', () => {
  it('refuses each of its keys but those that stay, and no other', async () => {
    const slot = order({ slots: [SLOT], kept: [pinned] });
    await raiseFence(shard.mover, slot, 60_000);
    expect(await outcomes(['acme', other, pinned, 'globex'])).toEqual(['SHM01', 'SHM01', 'ok', 'ok']);
    expect(await shard.fence()).toEqual([`key:${pinned} kept`, `slot:${SLOT} fenced`]);
    await setTombstones(shard.mover, slot);
    expect(await outcomes(['acme', other, pinned, 'globex'])).toEqual(['SHM01', 'SHM01', 'ok', 'ok']);
    await removeTombstones(shard.mover, slot);
    expect(await shard.fence()).toEqual([]);
  });

  it('forgets the exceptions of moves before it', async () => {
    await raiseFence(shard.mover, order({ keys: [pinned] }), 0.001);
    const slot = order({ slots: [SLOT], kept: [other] });
    await raiseFence(shard.mover, slot, 60_000);
    expect(await outcomes([pinned, other])).toEqual(['SHM01', 'ok']);
    await raiseFence(shard.mover, { ...slot, rows: { ...slot.rows, kept: [] } }, 60_000);
    expect(await outcomes([pinned, other])).toEqual(['SHM01', 'SHM01']);
  });

  it('is refused while one of its keys is fenced, and a key while its slot is', async () => {
    const [key, slot] = [order({ keys: ['acme'] }), order({ slots: [SLOT] })];
    await raiseFence(shard.mover, key, 60_000);
    await expect(raiseFence(shard.mover, slot, 60_000)).rejects.toMatchObject({
      code: 'move_refused',
      message: `no fence: a key is fenced by move ${key.id}`,
    });
    await lowerFence(shard.mover, key);
    await raiseFence(shard.mover, slot, 60_000);
    await expect(raiseFence(shard.mover, key, 60_000)).rejects.toMatchObject({
      message: `no fence: slot ${SLOT} is fenced by move ${slot.id}`,
    });
  });
});

describe('a slot that has left', () => {
  const left = order({ slots: [SLOT], kept: [pinned] });

  it('leaves the key that stayed to a move of its own, and back', async () => {
    await setTombstones(shard.mover, left);
    const key = order({ keys: [pinned] });
    await raiseFence(shard.mover, key, 60_000);
    expect(await outcomes([pinned, other])).toEqual(['SHM01', 'SHM01']);
    await lowerFence(shard.mover, key);
    expect(await outcomes([pinned, other])).toEqual(['ok', 'SHM01']);
    await setTombstones(shard.mover, key);
    expect(await outcomes([pinned, other])).toEqual(['SHM01', 'SHM01']);
    await clearSubjects(shard.mover, key);
    expect(await outcomes([pinned, other])).toEqual(['ok', 'SHM01']);
    expect(await shard.fence()).toEqual([`key:${pinned} kept`, `slot:${SLOT} moved`]);
  });

  it('takes no part in a move, nor do its keys', async () => {
    await setTombstones(shard.mover, left);
    const message = `no fence: slot ${SLOT} has left this shard by move ${left.id}`;
    for (const again of [order({ slots: [SLOT] }), order({ keys: ['acme'] })]) {
      await expect(raiseFence(shard.mover, again, 1000)).rejects.toMatchObject({ message });
    }
  });

  it('gets a key back, or comes back as a whole but for what had left alone', async () => {
    await setTombstones(shard.mover, order({ keys: ['acme'] }));
    await setTombstones(shard.mover, left);
    await clearSubjects(shard.mover, order({ keys: [other] }));
    expect(await outcomes(['acme', other, pinned])).toEqual(['SHM01', 'ok', 'ok']);
    await clearSubjects(shard.mover, order({ slots: [SLOT] })); // as the shard knows it
    expect(await outcomes(['acme', other, pinned])).toEqual(['SHM01', 'ok', 'ok']);
    expect(await shard.fence()).toEqual(['key:acme moved']);
  });
});

describe('integer keys', () => {
  const tables = [table('accounts'), table('small')];

  it('are those of their slots, at both kinds of column', async () => {
    const slot = order({ slots: [slotOf(42n)], keyKind: 'integer', tables });
    await raiseFence(shard.mover, slot, 60_000);
    for (const into of ['accounts', 'small']) {
      expect(await outcomes(['42', '043', '-42'], into)).toEqual(['SHM01', 'ok', 'ok']);
    }
    expect(await shard.outcome('insert into accounts values (null)')).toBe('ok');
  });

  it('are spelled as the column spells them', async () => {
    await raiseFence(shard.mover, order({ keys: [' 042'], keyKind: 'integer', tables }), 60_000);
    expect(await outcomes(['42', '4'], 'accounts')).toEqual(['SHM01', 'ok']);
    expect(await shard.fence()).toEqual(['key:42 fenced']);
    const text = order({ keys: ['acme'], keyKind: 'integer', tables });
    await expect(raiseFence(shard.mover, text, 1000)).rejects.toMatchObject({
      code: 'move_refused',
      message: 'no fence: a key is no int8, which the key column is',
    });
  });
});

it('keys of other types are those that the columns have', async () => {
  const id = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11';
  await raiseFence(shard.mover, order({ keys: [id], tables: [table('ids')] }), 60_000);
  expect(await outcomes([id.toLowerCase()], 'ids')).toEqual(['SHM01']);
  await raiseFence(shard.mover, order({ keys: ['acme'], tables: [table('padded')] }), 60_000);
  expect(await outcomes(['acme', 'acme   ', 'acm'], 'padded')).toEqual(['SHM01', 'SHM01', 'ok']);
});

it('a key that is too long for its column is not another one', async () => {
  await raiseFence(shard.mover, order({ keys: ['acmecorp'], tables: [table('short')] }), 60_000);
  expect(await outcomes(['acme'], 'short')).toEqual(['ok']);
});

it('hostile keys are only ever keys', async () => {
  const hostile = [
    `a' or '1'='1`,
    `'; drop table notes--`,
    '$$',
    '%',
    '_',
    `\\`,
    '{a,b}',
    'null',
    '',
    ' ',
    'a:b',
    'slot:1',
    'key:acme',
    '🏢',
    'x'.repeat(255),
    '\n',
    '"',
  ];
  await raiseFence(shard.mover, order({ keys: hostile }), 60_000);
  const insert = 'insert into notes (tenant_id) select $1';
  for (const key of hostile) {
    await expect(shard.query(insert, [key])).rejects.toMatchObject({ code: 'SHM01' });
    await shard.query(insert, [`${key}.`]);
  }
  expect(await outcomes(['a', 'b', 'acme', '1'])).toEqual(['ok', 'ok', 'ok', 'ok']);
});

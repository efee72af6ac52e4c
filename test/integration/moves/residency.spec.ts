import { beforeAll, expect, it } from '@jest/globals';
import { slotOf } from '@app/routing';
import { MovingFleet } from '../../support/moving-fleet.js';
import type { MoveRequest } from '@app/sharding/operator';

/** No move takes rows out of the group of their key. */
const SWISS = 7;
const [stated = '', placed = '', moving = ''] = Array.from({ length: 50 }, (_, n) => `tenant-${n}`).filter(
  (key) => slotOf(key) < 8192,
);

let fleet: MovingFleet;

beforeAll(async () => {
  fleet = await MovingFleet.create({ shards: 3 });
  const [first, second, third] = fleet.options.database?.shards ?? [];
  const shards = [
    { ...first!, slots: ['0-8191'] },
    { ...second!, slots: ['8192-16383'] },
    { ...third!, slots: ['0-16383'], group: SWISS },
  ];
  fleet.options.database = { ...fleet.options.database, shards };
  for (const tenant of [stated, placed, moving]) {
    await fleet.query(0, `insert into bookmarks (tenant_id, url) values ($1, 'x')`, [tenant]);
  }
  await fleet.query('control', 'insert into _sharding_directory (routing_key, group_id) values ($1, $2)', [
    placed,
    SWISS,
  ]);
});

const moved = (request: Partial<MoveRequest>) =>
  fleet.moves((moves) => moves.move(fleet.request(request)), {
    ...fleet.options,
    groupOf: (key) => (key === stated ? SWISS : undefined),
  } as MovingFleet['options']);

it.each<[string, Partial<MoveRequest>, string]>([
  ['a shard of another group', { keys: [moving], to: 'shard2' }, 'rows never leave their group'],
  ['a shard of another group, for slots', { slots: [0], to: 'shard2' }, 'rows never leave their group'],
  ['a key that groupOf puts into another group', { keys: [moving, stated] }, 'belongs to group 7'],
  ['a key that its row puts into another group', { keys: [placed, moving] }, 'belongs to group 7'],
])('is refused: %s', async (_what, request, message) => {
  await expect(moved(request)).rejects.toMatchObject({
    code: 'residency_violation',
    message: expect.stringContaining(message),
  });
  const held = 'select count(*)::int as count from bookmarks';
  expect([await fleet.query(0, held), await fleet.query(1, held), await fleet.query(2, held)]).toEqual([
    [{ count: 3 }],
    [{ count: 0 }],
    [{ count: 0 }],
  ]);
});

it('is not: a key of the group', async () => {
  expect(await moved({ keys: [moving] })).toMatchObject({ state: 'verified', group: 0 });
});

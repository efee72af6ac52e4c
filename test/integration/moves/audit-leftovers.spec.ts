import { beforeAll, beforeEach, expect, it } from '@jest/globals';
import { auditedFleet, everything, fill, found, OF_0, OF_1, reset } from './audited.js';
import { FRAMEWORK_TABLES, type MovingFleet } from '../../support/moving-fleet.js';

let fleet: MovingFleet;
const [acme = '', globex = ''] = OF_0;
const [initech = ''] = OF_1;
const GONE = '00000000-0000-4000-8000-000000000001';

beforeAll(async () => {
  fleet = await auditedFleet();
});
beforeEach(async () => {
  await reset(fleet);
  await fill(fleet, 0, [acme, globex]);
  await fill(fleet, 1, [initech]);
});

const repair = async (mode: 'dry-run' | 'apply') =>
  (await fleet.moves((moves) => moves.repair({}, { mode, by: 'test' }))).steps.map(
    ({ what, outcome, shard, message }) => `${what} ${outcome} ${shard}: ${message}`,
  );
/** What a mover could not take away. */
const sides = async (...rows: [place: number, move: string, role: string][]) => {
  for (const place of [0, 1]) await fleet.query(place, 'truncate _sharding_move_sides');
  for (const [place, ...row] of rows) {
    await fleet.query(
      place,
      'insert into _sharding_move_sides (move_id, role, epoch) values ($1, $2, 1)',
      row,
    );
  }
};
const traces = async (place: number) => [
  await fleet.query(place, 'select subject, state from _sharding_fence order by 1'),
  await fleet.query(place, 'select role from _sharding_move_sides'),
  await fleet.query(
    place,
    `select tgname from pg_trigger where tgname ~ '_sharding_fence' and tgrelid = 'bookmarks'::regclass`,
  ),
];

it('says of a move that has not ended that it is on its way, and calls its rows neither misplaced nor double', async () => {
  const { id } = await fleet.move({ keys: [acme] });
  const moving = {
    kind: 'moving',
    severity: 'info',
    shard: 'shard0',
    move: id,
    message: 'move of 1 key from shard0 to shard1 is verified',
    remedy: 'nothing to do: its rows may be on both shards',
  };
  expect(await found(fleet)).toEqual([moving]);
  await fleet.pin(acme, 'shard1');
  expect(await found(fleet)).toEqual([moving]);
  expect(await repair('apply')).toEqual([]);
  await fleet.confirm({ keys: [acme] });
  expect(await found(fleet)).toEqual([]);
});

it('is content at every moment of a move', async () => {
  const seen: string[] = [];
  const reached = async (point: string) => {
    const kinds = (await found(fleet)).map(({ kind }) => kind);
    seen.push(`${point}: ${kinds.join(', ')}`);
  };
  await fleet.move({ keys: [acme], writes: 'fenced' }, { reached });
  await fleet.pin(acme, 'shard1');
  await fleet.confirm({ keys: [acme] }, { reached });
  expect(seen.length).toBeGreaterThan(9);
  expect(seen.filter((line) => !line.endsWith(': moving'))).toEqual(['purged: ']);
});

it('knows the keys of a slot that moves, and those that do not move with it', async () => {
  const { id } = await fleet.move({ slots: [await slotOf(acme)] });
  await fill(fleet, 1, [globex]);
  expect((await found(fleet)).map(({ kind, key, move }) => [kind, key ?? move])).toEqual([
    ['moving', id],
    ['two_homes', globex],
  ]);
  await fleet.moves((moves) => moves.abort(id));
});

const slotOf = async (key: string) =>
  Number((await fleet.query(0, 'select _sharding_slot($1::text) as slot', [key]))[0]?.['slot']);

it('finds a move that nobody works on any more', async () => {
  const { id } = await fleet.move({ keys: [acme] });
  await fleet.query('control', `update _sharding_moves set changed_at = now() - interval '2 days'`);
  expect(await found(fleet)).toEqual([
    {
      kind: 'leftover',
      leftover: 'open-move',
      severity: 'warning',
      shard: 'shard0',
      move: id,
      message: 'move of 1 key from shard0 to shard1 is verified, and nobody has worked on it for a day',
      remedy: 'change the route and purge it, or end it: purge, move abort',
    },
  ]);
  expect((await repair('apply')).map((step) => step.slice(0, 9))).toEqual(['look left']);
  await fleet.moves((moves) => moves.abort(id));
  expect(await found(fleet)).toEqual([]);
});

it('finds and removes what a move has left that control does not know', async () => {
  const rows = await everything(fleet, 0);
  await fleet.move({ keys: [acme], writes: 'fenced' });
  await fleet.pin(acme, 'shard1');
  const { id } = await fleet.confirm({ keys: [acme] });
  await fleet.query('control', 'truncate _sharding_moves, _sharding_move_subjects');
  await sides([0, GONE, 'source'], [1, id, 'destination']);
  const left = {
    kind: 'leftover',
    leftover: 'move',
    message:
      '1 row of _sharding_fence of a move that the control database does not know: writes of its keys are refused here',
    severity: 'error',
    remedy: 'shardctl repair removes it',
  };
  const side = {
    ...left,
    message: 'its row of _sharding_move_sides of a move that the control database does not know',
    severity: 'warning',
  };
  const both = [
    { ...side, shard: 'shard0', move: GONE },
    { ...left, shard: 'shard0', move: id },
  ].toSorted((a, b) => (a.move < b.move ? -1 : 1));
  expect(await found(fleet)).toEqual([...both, { ...side, shard: 'shard1', move: id }]);
  const before = [await traces(0), await traces(1)];
  expect((await repair('dry-run')).map((step) => step.slice(0, 20))).toEqual([
    'clean planned shard0',
    'clean planned shard1',
  ]);
  expect([await traces(0), await traces(1)]).toEqual(before);
  await repair('apply');
  expect([await traces(0), await traces(1)]).toEqual([
    [[], [], []],
    [[], [], []],
  ]);
  expect(await found(fleet)).toEqual([]);
  expect([
    ...((await everything(fleet, 0)) as string[]),
    ...((await everything(fleet, 1)) as string[]),
  ]).toEqual(expect.arrayContaining(rows as string[]));
});

it('lets an ended move be for a day, then mentions its traces', async () => {
  const { id } = await fleet.move({ keys: [acme] });
  await fleet.pin(acme, 'shard1');
  await fleet.confirm({ keys: [acme] });
  await sides([0, id, 'source'], [1, id, 'destination']);
  expect(await found(fleet)).toEqual([]);
  await fleet.query('control', `update _sharding_moves set changed_at = now() - interval '2 days'`);
  const info = {
    kind: 'leftover',
    leftover: 'move',
    severity: 'info',
    move: id,
    message: 'its row of _sharding_move_sides of a move that has ended long ago',
    remedy: 'shardctl repair removes it',
  };
  expect(await found(fleet)).toEqual([
    { ...info, shard: 'shard0' },
    { ...info, shard: 'shard1' },
  ]);
  await repair('apply');
  const [fence, left, triggers] = await traces(0);
  expect([fence, left, triggers?.length]).toEqual([[{ subject: `key:${acme}`, state: 'moved' }], [], 2]);
  expect(await found(fleet)).toEqual([]);
});

it('finds a tombstone of a key that is routed to the very shard, and triggers that refuse nothing', async () => {
  const { id } = await fleet.move({ keys: [acme] });
  await fleet.pin(acme, 'shard1');
  await fleet.confirm({ keys: [acme] });
  await fleet.pin(acme, 'shard0');
  const [tombstone, stray] = await found(fleet);
  expect(tombstone).toEqual({
    kind: 'leftover',
    leftover: 'own-tombstone',
    severity: 'error',
    shard: 'shard0',
    key: acme,
    move: id,
    message: 'a key that is routed here has left by a move: its writes are refused',
    remedy: 'move it back (shardctl move-slot), or route it to where it went',
  });
  expect(stray).toMatchObject({ kind: 'misplaced', shard: 'shard1', key: acme });
  await fleet.pin(acme, 'shard1');
  await fleet.query(0, 'truncate _sharding_fence');
  expect(await found(fleet)).toEqual([
    {
      kind: 'leftover',
      leftover: 'triggers',
      severity: 'warning',
      shard: 'shard0',
      message: `triggers of the fence are on ${FRAMEWORK_TABLES.join(', ')}, public.bookmarks, public.notes, and refuse nothing`,
      remedy: 'shardctl repair removes them',
    },
  ]);
  expect(await repair('apply')).toEqual([
    `clean done shard0: removed triggers of ${FRAMEWORK_TABLES.join(', ')}, public.bookmarks, public.notes`,
  ]);
  expect(await found(fleet)).toEqual([]);
});

it('leaves a key that stayed when its slot left what it is, where a lost move had fenced it', async () => {
  const lost = '00000000-0000-4000-8000-000000000002';
  const slot = await slotOf(acme);
  await fleet.pin(acme, 'shard0');
  await fleet.query(
    'control',
    `insert into _sharding_moves (id, state, source, destination, group_id, slots, request, tables, started_by)
      values ($1, 'purged', 'shard0', 'shard1', 0, array[$2::int], '{}', '[]', 'test')`,
    [GONE, slot],
  );
  await fleet.query(
    0,
    `insert into _sharding_fence (subject, slot, state, move_id, epoch, until) values
      ('slot:' || $1::int, $1, 'moved', $2, 1, null), ('key:' || $4::text, $1, 'fenced', $3, 1, now() + interval '1 hour')`,
    [slot, GONE, lost, acme],
  );
  expect(await repair('apply')).toContain(
    `clean done shard0: removed what is left of ${lost}, and triggers of no table`,
  );
  expect(await fleet.query(0, 'select subject, state, move_id from _sharding_fence order by 1')).toEqual([
    { subject: `key:${acme}`, state: 'kept', move_id: GONE },
    { subject: `slot:${slot}`, state: 'moved', move_id: GONE },
  ]);
  expect(await repair('apply')).not.toContain(expect.stringContaining('clean'));
});

import { beforeEach, expect, it } from '@jest/globals';
import { auditedFleet, fill, found, OF_0, OF_1 } from './audited.js';
import type { MovingFleet } from '../../support/moving-fleet.js';

let fleet: MovingFleet;
const [acme = '', globex = ''] = OF_0;
const [initech = ''] = OF_1;

/** Each has a fleet of its own: a key does not leave its group again. */
beforeEach(async () => {
  fleet = await auditedFleet();
  await fill(fleet, 0, [acme, globex]);
  await fill(fleet, 1, [initech]);
});

it('finds rows without a key, keys that are too long, and keys that lead nowhere', async () => {
  await fleet.query(0, 'insert into notes (tenant_id) values (null)');
  await fleet.query(0, 'insert into notes (tenant_id) values (null)');
  await fill(fleet, 0, ['x'.repeat(256)], 1);
  await fleet.query(
    'control',
    `insert into _sharding_directory (routing_key, shard_name) values ($1, 'ghost')`,
    [globex],
  );
  await fleet.query('control', `insert into _sharding_directory (routing_key, group_id) values ($1, 7)`, [
    initech,
  ]);
  const at = { kind: 'unroutable', severity: 'error' };
  const [tables, notes] = ['public.bookmarks', 'public.notes'];
  expect(await found(fleet)).toEqual([
    {
      ...at,
      shard: 'shard0',
      table: tables,
      key: globex,
      rows: 2,
      message: 'the key is pinned to "ghost", which is no shard',
      remedy: 'correct the pin',
    },
    {
      ...at,
      shard: 'shard0',
      table: tables,
      key: 'x'.repeat(256),
      rows: 1,
      message: 'the key is longer than 255 bytes, which the directory refuses',
      remedy: 'see what wrote them; give the rows a key that can be routed',
    },
    {
      ...at,
      shard: 'shard0',
      table: notes,
      rows: 2,
      message: 'rows without a key (tenant_id is null) belong to nobody',
      remedy: 'give them a key or delete them, then make the column not null',
    },
    {
      ...at,
      shard: 'shard1',
      table: tables,
      key: initech,
      rows: 2,
      message: 'the key belongs to group 7, which has no shards',
      remedy: 'add the shards of the group, or correct the row of the key',
    },
  ]);
});

it('knows groups: rows outside of theirs are found, and moved by nobody', async () => {
  const [first, second] = fleet.options.database!.shards!;
  const shards = [
    { ...first!, slots: ['0-16383'] },
    { ...second!, group: 1, slots: ['0-16383'] },
  ];
  const options = { ...fleet.options, database: { ...fleet.options.database, shards } };
  await fleet.query('control', `insert into _sharding_directory (routing_key, group_id) values ($1, 1)`, [
    initech,
  ]);
  await fill(fleet, 1, [OF_0[5]!]);
  const report = await fleet.moves((moves) => moves.audit(), options);
  expect(report.findings).toEqual([
    {
      kind: 'misplaced',
      severity: 'error',
      shard: 'shard1',
      table: 'public.bookmarks',
      key: OF_0[5],
      rows: 2,
      routedTo: 'shard0',
      message: 'the key is routed to shard0, of another group',
      remedy:
        'rows never leave their group by themselves: decide where they may be, then pin or place the key',
    },
  ]);
  const { steps } = await fleet.moves(
    (moves) => moves.repair(report, { mode: 'apply', by: 'test' }),
    options,
  );
  expect(steps.map(({ what, outcome }) => [what, outcome])).toEqual([['look', 'left']]);
});

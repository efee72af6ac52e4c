import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { audit, auditedFleet, everything, fill, found, OF_0, OF_1, reset } from './audited.js';
import type { AuditReport, MoveOptions, RepairMode, RepairStep } from '@app/sharding/operator';
import type { MovingFleet } from '../../support/moving-fleet.js';

let fleet: MovingFleet;
const [acme = '', globex = '', umbrella = '', hooli = ''] = OF_0;
const [initech = '', pied = ''] = OF_1;

beforeAll(async () => {
  fleet = await auditedFleet();
});
beforeEach(async () => {
  await reset(fleet);
  await fill(fleet, 0, [acme]);
  await fill(fleet, 1, [initech]);
});

const repair = (mode: RepairMode, options: MoveOptions = {}, what: AuditReport | object = {}) =>
  fleet.moves((moves) => moves.repair(what, { mode, by: 'test', leaseMs: 600, ...options }));
const steps = (report: { readonly steps: readonly RepairStep[] }) =>
  report.steps.map(({ what, outcome, shard, to, key, message }) => [
    what,
    outcome,
    shard,
    to,
    key,
    ...(outcome === 'refused' ? [message] : []),
  ]);
const rowsOf = async (place: number, key: string) =>
  (
    await fleet.query(
      place,
      `select b::text as row from bookmarks b where tenant_id = $1 union all select n::text from notes n where tenant_id = $1 order by 1`,
      [key],
    )
  ).map(({ row }) => row);
const state = async () => [
  await everything(fleet, 0),
  await everything(fleet, 1),
  await fleet.query('control', 'select id from _sharding_moves'),
  await fleet.query(0, 'select * from _sharding_fence'),
  await fleet.query(1, 'select * from _sharding_fence'),
];
const copyOver = (from: number, to: number, key: string) =>
  rowsOf(from, key).then((rows) =>
    fleet.query(to, 'insert into bookmarks select (row::bookmarks).* from unnest($1::text[]) as row', [rows]),
  );

it('moves rows home with proof, and leaves all others byte-identical', async () => {
  await fill(fleet, 1, [globex]);
  await fleet.query(1, `insert into notes (tenant_id, body) values ($1, 'mine')`, [globex]);
  await fill(fleet, 0, [pied]);
  const [strays, piedRows] = [await rowsOf(1, globex), await rowsOf(0, pied)];
  const [ours, theirs] = [await rowsOf(0, acme), await rowsOf(1, initech)];
  const before = await state();

  const dry = await repair('dry-run');
  expect(dry).toMatchObject({ mode: 'dry-run', healed: false });
  expect(steps(dry)).toEqual([
    ['move', 'planned', 'shard0', 'shard1', pied],
    ['move', 'planned', 'shard1', 'shard0', globex],
  ]);
  expect(await state()).toEqual(before);

  const done = await repair('apply');
  expect(done.healed).toBe(true);
  expect(done.steps).toEqual([
    expect.objectContaining({ what: 'move', outcome: 'done', key: pied }),
    {
      what: 'move',
      outcome: 'done',
      shard: 'shard1',
      to: 'shard0',
      key: globex,
      move: expect.any(String),
      message: 'moves rows from shard1 to shard0, verified',
    },
  ]);
  expect([await rowsOf(0, globex), await rowsOf(1, globex)]).toEqual([strays, []]);
  expect([await rowsOf(1, pied), await rowsOf(0, pied)]).toEqual([piedRows, []]);
  expect([await rowsOf(0, acme), await rowsOf(1, initech)]).toEqual([ours, theirs]);
  expect(await found(fleet)).toEqual([]);
  await expect(fill(fleet, 1, [globex])).rejects.toMatchObject({ code: 'SHM01' });
  await fill(fleet, 0, [globex]);
  expect(steps(await repair('apply'))).toEqual([]);
});

describe('a key with rows on two shards', () => {
  it('loses those that the right shard has too', async () => {
    await copyOver(0, 1, acme);
    const rows = await rowsOf(0, acme);
    const before = await state();
    expect(steps(await repair('dry-run'))).toEqual([
      ['delete-duplicate', 'planned', 'shard1', 'shard0', acme],
    ]);
    expect(await state()).toEqual(before);
    expect(steps(await repair('apply'))).toEqual([['delete-duplicate', 'done', 'shard1', 'shard0', acme]]);
    expect([await rowsOf(0, acme), await rowsOf(1, acme)]).toEqual([rows, []]);
    expect(await found(fleet)).toEqual([]);
  });

  it('is left to a human where they differ by one byte', async () => {
    await copyOver(0, 1, acme);
    await fleet.query(1, `update bookmarks set url = url || '.' where tenant_id = $1 and url like '%2'`, [
      acme,
    ]);
    const before = await state();
    for (const mode of ['dry-run', 'apply'] as const) {
      const report = await repair(mode);
      expect(report.healed).toBe(false);
      expect(report.steps).toEqual([
        {
          what: 'delete-duplicate',
          outcome: 'left',
          shard: 'shard1',
          to: 'shard0',
          key: acme,
          message:
            'the rows are not the same, and none were touched: public.bookmarks has 2 rows on shard1 and 2 on shard0: decide which are true (shardctl verify), delete the others',
        },
      ]);
      expect(await state()).toEqual(before);
    }
  });

  it('is left alone where they change after they were compared', async () => {
    await copyOver(0, 1, acme);
    const change = () => fleet.query(0, `update bookmarks set url = 'new' where tenant_id = $1`, [acme]);
    const reached = async (point: string) => void (point === 'planned' && (await change()));
    const report = await repair('apply', { reached });
    expect(report.steps).toEqual([
      {
        what: 'delete-duplicate',
        outcome: 'refused',
        shard: 'shard1',
        to: 'shard0',
        key: acme,
        message:
          'shard0 does not hold the same rows as shard1, and nothing was deleted: public.bookmarks: 2 rows, of which some differ',
      },
    ]);
    expect((await rowsOf(0, acme)).length + (await rowsOf(1, acme)).length).toBe(4);
    await fill(fleet, 1, [acme]); // its tombstone was taken away again
    expect((await audit(fleet)).counts).toMatchObject({ two_homes: 1, moving: 0, leftover: 0 });
  });
});

it('writes over nothing: a key that gets rows at home meanwhile is left as it is', async () => {
  await fill(fleet, 1, [globex]);
  const [strays, report] = [await rowsOf(1, globex), await audit(fleet)];
  const arrive = (point: string) => (point === 'planned' ? fill(fleet, 0, [globex]) : Promise.resolve());
  const { steps: refused } = await repair('apply', { reached: arrive }, report);
  expect(refused[0]).toMatchObject({
    outcome: 'refused',
    message: expect.stringContaining('did not get what shard1 holds'),
  });
  expect([(await rowsOf(0, globex)).length, await rowsOf(1, globex)]).toEqual([2, strays]);
  const again = await repair('apply', {}, report);
  expect(again.steps[0]).toMatchObject({
    outcome: 'refused',
    message: expect.stringContaining('has 2 rows of the moved keys already'),
  });
  expect((await audit(fleet)).counts).toMatchObject({ two_homes: 1, moving: 0, leftover: 0 });
});

it('goes on with a repair that was interrupted at any point', async () => {
  const points = ['tombstones-set', 'copy-committed', 'verified', 'purge-committed'];
  const keys = OF_0.slice(10, 10 + points.length);
  for (const [index, point] of points.entries()) {
    const key = keys[index]!;
    await fill(fleet, 1, [key]);
    const rows = await rowsOf(1, key);
    const stop = new AbortController();
    const reached = (now: string) => void (now === point && stop.abort());
    await repair('apply', { signal: stop.signal, reached }).catch(() => undefined);
    expect((await found(fleet)).map(({ kind }) => kind)).toEqual(['moving']);
    expect(steps(await repair('dry-run'))).toEqual([['finish', 'planned', 'shard1', 'shard0', key]]);
    expect(steps(await repair('apply'))).toEqual([['finish', 'done', 'shard1', 'shard0', key]]);
    expect([await rowsOf(0, key), await rowsOf(1, key)]).toEqual([rows, []]);
  }
  expect(await found(fleet)).toEqual([]);
});

it('goes on with the deletion of what is at home too', async () => {
  await copyOver(0, 1, acme);
  const rows = await rowsOf(0, acme);
  for (const point of ['tombstones-set', 'rows-deleted']) {
    const stop = new AbortController();
    const reached = (now: string) => void (now === point && stop.abort());
    await repair('apply', { signal: stop.signal, reached }).catch(() => undefined);
  }
  expect(steps(await repair('apply'))).toEqual([['finish', 'done', 'shard1', 'shard0', acme]]);
  expect([await rowsOf(0, acme), await rowsOf(1, acme)]).toEqual([rows, []]);
});

it('never takes rows away again that it has brought home', async () => {
  await fill(fleet, 1, [hooli]);
  const stop = new AbortController();
  const reached = (point: string) => void (point === 'copied' && stop.abort());
  await repair('apply', { signal: stop.signal, reached }).catch(() => undefined);
  const [{ move: id = '' } = {}] = await found(fleet);
  await expect(fleet.moves((moves) => moves.abort(id))).rejects.toMatchObject({
    code: 'move_refused',
    message: expect.stringContaining('the rows are at shard0, where they are in use'),
  });
  await fleet.query(0, `update bookmarks set url = 'written at home' where tenant_id = $1`, [hooli]);
  const written = await rowsOf(0, hooli);
  expect(steps(await repair('apply'))).toEqual([['finish', 'done', 'shard1', 'shard0', hooli]]);
  expect([await rowsOf(0, hooli), await rowsOf(1, hooli)]).toEqual([written, []]);
});

it('only reports what it cannot mend', async () => {
  await fleet.query(0, `insert into notes (tenant_id) values (null)`);
  await fleet.query(0, `insert into notes (tenant_id, bookmark_id) values ($1, 404)`, [acme]);
  await fleet.query(0, 'alter table notes add foreign key (bookmark_id) references bookmarks not valid');
  const before = await state();
  const { steps: left, healed } = await repair('apply');
  expect(left.map(({ what, outcome, finding }) => [what, outcome, finding?.kind])).toEqual([
    ['look', 'left', 'unroutable'],
    ['look', 'left', 'orphan'],
  ]);
  expect(healed).toBe(false);
  expect(await state()).toEqual(before);
  await fleet.query(0, 'alter table notes drop constraint notes_bookmark_id_fkey');
});

it('refuses one key and mends the next', async () => {
  await fill(fleet, 1, [globex, umbrella]);
  await fleet.query(
    0,
    `insert into bookmarks select id, $2, 'taken' from unnest($3::bigint[]) id where $1 <> ''`,
    [
      globex,
      acme,
      (await fleet.query(1, 'select id from bookmarks where tenant_id = $1', [globex])).map(({ id }) => id),
    ],
  );
  const report = await repair('apply');
  const message = expect.stringContaining('have the same (id) as rows that are to come') as unknown;
  expect(steps(report)).toEqual([
    ['move', 'refused', 'shard1', 'shard0', globex, message],
    ['move', 'done', 'shard1', 'shard0', umbrella],
  ]);
});

import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { audit, auditedFleet, everything, fill, found, OF_0, OF_1, reset } from './audited.js';
import type { MovingFleet } from '../../support/moving-fleet.js';

let fleet: MovingFleet;
const [acme = '', globex = ''] = OF_0;
const [initech = ''] = OF_1;

beforeAll(async () => {
  fleet = await auditedFleet();
});
beforeEach(async () => {
  await reset(fleet);
  await fill(fleet, 0, [acme, globex]);
  await fill(fleet, 1, [initech]);
});

const note = (place: number, tenant: string | null, bookmark: number | null = null) =>
  fleet.query(place, 'insert into notes (tenant_id, bookmark_id, body) values ($1, $2, $3)', [
    tenant,
    bookmark,
    'x',
  ]);

it('finds nothing in a clean fleet', async () => {
  await fleet.query(1, `insert into notes (tenant_id, body) values ($1, 'x')`, [initech]);
  expect(await audit(fleet)).toEqual({
    shards: ['shard0', 'shard1'],
    samplePercent: 100,
    keyColumn: 'tenant_id',
    keyKind: 'text',
    complete: true,
    cursor: undefined,
    keys: 4,
    counts: { misplaced: 0, two_homes: 0, leftover: 0, orphan: 0, unroutable: 0, unreachable: 0, moving: 0 },
    findings: [],
  });
});

it('finds rows of a key that is routed elsewhere, by slot and by pin', async () => {
  await fill(fleet, 1, [OF_0[5]!], 3);
  await fleet.pin(globex, 'shard1');
  const remedy = 'shardctl repair moves them there, or pin the key to this shard';
  const at = { kind: 'misplaced', severity: 'error', table: 'public.bookmarks', remedy };
  expect(await found(fleet)).toEqual([
    {
      ...at,
      shard: 'shard0',
      key: globex,
      rows: 2,
      routedTo: 'shard1',
      message: 'the key is routed to shard1',
    },
    {
      ...at,
      shard: 'shard1',
      key: OF_0[5],
      rows: 3,
      routedTo: 'shard0',
      message: 'the key is routed to shard0',
    },
  ]);
  expect((await found(fleet, { shards: ['shard1'] })).map(({ key }) => key)).toEqual([OF_0[5]]);
});

it('finds a key with rows on two shards, also of different tables', async () => {
  await note(1, acme);
  expect(await found(fleet)).toEqual([
    {
      kind: 'two_homes',
      severity: 'error',
      shard: 'shard1',
      table: 'public.notes',
      key: acme,
      rows: 1,
      routedTo: 'shard0',
      homes: [{ shard: 'shard0', rows: 2 }],
      message: 'the key is routed to shard0, and has rows on several shards, of all tables: 2 on shard0',
      remedy:
        'shardctl repair deletes these where the right shard has the very same; else compare them and decide',
    },
  ]);
});

describe('rows that refer to nothing', () => {
  const orphan = {
    kind: 'orphan',
    severity: 'error',
    shard: 'shard0',
    table: 'public.notes',
    key: acme,
    rows: 1,
    message:
      'refers by notes_bookmark_id_fkey to rows of public.bookmarks that are not there; the constraint is not valid, or switched off',
    remedy: 'mend the rows by hand, then validate the constraint: such rows are not moved',
  };

  afterEach(() => fleet.query(0, 'alter table notes drop constraint notes_bookmark_id_fkey'));

  it('where the constraint was never validated', async () => {
    await note(0, acme, 404);
    await note(0, acme);
    await fleet.query(0, 'alter table notes add foreign key (bookmark_id) references bookmarks not valid');
    expect(await found(fleet)).toEqual([orphan]);
  });

  it('where its triggers are off', async () => {
    await fleet.query(0, 'alter table notes add foreign key (bookmark_id) references bookmarks');
    expect(await found(fleet)).toEqual([]);
    await fleet.query(0, 'alter table notes disable trigger all');
    await note(0, acme, 404);
    expect(await found(fleet)).toEqual([orphan]);
  });
});

it('goes on where a shard is down or a table refuses to be read, and says so', async () => {
  await fill(fleet, 1, [OF_0[5]!]);
  const [first, second] = fleet.options.database!.shards!;
  const dead = { ...first!, primaryUrl: 'postgres://app:hush@127.0.0.1:1/gone' };
  const options = { ...fleet.options, database: { ...fleet.options.database, shards: [dead, second!] } };
  const report = await fleet.moves((moves) => moves.audit(), options);
  expect(report.complete).toBe(true);
  expect(report.findings).toEqual([
    {
      kind: 'unreachable',
      severity: 'error',
      shard: 'shard0',
      message: expect.stringMatching(
        /^shard0 was not looked at, or not to the end: .*shard "?shard0"? cannot|cannot be reached/,
      ),
      remedy: 'see shardctl ping, then: shardctl audit --shard shard0',
    },
    {
      kind: 'misplaced',
      severity: 'error',
      shard: 'shard1',
      table: 'public.bookmarks',
      key: OF_0[5],
      rows: 2,
      routedTo: 'shard0',
      unasked: ['shard0'],
      message: 'the key is routed to shard0; shard0 could not be asked',
      remedy: 'shardctl repair moves them there, or pin the key to this shard',
    },
  ]);
  expect(JSON.stringify(report)).not.toContain('hush');
});

it('samples the same keys on every shard', async () => {
  await fill(fleet, 0, OF_1, 1);
  await fill(fleet, 1, OF_1.slice(1), 1);
  const all = await found(fleet);
  const some = await found(fleet, { samplePercent: 30 });
  expect(all.length).toBe(OF_1.length);
  expect(some.length).toBeGreaterThan(all.length * 0.15);
  expect(some.length).toBeLessThan(all.length * 0.45);
  expect(await found(fleet, { samplePercent: 30 })).toEqual(some);
});

it('needs no right but to read', async () => {
  await fill(fleet, 1, [acme, OF_0[7]!]);
  const role = `reader_${randomUUID().slice(0, 8)}`;
  await fleet.query('control', `create role ${role} login password 'secret' in role pg_read_all_data`);
  const asReader = (text: string) => {
    const url = new URL(text);
    url.username = role;
    url.password = 'secret';
    return url.href;
  };
  const { database } = fleet.options;
  const shards = database!.shards!.map((shard, place) => ({
    ...shard,
    primaryUrl: asReader(fleet.shards[place]!),
  }));
  const options = {
    ...fleet.options,
    database: { ...database, primaryUrl: asReader(fleet.control), shards },
  };
  const before = [await everything(fleet, 0), await everything(fleet, 1)];
  const report = await fleet.moves((moves) => moves.audit(), options);
  expect(report.findings.map(({ kind }) => kind)).toEqual(['two_homes', 'misplaced']);
  expect([await everything(fleet, 0), await everything(fleet, 1)]).toEqual(before);
  await fleet.query(0, 'alter table notes enable row level security');
  const [refused] = (await fleet.moves((moves) => moves.audit(), options)).findings;
  await fleet.query(0, 'alter table notes disable row level security');
  expect(refused).toEqual({
    kind: 'unreachable',
    severity: 'error',
    shard: 'shard0',
    table: 'public.notes',
    message: 'the table was not looked at: it answers with an error (42501)',
    remedy: 'see that the role may read it, and all of its rows, then audit the shard again',
  });
});

it('refuses a request that makes no sense', async () => {
  const refusal = (request: object) =>
    audit(fleet, request).then(
      () => 'nothing',
      ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
    );
  expect(await refusal({ samplePercent: 0 })).toBe(
    'invalid_options: samplePercent is above 0 and at most 100',
  );
  expect(await refusal({ throttle: 0 })).toBe(
    'invalid_options: throttle is a number of keys per second above 0',
  );
  expect(await refusal({ keyColumn: 'tennant' })).toBe(
    'invalid_options: no table of shard0, shard1 has a column "tennant": name the key column (--key-column)',
  );
  expect(await refusal({ shards: ['ghost'] })).toContain('unknown_shard: ');
  expect(await refusal({ after: randomUUID() })).toBe(
    'invalid_cursor: it is no cursor of an audit: give the cursor that the audit printed, with the same shards',
  );
});

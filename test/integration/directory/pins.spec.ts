import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { CONTROL_DATA_SOURCE, DirectoryConnection, Pins, Shards } from '@app/sharding';
import { bootApp } from '../../support/deployment.js';
import { Placed, placesOf } from './placed.js';
import { RecordedLog } from './recorded-log.js';
import type { INestApplication } from '@nestjs/common';
import type { EntityManager } from 'typeorm';

/** `acme` hashes to shard0, `globex` to shard1. */
let placed: Placed;
let app: INestApplication;
let other: INestApplication;
let pins: Pins;
let control: DataSource;
const log = new RecordedLog();

beforeAll(async () => {
  placed = await Placed.create();
  const sharding = { database: { directoryShardRouter: true } };
  other = await placed.boot(sharding);
  app = await placed.boot(sharding, {}, { logger: log });
  pins = app.get(Pins);
  control = app.get<DataSource>(CONTROL_DATA_SOURCE);
});
afterAll(() => placed.closeApps());

beforeEach(async () => {
  await placed.clear();
  log.lines.length = 0;
});

const rows = () =>
  placed.control(
    'select routing_key, shard_name, group_id, note from _sharding_directory order by routing_key',
  );

describe('pin', () => {
  it('routes by the pin when it returns, here at once and elsewhere a moment later', async () => {
    await pins.pin('acme', 'shard1');
    expect(await placesOf(app, 'acme')).toEqual(['shard1']);
    await placed.settled();
    expect(await placesOf(other, 'acme')).toEqual(['shard1']);
    await pins.pin('acme', 'shard0');
    expect(await placesOf(app, 'acme')).toEqual(['shard0']);
    expect(await rows()).toEqual([{ routing_key: 'acme', shard_name: 'shard0', group_id: null, note: null }]);
  });

  it('takes the key as it is, quotes and all', async () => {
    const keys = [`o'brien"; drop table _sharding_directory; --`, 'Acme', 'ACME', '🏢', ' acme', '', '\\x00'];
    const before = await placesOf(app, ...keys);
    for (const [index, key] of keys.entries()) {
      await pins.pin(key, before[index] === 'shard0' ? 'shard1' : 'shard0');
    }
    expect(await placesOf(app, ...keys)).toEqual(
      before.map((shard) => (shard === 'shard0' ? 'shard1' : 'shard0')),
    );
    expect(await placesOf(app, 'acme')).toEqual(['shard0']);
  });

  it.each([
    ['an unknown shard', 'acme', 'shard9', 'unknown_shard'],
    ['a key of 256 bytes', 'é'.repeat(128), 'shard1', 'invalid_routing_key'],
    ['a key with NUL', 'a\0b', 'shard1', 'invalid_routing_key'],
    ['half a surrogate pair', '\ud800', 'shard1', 'invalid_routing_key'],
    ['a number', 7 as unknown as string, 'shard1', 'invalid_routing_key'],
  ])('refuses %s and writes nothing', async (_what, key, shard, code) => {
    await expect(pins.pin(key, shard)).rejects.toMatchObject({ code });
    expect([await rows(), await placed.log(), log.of('pins')]).toEqual([[], [], []]);
  });

  it('takes a key of 255 bytes', async () => {
    const key = `${'é'.repeat(127)}x`;
    await pins.pin(key, 'shard1');
    expect(await placesOf(app, key)).toEqual(['shard1']);
    expect(await placesOf(app, `${key}x`)).toEqual(['invalid_routing_key']);
  });

  it('does not stand in the way of other writers of the same key', async () => {
    const write = (shard: string) =>
      placed.control(
        `insert into _sharding_directory (routing_key, shard_name) values ('acme', $1)
         on conflict (routing_key) do update set shard_name = excluded.shard_name`,
        [shard],
      );
    const rounds = Array.from({ length: 15 }, (_, round) => `shard${round % 2}`);
    const ends = await Promise.allSettled(
      rounds.flatMap((shard) => [pins.pin('acme', shard), write(shard), pins.unpin('acme')]),
    );
    expect(ends.filter(({ status }) => status === 'rejected')).toEqual([]);
  });
});

describe('unpin', () => {
  it('gives the key back to the slot map, and says whether there was a pin', async () => {
    await pins.pin('acme', 'shard1');
    expect(await pins.unpin('acme')).toBe(true);
    expect(await placesOf(app, 'acme')).toEqual(['shard0']);
    expect([await pins.unpin('acme'), await rows()]).toEqual([false, []]);
  });

  it('leaves the group of the key', async () => {
    await pins.place('acme', { group: 0, note: 'by contract' });
    await pins.pin('acme', 'shard1');
    expect(await pins.unpin('acme')).toBe(true);
    const row = { routing_key: 'acme', shard_name: null, group_id: 0, note: 'by contract' };
    expect(await rows()).toEqual([row]);
    expect(await pins.unpin('acme')).toBe(false);
  });
});

describe('the note of a row', () => {
  const note = async () => (await rows())[0]!['note'];

  it.each([
    ['placed', true],
    ['not placed', false],
  ])('of a key that is %s stays until another one is given', async (_what, placedKey) => {
    if (placedKey) await pins.place('acme', { group: 0 });
    await pins.pin('acme', 'shard1', { note: 'too big' });
    await pins.pin('acme', 'shard0');
    expect(await note()).toBe('too big');
    await pins.pin('acme', 'shard1', { note: 'grew' });
    expect(await note()).toBe('grew');
    await pins.unpin('acme', { note: 'shrank' });
    expect(await rows()).toEqual(
      placedKey ? [{ routing_key: 'acme', shard_name: null, group_id: 0, note: 'shrank' }] : [],
    );
  });
});

describe('list', () => {
  it('goes through the directory by pages, in the order of the keys', async () => {
    for (const key of ['c', 'a', 'b']) await pins.pin(key, 'shard1', { note: `${key}!` });
    await pins.place('d', { group: 0 });
    const first = await pins.list({ limit: 2 });
    const second = await pins.list({ after: first.at(-1)!.key, limit: 2 });
    const updatedAt = expect.any(Date) as unknown as Date;
    expect([first, second]).toEqual([
      [
        { key: 'a', shard: 'shard1', group: undefined, note: 'a!', updatedAt },
        { key: 'b', shard: 'shard1', group: undefined, note: 'b!', updatedAt },
      ],
      [
        { key: 'c', shard: 'shard1', group: undefined, note: 'c!', updatedAt },
        { key: 'd', shard: undefined, group: 0, note: undefined, updatedAt },
      ],
    ]);
    expect([await pins.list({ after: 'd' }), (await pins.list()).length]).toEqual([[], 4]);
  });

  it.each([0, 1.5, 10_001])('refuses a limit of %s', async (limit) => {
    await expect(pins.list({ limit })).rejects.toMatchObject({ code: 'invalid_options' });
  });
});

describe('the log of changes', () => {
  it('says who and why, of every change', async () => {
    await pins.pin('acme', 'shard1', { by: 'jo', note: 'too big' });
    await pins.pin('acme', 'shard0', { by: 'al' });
    await pins.unpin('acme', { by: 'jo', note: 'shrank' });
    await pins.place('globex', { group: 0, by: 'shop', note: 'signed up' });
    await pins.pin('initech', 'shard1');
    await placed.control(
      `insert into _sharding_directory (routing_key, shard_name, note) values ('hooli', 'shard0', 'by hand')`,
    );
    expect(await placed.log()).toEqual([
      'jo acme -/-->shard1/- too big',
      'al acme shard1/-->shard0/- too big', // the note of the row
      'jo acme shard0/-->-/- shrank',
      'shop globex -/-->-/0 signed up',
      'postgres initech -/-->shard1/- -',
      'postgres hooli -/-->shard0/- by hand',
    ]);
  });

  it('has lines that say that no rows were moved', async () => {
    await pins.pin('acme', 'shard1', { by: 'jo', note: 'too big' });
    await pins.unpin('acme');
    await pins.unpin('acme');
    await pins.pin('hooli', 'shard1', { by: 'jo\n[Nest]', note: '"new"\nline' });
    await pins.place('globex', { group: 0 });
    await control.transaction((manager) => pins.pin('globex', 'shard0', { manager }));
    expect(log.of('pins')).toEqual([
      'log: "acme" is pinned to shard1; rows that it has elsewhere were not moved (by "jo": "too big")',
      'log: "acme" is not pinned any more; rows on the shard that it was pinned to were not moved (by the application)',
      'log: "hooli" is pinned to shard1; rows that it has elsewhere were not moved (by "jo\\n[Nest]": "\\"new\\"\\nline")',
      'log: "globex" is placed in group 0 (by the application)',
      'log: "globex" is pinned to shard0; rows that it has elsewhere were not moved (by the application, once the transaction of its caller commits)',
    ]);
  });
});

describe('the transaction of the caller', () => {
  it('commits the change with its own', async () => {
    await control.transaction(async (manager) => {
      await pins.pin('acme', 'shard1', { manager });
      expect(await placesOf(app, 'acme')).toEqual(['shard0']);
    });
    await placed.settled();
    expect(await placesOf(app, 'acme')).toEqual(['shard1']);
  });

  it('rolls the change back with its own', async () => {
    const before = app.get(DirectoryConnection).opened[0]!.directory.revision;
    const failed = control.transaction(async (manager) => {
      await pins.pin('acme', 'shard1', { manager });
      await pins.place('globex', { group: 0, manager });
      throw new Error('changed my mind');
    });
    await expect(failed).rejects.toThrow('changed my mind');
    expect([await rows(), await placed.log(), await placesOf(app, 'acme')]).toEqual([[], [], ['shard0']]);
    const [row] = await placed.control('select revision from _sharding_revision');
    expect(Number(row!['revision'])).toBe(before);
  });

  it('keeps who and why that it has set for itself', async () => {
    await control.transaction(async (manager) => {
      const raw = (key: string) =>
        manager.query(`insert into _sharding_directory (routing_key, shard_name) values ($1, 'shard0')`, [
          key,
        ]);
      await manager.query(`select set_config('sharding.actor', 'batch', true)`);
      await pins.pin('a', 'shard1', { manager });
      await pins.pin('b', 'shard1', { manager, by: 'jo', note: 'too big' });
      await expect(pins.place('b', { group: 9, manager, by: 'al' })).rejects.toThrow('group 9');
      await raw('c');
    });
    expect(await placed.log()).toEqual([
      'batch a -/-->shard1/- -',
      'jo b -/-->shard1/- too big',
      'batch c -/-->shard0/- -',
    ]);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['a shard', async () => (await app.get(Shards).dbOn('shard0')).tx((tx) => refused(tx.manager))],
    [
      'another application',
      () => other.get<DataSource>(CONTROL_DATA_SOURCE).transaction((tx) => refused(tx)),
    ],
    ['nobody', () => refused(control.manager)],
  ])('must be one on the control database, not of %s', async (_whose, run) => {
    await run();
    expect(await rows()).toEqual([]);
  });

  const refused = (manager: EntityManager) =>
    expect(pins.pin('acme', 'shard1', { manager })).rejects.toMatchObject({
      code: 'invalid_options',
      message: 'manager must be in a transaction on the control database',
    });
});

it('needs a control database', async () => {
  const shards = placed.databases.shards.map((primaryUrl, index) => ({ name: `shard${index}`, primaryUrl }));
  const alone = await bootApp({ database: { shards } });
  try {
    const refusal = { code: 'invalid_topology', message: expect.stringContaining('[database] primary_url') };
    await expect(alone.get(Pins).pin('acme', 'shard1')).rejects.toMatchObject(refusal);
    await expect(alone.get(Pins).list()).rejects.toMatchObject(refusal);
  } finally {
    await alone.close();
  }
});

it('writes the directory also where another router is in use, and says once that nobody obeys', async () => {
  const own = new RecordedLog();
  const hashed = await placed.boot({}, {}, { logger: own });
  await hashed.get(Pins).pin('acme', 'shard1');
  await hashed.get(Pins).pin('globex', 'shard0');
  expect([await placesOf(hashed, 'acme'), (await rows()).length]).toEqual([['shard0'], 2]);
  expect(own.of('pins').filter((line) => line.startsWith('warn'))).toEqual([
    'warn: no DirectoryRouter is in use here: nobody routes by the pins; set [database] directory_shard_router = true, or give a router that asks a DirectoryRouter',
  ]);
  expect(log.of('pins').filter((line) => line.startsWith('warn'))).toEqual([]);
});

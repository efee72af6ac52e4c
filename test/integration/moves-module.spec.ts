import { afterEach, beforeAll, expect, it } from '@jest/globals';
import { Inject, Injectable } from '@nestjs/common';
import { MoveMismatch, Moves, Pins, ShardingError } from '@app/sharding';
import { bootApp } from '../support/deployment.js';
import { FRAMEWORK_TABLES, MovingFleet } from '../support/moving-fleet.js';
import { slotOf } from '@app/routing';
import type { INestApplication } from '@nestjs/common';
import type { MoveProgress, MoveRecord, MoveRequest } from '@app/sharding';

@Injectable()
class Mover {
  constructor(@Inject(Moves) readonly moves: Moves) {}
}

let fleet: MovingFleet;
let app: INestApplication;

/** A tenant of shard0. */
const tenant = Array.from({ length: 100 }, (_, index) => `tenant-${index}`).find(
  (key) => slotOf(key) < 8192,
)!;

beforeAll(async () => {
  fleet = await MovingFleet.create({
    database: { directoryShardRouter: true, moveCertificateSecret: 's'.repeat(32) },
  });
  await fleet.query(
    0,
    `insert into bookmarks (tenant_id, url) values ($1, 'https://a.test'), ($1, 'https://b.test')`,
    [tenant],
  );
});

afterEach(() => app.close());

it('moves are injected, move a tenant behind a fence, and tell how far they are', async () => {
  app = await bootApp(fleet.options, { providers: [Mover] });
  const { moves } = app.get(Mover);
  const told: MoveProgress[] = [];
  const request: MoveRequest = { from: 'shard0', to: 'shard1', keys: [tenant], writes: 'fenced', by: 'test' };
  const move: MoveRecord = await moves.move(request, { progress: (progress) => told.push(progress) });
  expect(move).toMatchObject({ state: 'verified', startedBy: 'test' });
  expect(new Set(told.map(({ move: id }) => id))).toEqual(new Set([move.id]));
  const copying = told.filter(({ step }) => step === 'copy');
  expect(copying[0]).toEqual({
    move: move.id,
    step: 'copy',
    table: 'public.bookmarks',
    bytes: 0,
    expected: { rows: expect.any(Number), bytes: expect.any(Number) },
  });
  const copied = copying.filter(({ rows }) => rows !== undefined);
  expect(copied.map(({ table, rows }) => [table, rows])).toEqual([
    ['public.bookmarks', 2],
    ...FRAMEWORK_TABLES.map((table) => [table, 0]),
  ]);
  expect(told.at(-1)).toEqual({ move: move.id, step: 'verified' });
  await app.get(Pins).pin(tenant, 'shard1', { by: 'test' });
  expect(await moves.confirm(request)).toMatchObject({ id: move.id, state: 'purged' });
  const { signature, ...certificate } = await moves.certificate(move.id.slice(0, 8));
  expect(certificate).toMatchObject({ move: move.id, state: 'purged', keys: [tenant], started_by: 'test' });
  expect(signature).toMatch(/^[0-9a-f]{64}$/);
  expect((await moves.list({ limit: 1 })).map(({ id }) => id)).toEqual([move.id]);
  await expect(moves.list({ limit: 0 })).rejects.toMatchObject({ code: 'invalid_options' });
});

it('a mismatch is an error whose fields name the tables', async () => {
  app = await bootApp(fleet.options, { providers: [Mover] });
  const { moves } = app.get(Mover);
  const pins = app.get(Pins);
  const request = { from: 'shard1', to: 'shard0', keys: [tenant], by: 'test' };
  await moves.move(request);
  await pins.pin(tenant, 'shard0');
  await fleet.query(1, `update bookmarks set url = 'changed' where tenant_id = $1`, [tenant]);
  const error: unknown = await moves.confirm(request).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(MoveMismatch);
  expect(error).toBeInstanceOf(ShardingError);
  expect((error as MoveMismatch).differences).toEqual([
    { table: 'public.bookmarks', expectedRows: '2', foundRows: '2' },
  ]);
});

it('without a control database they are injected all the same, and each verb is refused', async () => {
  const database = { ...fleet.options.database, directoryShardRouter: false };
  delete database.primaryUrl;
  app = await bootApp({ ...fleet.options, database }, { providers: [Mover] });
  const { moves } = app.get(Mover);
  const request = { from: 'shard0', to: 'shard1', keys: ['acme'], by: 'test' };
  const refused = {
    code: 'invalid_topology',
    message: 'moves are recorded on the control database: configure [database] primary_url',
  };
  for (const call of [
    () => moves.move(request),
    () => moves.confirm(request),
    () => moves.verify(request),
    () => moves.list(),
    () => moves.show('a'),
    () => moves.resume('a'),
    () => moves.purge('a'),
    () => moves.abort('a'),
    () => moves.certificate('a'),
  ]) {
    await expect(call()).rejects.toMatchObject(refused);
  }
});

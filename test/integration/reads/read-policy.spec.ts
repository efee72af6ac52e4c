import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Inject, Injectable } from '@nestjs/common';
import { InjectControl, Reader } from '@app/sharding';
import { freePort, waitFor } from '@test/support';
import { bootApp, listen } from '../../support/deployment.js';
import { call } from '../../support/bookmarks.js';
import {
  PLAIN,
  REPLICATED,
  ReadingApp,
  ReplicatedDeployment,
  servedBy,
  type Way,
} from '../../support/replicated.js';
import type { INestApplication } from '@nestjs/common';

/** The table of the read policy, row by row: no replica, a ready one, an unready one by each fallback. */
let servers: ReplicatedDeployment;
let nowhere: Way;
let reading: ReadingApp | undefined;
let app: INestApplication | undefined;

beforeAll(async () => {
  servers = await ReplicatedDeployment.start();
  const port = await freePort();
  nowhere = { url: (name) => `postgres://postgres:secret@127.0.0.1:${port}/${name}` };
});

afterEach(async () => {
  await reading?.close();
  await app?.close();
  reading = app = undefined;
});

afterAll(() => servers.dispose());

const PRIMARY = { group: 0, slots: 8192, pool_size: 4, primary_ready: true, primary_detail: 'answers' };
const counts = { active_connections: expect.any(Number), idle_connections: expect.any(Number) };
const READY = { replica_ready: true, replica_detail: 'streaming', replica_lag_ms: expect.any(Number) };
const REFUSED = {
  replica_ready: false,
  replica_detail: 'ECONNREFUSED, nothing listens there',
  replica_lag_ms: null,
};
const UNAVAILABLE = {
  statusCode: 503,
  code: 'replica_unavailable',
  message:
    'the replica of shard "shard0" is not ready (ECONNREFUSED, nothing listens there), and replica_fallback = "fail_readiness" allows no other',
};

describe('no replica', () => {
  it('reads go to the primary; what asks for a replica alone is refused', async () => {
    reading = await ReadingApp.boot(servers.options());
    expect(await reading.servedBy(PLAIN)).toBe('primary');
    expect(await reading.get(PLAIN)).toMatchObject({ status: 200, body: { notes: 0, servedBy: 'primary' } });
    expect(await reading.inContext(async (db) => servedBy(db.reader()), PLAIN)).toBe('primary');
    await expect(reading.shards.readReplicaFor(PLAIN)).rejects.toMatchObject({
      code: 'replica_unavailable',
      message: 'shard "shard1" has no replica: set replica_url, or use readFor()',
    });
    const { status, components } = await reading.health();
    expect(status).toBe(200);
    expect(components['db:shard:shard1']).toEqual({ ...PRIMARY, ...counts, status: 'up' });
    expect(reading.shards.named('shard1').replicaStatus()).toBeUndefined();
  });
});

describe.each(['primary', 'fail_readiness'] as const)('a ready replica, fallback %s', (replicaFallback) => {
  it('serves all reads; the primary serves the rest', async () => {
    reading = await ReadingApp.boot(servers.options({ replicaFallback }));
    const { shards } = reading;
    expect(await reading.servedBy()).toBe('replica');
    expect(await servedBy(await shards.readReplicaFor(REPLICATED))).toBe('replica');
    expect(await servedBy(await shards.readFor(REPLICATED))).toBe('replica'); // outside of any context
    expect(await reading.get()).toMatchObject({ status: 200, body: { servedBy: 'replica' } });
    const db = await shards.dbFor(REPLICATED);
    expect(await db.query('select pg_is_in_recovery() as replica')).toEqual([{ replica: false }]);
    expect(await reading.shard0()).toEqual({ ...PRIMARY, ...counts, ...READY, status: 'up', code: 200 });
    expect(shards.named('shard0').replicaStatus()).toEqual({
      ready: true,
      detail: 'streaming',
      lagMs: expect.any(Number),
    });
  });
});

describe('an unready replica, fallback primary', () => {
  it('reads go to the primary, and the component stays up with the state of the replica', async () => {
    reading = await ReadingApp.boot(servers.options({ replicaFallback: 'primary' }, { replica: nowhere }));
    expect(await reading.servedBy()).toBe('primary');
    expect(await reading.get()).toMatchObject({ status: 200, body: { servedBy: 'primary' } });
    await expect(reading.shards.readReplicaFor(REPLICATED)).rejects.toMatchObject({
      code: 'replica_unavailable',
      message: 'the replica of shard "shard0" is not ready (ECONNREFUSED, nothing listens there)',
    });
    expect(await reading.shard0()).toEqual({ ...PRIMARY, ...counts, ...REFUSED, status: 'up', code: 200 });
  });
});

describe('an unready replica, fallback fail_readiness', () => {
  it('reads are refused with 503, and the component is down; writes and other shards go on', async () => {
    reading = await ReadingApp.boot(servers.options({}, { replica: nowhere }));
    expect(await reading.servedBy()).toBe('replica_unavailable');
    expect(await reading.get()).toMatchObject({ status: 503, body: UNAVAILABLE });
    const { shards } = reading;
    await expect(shards.readFor(REPLICATED)).rejects.toMatchObject({ code: 'replica_unavailable' });
    await expect(shards.readReplicaFor(REPLICATED)).rejects.toMatchObject({ code: 'replica_unavailable' });
    const db = await shards.dbFor(REPLICATED);
    expect(await db.query('select 1 as one')).toEqual([{ one: 1 }]);
    expect(await reading.get(PLAIN)).toMatchObject({ status: 200 });
    expect(await reading.shard0()).toEqual({ ...PRIMARY, ...counts, ...REFUSED, status: 'down', code: 503 });
    const { components } = await reading.health();
    expect(components['db:shard:shard1']).toMatchObject({ status: 'up' });
    expect(components['db:control']).toMatchObject({ status: 'up' });
  });
});

describe('the control database', () => {
  @Injectable()
  class Settings {
    constructor(
      @InjectControl('reader') readonly reader: Reader,
      @Inject(Reader) readonly none?: Reader,
    ) {}
  }

  async function boot(replicaFallback: 'primary' | 'fail_readiness', way: Way | undefined): Promise<Reader> {
    const database = { replicaFallback, ...(way && { replicaUrl: way.url('control') }) };
    app = await bootApp(servers.options(database), {
      providers: [{ provide: Reader, useValue: undefined }, Settings],
    });
    return app.get(Settings).reader;
  }

  async function component() {
    const { status, body } = await call(`${await listen(app!)}/health`);
    return { code: status, ...(body as { details: Record<string, object> }).details['db:control'] };
  }

  it('without a replica is read on its primary', async () => {
    expect(await servedBy(await boot('fail_readiness', undefined))).toBe('primary');
    expect(Object.keys(await component()).filter((key) => key.startsWith('replica'))).toEqual([]);
  });

  it('with a ready replica is read there', async () => {
    const reader = await boot('fail_readiness', servers.replica);
    expect(reader).toBeInstanceOf(Reader);
    expect(await servedBy(reader)).toBe('replica');
    expect(await component()).toMatchObject({ code: 200, status: 'up', ...READY });
    expect(await reader.tx(async (tx) => servedBy(tx))).toBe('replica');
  });

  it('with an unready one is read on its primary, or not at all', async () => {
    expect(await servedBy(await boot('primary', nowhere))).toBe('primary');
    expect(await component()).toMatchObject({ code: 200, status: 'up', ...REFUSED });
    await app!.close();
    const reader = await boot('fail_readiness', nowhere);
    await expect(servedBy(reader)).rejects.toMatchObject({
      code: 'replica_unavailable',
      message: expect.stringMatching(/^the replica of the control database is not ready \(ECONNREFUSED/),
    });
    expect(await component()).toMatchObject({ code: 503, status: 'down', ...REFUSED });
  });
});

describe('a replica_url that leads elsewhere is never used, and health says why', () => {
  const LATE = { timeoutMs: 10_000 };

  async function isNotUsed(
    way: { primary?: Way; replica?: Way },
    detail: string,
  ): Promise<{ breakerState: string }> {
    reading = await ReadingApp.boot(servers.options({ replicaFallback: 'primary' }, way));
    await waitFor(async () => (await reading!.shard0())['replica_detail'] === detail, {
      what: detail,
      ...LATE,
    });
    for (let time = 0; time < 5; time++) expect(await reading.servedBy()).toBe('primary');
    expect(await reading.shard0()).toMatchObject({
      status: 'up',
      replica_ready: false,
      replica_detail: detail,
    });
    await expect(reading.shards.readReplicaFor(REPLICATED)).rejects.toMatchObject({
      code: 'replica_unavailable',
    });
    return reading.shards.named('shard0').reads.replica!.database;
  }

  it('to another database of the right server', async () => {
    await isNotUsed({ replica: { url: () => servers.replica.url('shard1') } }, 'it is another database');
  });

  it('to the replica of another server, or to a server that is none', async () => {
    const other = await servers.primaryLikeShard0();
    try {
      await isNotUsed({ primary: other }, 'it is a copy of another server');
      await reading?.close();
      const answering = await isNotUsed(
        { replica: other },
        'is not a replica any more: it is not in recovery',
      );
      const asked = performance.now();
      await waitFor(async () => answering.breakerState !== 'closed' || performance.now() - asked > 800, {
        what: 'some more probes',
      });
      expect(answering.breakerState).toBe('closed'); // it answers: that is no outage
    } finally {
      await reading?.close();
      reading = undefined;
      await other.dispose();
    }
  });

  it('with a wrong password', async () => {
    const wrong = { url: (name?: string) => servers.replica.url(name).replace(':secret@', ':wrong@') };
    await isNotUsed({ replica: wrong }, '28P01, the password was refused');
  });
});

describe('a replica that lacks a migration', () => {
  it('is not used, and is used once it has it (C23)', async () => {
    await servers.replica.pauseReplay();
    await servers.primary.query(
      `insert into migrations (timestamp, name) values (2, 'Second2')`,
      [],
      'shard0',
    );
    reading = await ReadingApp.boot(servers.options({ replicaFallback: 'primary' }));
    expect(await reading.servedBy()).toBe('primary');
    expect(await reading.shard0()).toMatchObject({
      status: 'up',
      replica_ready: false,
      replica_detail: 'lacks migration Second2',
    });
    await servers.replica.resumeReplay();
    await reading.untilReplicaServes();
    expect(await reading.shard0()).toMatchObject(READY);
  });
});

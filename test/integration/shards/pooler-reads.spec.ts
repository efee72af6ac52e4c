import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Shards, type ShardDb } from '@app/sharding';
import { waitFor } from '@test/support';
import { Note, bootApp } from '../../support/deployment.js';
import { POOLERS } from '../../support/poolers.js';
import { ReplicatedDeployment } from '../../support/replicated.js';
import type { INestApplication } from '@nestjs/common';
import type { TestPooler } from '../../support/transaction-pooler.js';

let servers: ReplicatedDeployment;

beforeAll(async () => {
  servers = await ReplicatedDeployment.start();
}, 60_000);
afterAll(() => servers.dispose());

/** A primary and its replica, each behind a pooler; the monitor goes through both, or around the primary's. */
describe.each(
  POOLERS.flatMap(([name, start]) => [
    { name, start, way: 'through' as const },
    { name, start, way: 'around' as const },
  ]),
)('reads behind $name, probed $way the pooler of the primary', ({ start, way }) => {
  const poolers: TestPooler[] = [];
  let app: INestApplication;
  let db: ShardDb;

  beforeAll(async () => {
    const { primary, replica } = servers;
    const [before, behind] = [
      await start({ serverUrl: primary.url() }),
      await start({ serverUrl: replica.url() }),
    ];
    poolers.push(before, behind);
    const direct = primary.url('shard0');
    const options = servers.options({
      primaryUrl: before.url(primary.url('control')),
      pooler: 'transaction',
      replicaFallback: 'primary',
      shards: [
        {
          name: 'shard0',
          primaryUrl: before.url(direct),
          replicaUrl: behind.url(replica.url('shard0')),
          ...(way === 'around' && { maintenanceUrl: direct }),
        },
      ],
    });
    app = await bootApp(options);
    db = await app.get(Shards).dbOn('shard0');
    await ready();
  }, 60_000);
  afterAll(async () => {
    await app?.close();
    for (const pooler of poolers) await pooler.dispose();
  });

  const ready = () =>
    waitFor(async () => db.shard.replicaStatus()?.ready, {
      what: 'the replica to be ready',
      timeoutMs: 10_000,
    });
  const recovering = 'select pg_is_in_recovery() as recovering';

  /** Whatever serves the reads. */
  const refusesWrites = async () => {
    const reader = db.reader();
    const write = `insert into notes (tenant_id, body) values ('acme', 'not written')`;
    await expect(reader.query(write)).rejects.toMatchObject({ driverError: { code: '25006' } });
    await expect(reader.query(`select 1; ${write}`)).rejects.toMatchObject({
      driverError: { code: '42601' },
    });
    await expect(reader.query('set transaction read write')).rejects.toBeDefined();
    await expect(reader.tx(async (own) => own.query(write))).rejects.toMatchObject({
      driverError: { code: '25006' },
    });
    expect(await reader.query('select 1 as one')).toEqual([{ one: 1 }]);
    expect(await servers.primary.query(`select from notes where body = 'not written'`, [], 'shard0')).toEqual(
      [],
    );
  };

  it('the replica serves them, and no write', async () => {
    expect(await db.reader().query(recovering)).toEqual([{ recovering: true }]);
    await refusesWrites();
  });

  it('read what the same context has written', async () => {
    const body = `${way} ${Math.random()}`;
    await app.get(Shards).runFor('acme', async () => {
      await db.getRepository(Note).insert({ tenantId: 'acme', body });
      expect(await db.reader().getRepository(Note).countBy({ body })).toBe(1);
    });
  });

  it('the primary serves them when the replica is gone, and no write', async () => {
    await servers.replica.stop();
    try {
      await waitFor(async () => !db.shard.replicaStatus()?.ready, { what: 'the replica to be seen as gone' });
      expect(await db.reader().query(recovering)).toEqual([{ recovering: false }]);
      await refusesWrites();
    } finally {
      await servers.replica.restart();
    }
    await ready();
    await waitFor(
      async () => (await db.reader().query<{ recovering: boolean }[]>(recovering))[0]?.recovering,
      {
        what: 'reads from the replica',
      },
    );
  }, 60_000);

  it('no pooler was sent a parameter', async () => {
    for (const pooler of poolers) expect(await pooler.startupParameters()).toEqual(['client_encoding']);
  });
});

import { beforeAll, describe, expect, it } from '@jest/globals';
import { Shards } from '@app/sharding';
import { call } from '../../support/bookmarks.js';
import { deployment, type Deployment } from '../../support/deployment.js';
import { bootMetrics, type Adapter } from './metrics-app.js';

let databases: Deployment;

beforeAll(async () => {
  databases = await deployment(2);
});

describe.each<Adapter>(['express', 'fastify'])('GET /actuator/metrics under %s', (adapter) => {
  it('tells what this process holds of each database', async () => {
    const { app, url } = await bootMetrics(databases.options({ poolSize: 3 }), adapter);
    const unused = { pool: { max: 3, active: 0, idle: 0, waiting: 0 }, breaker: 'closed' };
    const used = { pool: { max: 3, active: 1, idle: 0, waiting: 0 }, breaker: 'closed' };
    try {
      const held = (await app.get(Shards).dbOn('shard1')).tx(async (tx) => {
        await tx.query('select 1');
        return call(`${url}/actuator/metrics`);
      });
      expect(await held).toMatchObject({
        status: 200,
        body: {
          database_shards: {
            control: { primary: unused },
            shard0: { group: 0, slots: 8192, primary: unused },
            shard1: { group: 0, slots: 8192, primary: used },
          },
        },
      });
      const { body } = await call(`${url}/actuator/metrics`);
      const { shard1, ...others } = (body as { database_shards: Record<string, object> }).database_shards;
      expect(others).toEqual({
        control: { primary: unused },
        shard0: { group: 0, slots: 8192, primary: unused },
      });
      expect(Object.keys(shard1!)).toEqual(['group', 'slots', 'primary']);
    } finally {
      await app.close();
    }
  });
});

it('has no control where there is no control database', async () => {
  const { app, url } = await bootMetrics({
    database: { poolSize: 2, shards: databases.options().database['shards' as never] },
  });
  try {
    const { body } = await call(`${url}/actuator/metrics`);
    expect(Object.keys((body as { database_shards: object }).database_shards)).toEqual(['shard0', 'shard1']);
  } finally {
    await app.close();
  }
});

it('tells of both where the control database is the only shard', async () => {
  const { app, url } = await bootMetrics({ database: { primaryUrl: databases.control, poolSize: 2 } });
  const primary = { pool: { max: 2, active: 0, idle: 0, waiting: 0 }, breaker: 'closed' };
  try {
    const { body } = await call(`${url}/actuator/metrics`);
    expect(Object.values((body as { database_shards: object }).database_shards)).toEqual([
      { primary },
      { group: 0, slots: 16384, primary },
    ]);
  } finally {
    await app.close();
  }
});

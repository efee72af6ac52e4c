import { afterEach, describe, expect, it } from '@jest/globals';
import { Shards, type Shard, type ShardingOptions } from '@app/sharding';
import { FaultProxy, waitFor } from '@test/support';
import { call } from '../support/bookmarks.js';
import { Note, bootApp, listen } from '../support/deployment.js';
import { POOLERS, PooledDeployment } from '../support/poolers.js';
import type { INestApplication } from '@nestjs/common';

/** The pooler itself fails, or is busy: health and breaker tell what requests would meet. */
describe.each(POOLERS)('%s before a server that is well', (_name, start) => {
  let place: PooledDeployment;
  let proxy: FaultProxy;
  let app: INestApplication;

  const boot = async (way: 'direct' | 'pooled', database = (): ShardingOptions['database'] => ({})) => {
    place = await PooledDeployment.start(start, { servers: 1, waitMs: 700 });
    proxy = await FaultProxy.start(place.pooler);
    const primaryUrl = proxy.url(place.direct);
    const shard = { name: 'shard0', primaryUrl, ...(way === 'direct' && { maintenanceUrl: place.direct }) };
    app = await bootApp(
      place.options({
        poolSize: 2,
        connectTimeoutMs: 1000,
        drainTimeoutMs: 200,
        shards: [shard],
        ...database(),
      }),
    );
    const url = await listen(app);
    return { url, shard: app.get(Shards).named('shard0') };
  };
  const health = async (url: string) => {
    const { status, body } = await call(`${url}/health`);
    return { status, down: Object.keys((body as { error: object }).error) };
  };
  afterEach(async () => {
    await app.close();
    await proxy.dispose();
    await place.dispose();
  });

  /** The breaker opens, and for a while, which is time for several probes, it does not close. */
  const staysOpen = async (shard: Shard) => {
    const unavailable = { code: 'shard_unavailable' };
    for (let request = 0; request < 4; request++) {
      await expect(shard.primary().then((db) => db.query('select 1'))).rejects.toMatchObject(unavailable);
    }
    const states = new Set<string>();
    const until = performance.now() + 1200;
    await waitFor(async () => states.add(shard.database.breakerState) && performance.now() > until, {
      what: 'the time to pass',
      everyMs: 5,
    });
    expect([...states]).not.toContain('closed');
  };
  const isWell = async (shard: Shard) => {
    const answer = () => shard.primary().then((db) => db.query('select 1 as one'));
    expect(await waitFor(answer, { what: 'an answer' })).toEqual([{ one: 1 }]);
  };

  /** Holds the pooler's only server until `meanwhile` is done. */
  const busy = async (shard: Shard, meanwhile: () => Promise<unknown>) => {
    const db = await shard.primary();
    const [over, begun] = [signal(), signal()];
    const held = db.tx(async (tx) => {
      await tx.query('select 1');
      begun.give();
      await over.given;
    });
    await begun.given;
    await meanwhile().finally(over.give);
    await held;
  };

  it.each(['direct', 'pooled'] as const)('a dead one is told and found again (probes: %s)', async (way) => {
    const { url, shard } = await boot(way);
    await isWell(shard);
    expect(await health(url)).toEqual({ status: 200, down: [] });
    await proxy.refuse();
    await proxy.dropAll();
    expect(await health(url)).toEqual({ status: 503, down: ['db:shard:shard0'] });
    await staysOpen(shard);
    await proxy.accept();
    await isWell(shard);
    expect(await health(url)).toEqual({ status: 200, down: [] });
  });

  it('one that takes no parameters of pooler = "none" is not taken for well', async () => {
    const shards = () => [{ name: 'shard0', primaryUrl: place.pooler.url(place.direct), slots: ['0-16383'] }];
    const { url, shard } = await boot('pooled', () => ({ pooler: 'none', shards: shards() }));
    await staysOpen(shard);
    expect((await health(url)).status).toBe(503);
  });

  it('a busy one is no failure where probes go around it', async () => {
    const { url, shard } = await boot('direct');
    await busy(shard, async () => expect(await health(url)).toEqual({ status: 200, down: [] }));
  });

  it('a busy one that gives up a waiting request is told as such', async () => {
    const { shard } = await boot('direct');
    await busy(shard, async () => {
      const began = performance.now();
      const db = await shard.primary();
      const unavailable = { code: 'shard_unavailable' };
      await expect(db.getRepository(Note).insert({ tenantId: 'acme', body: 'late' })).rejects.toMatchObject(
        unavailable,
      );
      await expect(db.tx((tx) => tx.query('select 1'))).rejects.toMatchObject(unavailable);
      expect(performance.now() - began).toBeLessThan(4000);
    });
    await isWell(shard);
    expect(await place.query('select from notes')).toEqual([]);
  });

  it('a busy one is waited for no longer than the deadline', async () => {
    const { shard } = await boot('direct');
    await busy(shard, async () => {
      const db = await shard.primary();
      await expect(db.query('select 1', [], { deadlineMs: 200 })).rejects.toMatchObject({
        code: 'deadline_exceeded',
      });
    });
    await isWell(shard);
  });
});

function signal(): { readonly give: () => void; readonly given: Promise<void> } {
  let give: () => void = () => undefined;
  const given = new Promise<void>((resolve) => (give = resolve));
  return { give, given };
}

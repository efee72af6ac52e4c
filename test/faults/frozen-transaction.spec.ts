import { expect, it } from '@jest/globals';
import { Shards } from '@app/sharding';
import { PostgresServer, waitFor } from '@test/support';
import { bootApp } from '../support/deployment.js';

/** Every step of a transaction is bounded, also where the server stops answering in the middle of it. */
it('a server that freezes inside transactions gives their callers an answer and their connections back', async () => {
  const server = await PostgresServer.start({ name: 'freezing' });
  try {
    const app = await bootApp({
      database: {
        poolSize: 6,
        drainTimeoutMs: 500,
        shards: [{ name: 'shard0', primaryUrl: await server.createDatabase('app') }],
      },
    });
    const db = await app.get(Shards).dbOn('shard0');
    const own = new Error('mine');
    let frozen: () => void = () => undefined;
    const freeze = new Promise<void>((resolve) => (frozen = resolve));
    const begun: unknown[] = [];
    const inside = (work: () => Promise<unknown>, timeoutMs?: number) =>
      db.tx(
        async (tx) => {
          begun.push(await tx.query('select 1'));
          await freeze;
          return work();
        },
        timeoutMs === undefined ? {} : { timeoutMs },
      );
    const ends = Promise.allSettled([
      inside(() => Promise.reject(own)),
      inside(() => db.query('select 2'), 1500),
      inside(() => new Promise<never>(() => undefined), 1500),
    ]);
    await waitFor(async () => begun.length === 3, { what: 'three transactions to be open' });
    server.freeze({ backends: true });
    frozen();
    const began = performance.now();
    const [thrown, late, hanging] = await ends;
    expect(thrown).toMatchObject({ status: 'rejected', reason: own });
    expect(late).toMatchObject({ status: 'rejected', reason: { code: 'deadline_exceeded' } });
    expect(hanging).toMatchObject({ status: 'rejected', reason: { code: 'deadline_exceeded' } });
    expect(performance.now() - began).toBeLessThan(12_000);
    await waitFor(async () => db.shard.stats().active === 0, { what: 'the connections to be back' });
    server.thaw();
    const answer = await waitFor(() => db.query('select 1 as one'), { what: 'the server to be found again' });
    expect(answer).toEqual([{ one: 1 }]);
    await app.close();
  } finally {
    await server.dispose();
  }
}, 60_000);

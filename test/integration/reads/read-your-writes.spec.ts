import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { waitFor } from '@test/support';
import { Note } from '../../support/deployment.js';
import { WRITES, tenantOf } from './kinds-of-writes.js';
import { PLAIN, REPLICATED, ReadingApp, ReplicatedDeployment, servedBy } from '../../support/replicated.js';
import type { ShardingOptions } from '@app/sharding';

/** Read straight after write (C23), on a replica that applies late or nothing at all. */
let servers: ReplicatedDeployment;
let reading: ReadingApp;

beforeAll(async () => {
  servers = await ReplicatedDeployment.start({ primary: { settings: { log_statement: 'all' } } });
});

afterEach(async () => {
  await reading.close();
  await servers.replica.resumeReplay();
  await servers.replica.setApplyDelay(0);
  await servers.untilCaughtUp();
});

afterAll(() => servers.dispose());

async function boot(database: ShardingOptions['database'] = {}): Promise<void> {
  reading = await ReadingApp.boot(servers.options(database));
  await reading.untilReplicaServes();
}

const count = async (body: string) =>
  (await reading.shards.readFor(REPLICATED)).getRepository(Note).countBy({ body });

describe('with read_your_writes = "off"', () => {
  it('a reader may miss what its own request has written; the primary never does', async () => {
    await boot({ readYourWrites: 'off' });
    await servers.replica.setApplyDelay(3000);
    await reading.inContext(async (db) => {
      await db.getRepository(Note).insert(tenantOf('off'));
      expect(await count('off')).toBe(0);
      expect(await servedBy(db.reader())).toBe('replica');
      expect(await db.getRepository(Note).countBy({ body: 'off' })).toBe(1);
      await db.tx(async (tx) =>
        expect(await tx.reader().getRepository(Note).countBy({ body: 'off' })).toBe(1),
      );
    });
  });
});

describe('with read_your_writes = "request", on a replica that applies 3 s late', () => {
  it.each(['request', undefined] as const)('every kind of write is seen (%s)', async (readYourWrites) => {
    await boot({ ...(readYourWrites && { readYourWrites }) });
    await servers.replica.setApplyDelay(3000);
    for (const [kind, write] of Object.entries(WRITES)) {
      const body = `${kind} ${readYourWrites}`;
      await reading.inContext(async (db) => {
        await write(db, body);
        expect([kind, await count(body)]).toEqual([kind, 1]);
        expect([kind, await servedBy(db.reader())]).toEqual([kind, 'primary']);
      });
      expect(await reading.servedBy()).toBe('replica'); // a context that has written nothing
    }
  });

  it('over HTTP, in one request; other requests are served by the replica', async () => {
    await boot();
    await servers.replica.setApplyDelay(3000);
    const before = (await reading.get()).body as { notes: number };
    const written = await reading.write('http');
    expect(written).toMatchObject({ status: 201, body: { servedBy: 'primary' } });
    expect((written.body as { notes: number }).notes).toBeGreaterThan(before.notes);
    expect(await reading.get()).toMatchObject({ status: 200, body: { servedBy: 'replica' } });
  });

  it('what was rolled back, or only read, does no harm; what is written elsewhere is not waited for', async () => {
    await boot();
    await servers.replica.setApplyDelay(3000);
    await reading.inContext(async (db) => {
      await db.query('select count(*) from notes');
      await db.getRepository(Note).find();
      await db.tx((tx) => tx.getRepository(Note).count());
      expect(await servedBy(db.reader())).toBe('replica');
      await expect(
        db.tx(async (tx) => {
          await tx.getRepository(Note).insert(tenantOf('rolled back'));
          throw new Error('no');
        }),
      ).rejects.toThrow('no');
      expect(await count('rolled back')).toBe(0);
    });
    await reading.inContext(async () => {
      await reading.inContext((db) => db.getRepository(Note).insert({ tenantId: PLAIN, body: 'x' }), PLAIN);
      expect(await servedBy(await reading.shards.readFor(REPLICATED))).toBe('replica');
    });
  });

  it('a write of a runFor within a context is seen by the context around it', async () => {
    await boot();
    await servers.replica.setApplyDelay(3000);
    await reading.inContext(async (db) => {
      await reading.inContext((inner) => inner.getRepository(Note).insert(tenantOf('within')));
      expect(await count('within')).toBe(1);
      await db.tx(async () => {
        await reading.inContext((inner) => inner.getRepository(Note).insert(tenantOf('within tx')));
      });
      expect(await count('within tx')).toBe(1);
    });
  });

  it('work outside of every context sees its own writes, too', async () => {
    await boot();
    await servers.replica.setApplyDelay(3000);
    const db = await reading.shards.dbFor(REPLICATED);
    await db.getRepository(Note).insert(tenantOf('outside'));
    expect(await count('outside')).toBe(1);
  });

  it('shards.readReplicaFor never goes to the primary: it waits and says so', async () => {
    await boot();
    await servers.replica.setApplyDelay(3000);
    await reading.inContext(async (db) => {
      await db.getRepository(Note).insert(tenantOf('alone'));
      const reader = await reading.shards.readReplicaFor(REPLICATED);
      await expect(reader.query('select 1')).rejects.toMatchObject({
        code: 'replica_unavailable',
        message: 'the replica of shard "shard0" is not known to have replayed what this context has written',
      });
    });
  });
});

describe('how long a read waits', () => {
  it('up to causal_wait_ms, not at all where the lag is known to be longer, and the replica serves again when it has caught up', async () => {
    await boot({ causalWaitMs: 1500 });
    await servers.replica.pauseReplay();
    const timed = (body: string) =>
      reading.inContext(async (db) => {
        await db.getRepository(Note).insert(tenantOf(body));
        const began = performance.now();
        expect(await count(body)).toBe(1);
        return performance.now() - began;
      });
    const waited = await timed('waits');
    expect(waited).toBeGreaterThan(1450);
    expect(waited).toBeLessThan(4000);
    await waitFor(async () => Number((await reading.shard0())['replica_lag_ms']) > 1500, {
      what: 'the lag to be known',
    });
    expect(await timed('does not wait')).toBeLessThan(1300);
    expect(await reading.servedBy()).toBe('replica');

    await servers.replica.resumeReplay();
    await waitFor(async () => (await reading.shard0())['replica_lag_ms'] === 0, {
      what: 'the lag to be gone',
    });
    const bySelf = await reading.inContext(async (db) => {
      await db.getRepository(Note).insert(tenantOf('waits for the replica'));
      const where = await servedBy(db.reader());
      return [where, await count('waits for the replica')];
    });
    expect(bySelf).toEqual(['replica', 1]);
  });

  it('a replica that applies soon serves what was just written, after a short wait', async () => {
    await boot({ causalWaitMs: 5000 });
    for (let time = 0; time < 20; time++) {
      await reading.inContext(async (db) => {
        await db.getRepository(Note).insert(tenantOf(`soon ${time}`));
        const [row] = await db
          .reader()
          .query<[{ replica: boolean; notes: number }]>(
            'select pg_is_in_recovery() as replica, count(*)::int as notes from notes where body = $1',
            [`soon ${time}`],
          );
        expect(row).toEqual({ replica: true, notes: 1 });
      });
    }
  });

  it('the end of a file or a page of the log is reached by a replica that has replayed it', async () => {
    await boot({ causalWaitMs: 5000, maxReplicaLagMs: 2000 });
    await reading.inContext(async (db) => {
      await db.query('select pg_switch_wal()');
      const began = performance.now();
      expect(await servedBy(db.reader())).toBe('replica');
      expect(performance.now() - began).toBeLessThan(3000);
    });
    await reading.close();
    await boot({ maxReplicaLagMs: 2000 });
    await waitFor(async () => (await reading.shard0())['replica_lag_ms'] === 0, { what: 'no lag' });
  });
});

describe('how often the primary is asked', () => {
  const NEVER_MS = 600_000;
  const asked = async (): Promise<number> =>
    (await servers.primary.log(1_000_000)).match(/pg_current_wal_insert_lsn/g)?.length ?? 0;

  it('never, where nothing was written or there is no replica', async () => {
    await boot({ replicaProbeIntervalMs: NEVER_MS });
    const before = await asked();
    for (let time = 0; time < 10; time++) {
      await reading.get();
      await reading.inContext(async (db) => {
        await db.query('select 1');
        await count('nothing');
      });
      await reading.write('plain', PLAIN);
      await reading.inContext(async (db) => {
        await db.getRepository(Note).insert({ tenantId: PLAIN, body: 'x' });
        await db.reader().getRepository(Note).count();
      }, PLAIN);
    }
    await reading.inContext((db) =>
      db.getRepository(Note).insert(tenantOf('a write that nobody reads after')),
    );
    expect(await asked()).toBe(before);
  });

  it('once for many readers at a time, and again only after a further write', async () => {
    await boot({ replicaProbeIntervalMs: NEVER_MS });
    const before = await asked();
    await reading.inContext(async (db) => {
      await db.getRepository(Note).insert(tenantOf('once'));
      const counts = await Promise.all(Array.from({ length: 50 }, () => count('once')));
      expect(new Set(counts)).toEqual(new Set([1]));
      for (let time = 0; time < 5; time++) expect(await count('once')).toBe(1);
      expect((await asked()) - before).toBe(1);
      await db.getRepository(Note).insert(tenantOf('once'));
      expect(await count('once')).toBe(2);
      expect((await asked()) - before).toBe(2);
      await db.tx((tx) => tx.getRepository(Note).count()); // its COMMIT makes nothing last
      expect(await count('once')).toBe(2);
      expect((await asked()) - before).toBe(2);
      await db.manager.transaction((own) => own.getRepository(Note).insert(tenantOf('once')));
      expect(await count('once')).toBe(3);
      expect((await asked()) - before).toBe(3);
    });
  });

  it('while the write is still under way, too: it is marked before it is sent', async () => {
    await boot({ replicaProbeIntervalMs: NEVER_MS });
    await reading.inContext(async (db) => {
      const before = await asked();
      const writing = db.query(
        `insert into notes (tenant_id, body) select 'acme', 'under way' from (select pg_sleep(1)) as slept`,
      );
      const sleeping = `select 1 from pg_stat_activity where wait_event = 'PgSleep'`;
      await waitFor(async () => (await servers.primary.query(sleeping)).length === 1, { what: 'the write' });
      expect(await count('under way')).toBe(0);
      expect((await asked()) - before).toBe(1);
      await writing;
      expect(await count('under way')).toBe(1);
      expect((await asked()) - before).toBe(2);
    });
  });

  it('not before the read, and not when the reads are off', async () => {
    await boot({ readYourWrites: 'off', replicaProbeIntervalMs: NEVER_MS });
    const before = await asked();
    await reading.write('off');
    expect(await asked()).toBe(before);
  });
});

describe('while the application shuts down', () => {
  it('a request that has written still reads its write', async () => {
    await boot();
    const request = reading.write('shutdown', REPLICATED, 'notes/slow');
    await waitFor(
      async () =>
        (await servers.primary.query(`select 1 from notes where body = 'shutdown'`, [], 'shard0')).length > 0,
      { what: 'the write' },
    );
    await reading.close();
    expect(await request).toMatchObject({ status: 201 });
  });
});

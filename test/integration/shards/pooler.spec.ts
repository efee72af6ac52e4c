import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Shards, type ShardDb, type ShardingOptions } from '@app/sharding';
import { waitFor } from '@test/support';
import { Note } from '../../support/deployment.js';
import { POOLERS, PooledDeployment } from '../../support/poolers.js';

/** `pooler = "transaction"`: each transaction meets another server connection, and no parameter gets through. */
describe.each(POOLERS)('behind %s in transaction mode', (_name, start) => {
  let place: PooledDeployment;

  beforeAll(async () => {
    place = await PooledDeployment.start(start);
  });
  afterEach(() => place.closeApps());
  afterAll(() => place.dispose());

  const boot = async (
    database: ShardingOptions['database'] = {},
    rest: Partial<ShardingOptions> = {},
  ): Promise<ShardDb> => (await place.boot(database, rest)).get(Shards).dbOn('shard0');

  const limits = `select current_setting('statement_timeout') as statement,
    current_setting('idle_in_transaction_session_timeout') as idle`;
  const NONE = { statement: '0', idle: '0' };

  it('boots and works through TypeORM, and sends no parameter but the encoding', async () => {
    const notes = (await boot()).getRepository(Note);
    const { id } = await notes.save({ tenantId: 'acme', body: 'first' });
    await notes.update({ id }, { body: 'second' });
    expect(await notes.findOneBy({ id })).toEqual({ id, tenantId: 'acme', body: 'second' });
    await notes.delete({ id });
    expect(await notes.countBy({ tenantId: 'acme' })).toBe(0);
    expect(await place.pooler.startupParameters()).toEqual(['client_encoding']);
  });

  it('statements outside of a transaction meet different servers, those of one transaction the same', async () => {
    const db = await boot({ poolSize: 1 });
    const pid = async (on: ShardDb) =>
      (await on.query<{ pid: number }[]>('select pg_backend_pid() as pid'))[0]?.pid;
    const outside = new Set<unknown>();
    await waitFor(async () => outside.add(await pid(db)).size > 1, { what: 'a second server connection' });
    const inside = await db.tx(async (tx) => [await pid(tx), await pid(tx), await pid(tx)]);
    expect(new Set(inside).size).toBe(1);
  });

  it('uses no named prepared statement', async () => {
    const db = await boot();
    await db.getRepository(Note).countBy({ tenantId: 'acme' });
    const prepared = Array.from({ length: 6 }, () => db.query('select name from pg_prepared_statements'));
    expect((await Promise.all(prepared)).flat()).toEqual([]);
  });

  it('without the option the error says which one to set', async () => {
    const shard = { name: 'shard0', primaryUrl: place.pooler.url(place.direct), slots: ['0-16383'] };
    const shards = (await place.boot({ pooler: 'none', shards: [shard] })).get(Shards);
    await expect(shards.dbOn('shard0')).rejects.toMatchObject({
      code: 'shard_unavailable',
      message:
        'shard "shard0" is behind a pooler that takes no parameter "statement_timeout": set pooler = "transaction" for it, and no such parameter in its URL or in typeorm.extra',
    });
  });

  it('a parameter of the URL is refused aloud, not dropped', async () => {
    const url = `${place.pooler.url(place.direct)}?options=${encodeURIComponent('-c search_path=other')}`;
    const shards = (await place.boot({ shards: [{ name: 'shard0', primaryUrl: url }] })).get(Shards);
    await expect(shards.dbOn('shard0')).rejects.toMatchObject({
      message: expect.stringContaining('takes no parameter "options"'),
    });
  });

  describe('limits', () => {
    const configured = { statementTimeoutMs: 400, idleInTransactionTimeoutMs: 500 };
    const IN_FORCE = { statement: '400ms', idle: '500ms' };

    /** What every server connection says that the pool may give out. */
    const leftBehind = async (db: ShardDb) => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => db.query<object[]>(limits)));
      return [...new Set(answers.flat().map((row) => JSON.stringify(row)))].map(
        (row) => JSON.parse(row) as object,
      );
    };

    it('are in force in transactions, of TypeORM too, and nothing of them stays', async () => {
      const db = await boot(configured);
      expect(await db.tx((tx) => tx.query(limits))).toEqual([IN_FORCE]);
      expect(await db.tx((tx) => tx.query(limits), { statementTimeoutMs: 700 })).toEqual([
        { ...IN_FORCE, statement: '700ms' },
      ]);
      expect(await db.tx((tx) => tx.query(limits), { readOnly: true, isolation: 'SERIALIZABLE' })).toEqual([
        IN_FORCE,
      ]);
      expect(await db.reader().query(limits)).toEqual([IN_FORCE]);
      expect(await db.manager.transaction((own) => own.query(limits))).toEqual([IN_FORCE]);
      const level = 'show transaction_isolation';
      expect(await db.manager.transaction('SERIALIZABLE', (own) => own.query(level))).toEqual([
        { transaction_isolation: 'serializable' },
      ]);
      expect(await leftBehind(db)).toEqual([NONE]);
    });

    it('are not touched where none are configured: what the server has by itself counts', async () => {
      const other = await PooledDeployment.start(start);
      try {
        const [row] = await other.query('select quote_ident(current_database()) as name');
        await other.query(`alter database ${row?.['name'] as string} set statement_timeout = '9s'`);
        const app = await other.boot({ statementTimeoutMs: 0, idleInTransactionTimeoutMs: 0 });
        const db = await app.get(Shards).dbOn('shard0');
        expect(await db.tx((tx) => tx.query(limits))).toEqual([{ ...NONE, statement: '9s' }]);
        expect(await db.tx((tx) => tx.query(limits), { statementTimeoutMs: 0 })).toEqual([NONE]);
      } finally {
        await other.dispose();
      }
    });

    it('end a statement that is too slow, and the next user of the server has no limit', async () => {
      const db = await boot(configured);
      const began = performance.now();
      await expect(db.tx((tx) => tx.query('select pg_sleep(20)'))).rejects.toMatchObject({
        code: 'deadline_exceeded',
      });
      expect(performance.now() - began).toBeLessThan(3000);
      expect(await leftBehind(db)).toEqual([NONE]);
      expect(db.shard.stats().active).toBe(0);
    });

    it('end a transaction that idles', async () => {
      const db = await boot(configured);
      const idle = db.tx(async (tx) => {
        await tx.query('select 1');
        await new Promise((resolve) => setTimeout(resolve, 1200));
        await tx.query('select 2');
      });
      await expect(idle).rejects.toMatchObject({ code: 'shard_unavailable' });
      expect(await db.query('select 1 as one')).toEqual([{ one: 1 }]);
    });
  });

  describe('what takes too long is cancelled on the server', () => {
    /** Rejects as told, and leaves nothing running nor in use. */
    const isCancelled = async (db: ShardDb, mark: string, work: Promise<unknown>, code: string) => {
      await expect(work).rejects.toMatchObject({ code });
      await waitFor(async () => (await place.running(mark)) === 0, {
        what: 'the end of the statement',
        timeoutMs: 2000,
      });
      await waitFor(async () => db.shard.stats().active === 0, { what: 'the connection to be back' });
      expect(await db.query('select 1 as one')).toEqual([{ one: 1 }]);
    };
    const sleep = (mark: string) => `select pg_sleep(20) /* ${mark} */`;
    const runs = (mark: string) =>
      waitFor(async () => (await place.running(mark)) === 1, { what: 'the statement to run' });

    it('by tx({ timeoutMs })', async () => {
      const db = await boot();
      const work = db.tx((tx) => tx.query(sleep('bounded tx')), { timeoutMs: 300 });
      await isCancelled(db, 'bounded tx', work, 'deadline_exceeded');
    });

    it('by an AbortSignal of tx', async () => {
      const db = await boot();
      const abort = new AbortController();
      const work = db.tx((tx) => tx.query(sleep('aborted tx')), { signal: abort.signal });
      work.catch(() => undefined);
      await runs('aborted tx');
      abort.abort();
      await isCancelled(db, 'aborted tx', work, 'aborted');
    });

    it('by the deadline of a single statement, and the connection is kept', async () => {
      const db = await boot({ poolSize: 1 });
      await isCancelled(
        db,
        'bounded query',
        db.query(sleep('bounded query'), [], { deadlineMs: 300 }),
        'deadline_exceeded',
      );
    });

    it('by the bound of the client outside of transactions, whose connection is thrown away', async () => {
      const db = await boot({ poolSize: 1 }, { typeorm: { extra: { query_timeout: 400 } } });
      await isCancelled(db, 'unanswered', db.query(sleep('unanswered')), 'deadline_exceeded');
    });

    it('by the shutdown', async () => {
      const app = await place.boot({ drainTimeoutMs: 100 });
      const db = await app.get(Shards).dbOn('shard0');
      const ends = Promise.allSettled([
        db.query(sleep('shutdown')),
        db.tx((tx) => tx.query(sleep('shutdown'))),
      ]);
      await waitFor(async () => (await place.running('shutdown')) === 2, { what: 'the statements to run' });
      await place.closeApps();
      expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
      await waitFor(async () => (await place.running('shutdown')) === 0, {
        what: 'their end',
        timeoutMs: 2000,
      });
    });
  });
});

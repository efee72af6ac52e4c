import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { ReadRepository, Reader } from '@app/sharding';
import { freePort, waitFor } from '@test/support';
import { Note } from '../../support/deployment.js';
import { REPLICATED, ReadingApp, ReplicatedDeployment, servedBy } from '../../support/replicated.js';
import type { ShardDb } from '@app/sharding';

/** What a reader refuses, and what it sees inside of a transaction. Pools of one connection: none may come back spoilt. */
let servers: ReplicatedDeployment;
let reading: ReadingApp;
let db: ShardDb;
let reader: Reader;

beforeAll(async () => {
  servers = await ReplicatedDeployment.start();
  await servers.primary.query(`create sequence numbers`, [], 'shard0');
  await servers.untilCaughtUp();
});

afterAll(() => servers.dispose());

async function boot(place: 'replica' | 'primary'): Promise<void> {
  const port = await freePort();
  const nowhere = { url: (name?: string) => `postgres://postgres:secret@127.0.0.1:${port}/${name}` };
  const options = servers.options(
    { poolSize: 1, connectTimeoutMs: 2000, replicaFallback: 'primary' },
    place === 'replica' ? {} : { replica: nowhere },
  );
  reading = await ReadingApp.boot(options);
  reader = await reading.shards.readFor(REPLICATED);
  db = await reading.shards.dbFor(REPLICATED);
  expect(await servedBy(reader)).toBe(place);
}

const notes = async () => (await servers.primary.query('select body from notes', [], 'shard0')).length;
const INSERT = `insert into notes (tenant_id, body) values ('acme', 'never')`;

it('has no method that writes, neither at run time nor in its types', () => {
  const methods = (type: { prototype: object }) => Object.getOwnPropertyNames(type.prototype).sort();
  expect(methods(Reader)).toEqual(['assertAvailable', 'constructor', 'getRepository', 'query', 'tx']);
  expect(methods(ReadRepository).filter((name) => !/^(find|count|exists)/.test(name))).toEqual([
    'average',
    'constructor',
    'maximum',
    'minimum',
    'sum',
  ]);
  const writing = ['save', 'insert', 'update', 'delete', 'manager', 'createQueryBuilder', 'query'] as const;
  type Absent<T> = Extract<keyof T, (typeof writing)[number]> extends never ? true : false;
  const types: [Absent<ReadRepository<Note>>, Absent<Omit<Reader, 'query'>>] = [true, true];
  expect(types).toEqual([true, true]);
});

describe.each(['replica', 'primary'] as const)('raw SQL of a reader, on the %s', (place) => {
  beforeAll(() => boot(place));
  afterAll(() => reading.close());

  const refused = { driverError: expect.objectContaining({ code: '25006' }) };
  const severalStatements = { driverError: expect.objectContaining({ code: '42601' }) };
  const control = { code: 'invalid_options' };

  it.each([
    ['insert', INSERT, refused],
    ['insert with returning', `${INSERT} returning id`, refused],
    ['update', `update notes set body = 'never'`, refused],
    ['delete', 'delete from notes', refused],
    ['a writing CTE', `with x as (${INSERT} returning id) select * from x`, refused],
    ['a function that writes', `select add_note('acme', 'never')`, refused],
    ['for update', 'select * from notes for update', refused],
    ['a sequence', `select nextval('numbers')`, refused],
    ['create', 'create table never ()', refused],
    ['select into', 'select 1 as one into never', refused],
    ['copy', 'copy notes from stdin', refused],
    ['two statements', `select 1; ${INSERT}`, severalStatements],
    ['read write, and then', `set transaction read write; ${INSERT}`, severalStatements],
    ['commit, and then', `commit; ${INSERT}`, control],
    ['commit', 'commit', control],
    ['rollback', '  ROLLBACK', control],
    ['commit behind a comment', `-- x\ncommit`, control],
    ['commit behind comments', `/* /* */ */ ; commit`, control],
    ['begin', 'begin', control],
    ['end', ';;END', control],
    ['release', 'release savepoint typeorm_1', control],
    ['prepare transaction', `prepare transaction 'x'`, control],
  ])('%s is refused, leaves nothing, and the connection is clean', async (_what, sql, error) => {
    await expect(reader.query(sql)).rejects.toMatchObject(error);
    await expect(reader.tx((inner) => inner.query(sql))).rejects.toMatchObject(error);
    expect(await notes()).toBe(0);
    expect(await reader.query('select count(*)::int as notes from notes')).toEqual([{ notes: 0 }]);
    await db.tx((tx) => tx.query(`${INSERT.replace('never', 'once')}`));
    await db.query('delete from notes');
    await clean();
  });

  it('set transaction read write, and the session default, allow nothing', async () => {
    const first = reader.tx(async (inner) => {
      await inner.query('set transaction read write');
      await inner.query(INSERT);
    });
    await expect(first).rejects.toMatchObject({
      driverError: expect.objectContaining({ code: expect.stringMatching(/^(25001|0A000)$/) }),
    });
    for (const set of [
      'set default_transaction_read_only = off',
      'set session characteristics as transaction read write',
      `select set_config('default_transaction_read_only', 'off', false)`,
    ]) {
      await reader.query(set);
      await expect(reader.query(INSERT)).rejects.toMatchObject(refused);
      await reader.tx((inner) => inner.query(set));
      await expect(reader.tx((inner) => inner.query(INSERT))).rejects.toMatchObject(refused);
    }
    expect(await reader.query('show default_transaction_read_only')).toEqual([
      { default_transaction_read_only: place === 'replica' ? 'on' : 'off' },
    ]);
    expect(await notes()).toBe(0);
    await clean();
  });

  it('leaves nothing in the session: settings, locks, prepared names', async () => {
    await reader.query(`select set_config('app.tenant', 'acme', false)`);
    expect(await reader.query(`select current_setting('app.tenant', true) as tenant`)).not.toEqual([
      { tenant: 'acme' },
    ]);
    await reader.query('select pg_advisory_lock(7)');
    expect(
      await reader.query(`select count(*)::int as locks from pg_locks where locktype = 'advisory'`),
    ).toEqual([{ locks: 0 }]);
  });

  it('has parameters, a deadline and one snapshot where it is asked for', async () => {
    expect(await reader.query('select $1::int + 1 as two', [1])).toEqual([{ two: 2 }]);
    await expect(reader.query('select pg_sleep(5)', [], { deadlineMs: 200 })).rejects.toMatchObject({
      code: 'deadline_exceeded',
    });
    const counts = await reader.tx(
      async (inner) => {
        const before = await inner.getRepository(Note).count();
        await servers.primary.query(`${INSERT.replace('never', 'meanwhile')}`, [], 'shard0');
        await servers.untilCaughtUp();
        return [before, await inner.getRepository(Note).count(), await inner.query('select * from notes')];
      },
      { isolation: 'REPEATABLE READ' },
    );
    expect(counts).toEqual([0, 0, []]);
    expect(await reader.getRepository(Note).count()).toBe(1);
    await servers.primary.query('delete from notes', [], 'shard0');
    await servers.untilCaughtUp();
    await clean();
  });

  async function clean(): Promise<void> {
    const sql = `select application_name from pg_stat_activity where datname = 'shard0' and state <> 'idle'
      and backend_type = 'client backend' and application_name like 'nestjs-sharding shard%'`;
    const idle = async () =>
      (await servers.primary.query(sql)).length === 0 && (await servers.replica.query(sql)).length === 0;
    await waitFor(idle, { what: 'no open transaction' });
  }
});

describe('inside a tx', () => {
  beforeAll(() => boot('replica'));
  afterAll(() => reading.close());
  afterEach(() => servers.primary.query('delete from notes', [], 'shard0'));

  const add = (tx: ShardDb) => tx.getRepository(Note).insert({ tenantId: 'acme', body: 'uncommitted' });

  it('a reader of the same shard sees what is not committed, however it came about', async () => {
    await db.tx(async (tx) => {
      await add(tx);
      for (const one of [tx.reader(), db.reader(), await reading.shards.readFor(REPLICATED), reader]) {
        expect(await one.query('select body from notes')).toEqual([{ body: 'uncommitted' }]);
        expect(await one.getRepository(Note).countBy({ tenantId: 'acme' })).toBe(1);
        expect(await one.tx(async (inner) => inner.getRepository(Note).count())).toBe(1);
        expect(await servedBy(one)).toBe('primary');
      }
    });
    expect(await notes()).toBe(1);
  });

  it('raw SQL of a reader is a READ ONLY savepoint: refused, it spoils nothing', async () => {
    await db.tx(async (tx) => {
      await add(tx);
      await expect(tx.reader().query(INSERT)).rejects.toMatchObject({ driverError: { code: '25006' } });
      await expect(tx.reader().query('rollback')).rejects.toMatchObject({ code: 'invalid_options' });
      const attempt = tx.reader().tx(async (inner) => {
        expect(await inner.query('select body from notes')).toHaveLength(1);
        await inner.query('set transaction read write');
      });
      await expect(attempt).rejects.toMatchObject({ driverError: { code: '25001' } });
      await add(tx);
      expect(await tx.reader().query('select body from notes')).toHaveLength(2);
    });
    expect(await notes()).toBe(2);
  });

  it('a reader of another shard is cross_shard_transaction', async () => {
    const other = await reading.shards.readFor('globex');
    await db.tx(async () => {
      const error = { code: 'cross_shard_transaction' };
      await expect(other.query('select 1')).rejects.toMatchObject(error);
      await expect(other.getRepository(Note).count()).rejects.toMatchObject(error);
      await expect(other.tx(async () => undefined)).rejects.toMatchObject(error);
    });
  });

  it('of a reader everything is part of it and nothing writes', async () => {
    await reader.tx(async (inner) => {
      expect(await servedBy(inner)).toBe('replica');
      expect(await inner.tx(async (deeper) => servedBy(deeper))).toBe('replica');
      await expect(inner.tx((deeper) => deeper.query(INSERT))).rejects.toMatchObject({
        driverError: { code: '25006' },
      });
      expect(await inner.getRepository(Note).count()).toBe(0);
    });
  });
});

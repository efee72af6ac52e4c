import { beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { waitFor } from '@test/support';
import { Note, type Deployment } from '../../support/deployment.js';
import { TransactionPlace } from './transaction-place.js';
import type { ShardDb, Shards } from '@app/sharding';

const place = TransactionPlace.forFile();
const { insert, bodies, poolIsQuiet } = place;
let databases: Deployment;
let shards: Shards;
let db: ShardDb;

beforeAll(() => void ({ databases, shards, db } = place));

describe('commit and rollback', () => {
  it('commits what the work returns', async () => {
    await expect(db.tx(async (tx) => (await insert(tx, 'a')).identifiers.length)).resolves.toBe(1);
    expect(await bodies()).toEqual(['a']);
    await poolIsQuiet();
  });

  it('rolls back when the work throws and passes its error untouched', async () => {
    const own = new Error('mine');
    const work = db.tx(async (tx) => {
      await insert(tx, 'a');
      throw own;
    });
    await expect(work).rejects.toBe(own);
    expect(await bodies()).toEqual([]);
    await poolIsQuiet();
  });

  it('rolls back when the work throws synchronously', async () => {
    const work = db.tx(() => {
      throw new Error('at once');
    });
    await expect(work).rejects.toThrow('at once');
    await poolIsQuiet();
  });

  it('refuses to report success when a failed statement was swallowed', async () => {
    const work = db.tx(async (tx) => {
      await insert(tx, 'lost');
      await tx.query('select 1/0').catch(() => undefined);
    });
    await expect(work).rejects.toMatchObject({ code: 'transaction_aborted' });
    expect(await bodies()).toEqual([]);
  });
});

describe('statements of one transaction', () => {
  it('run one after the other under Promise.all', async () => {
    await db.tx((tx) => Promise.all(['a', 'b', 'c'].map((body) => insert(tx, body))));
    expect(await bodies()).toEqual(['a', 'b', 'c']);
  });

  it('are refused after the rollback instead of committing by themselves', async () => {
    let straggler: Promise<unknown> = Promise.resolve();
    const work = db.tx(async (tx) => {
      straggler = pause(20).then(() => insert(tx, 'straggler'));
      straggler.catch(() => undefined);
      await Promise.all([insert(tx, 'a'), tx.query('select 1/0')]);
    });
    await expect(work).rejects.toMatchObject({ driverError: { code: '22012' } });
    await expect(straggler).rejects.toMatchObject({ code: 'transaction_closed' });
    expect(await bodies()).toEqual([]);
  });

  it('that were sent and not awaited are finished before the commit', async () => {
    await db.tx(async (tx) => {
      tx.query(`insert into notes (tenant_id, body) values ('acme', 'floating')`).catch(() => undefined);
    });
    expect(await bodies()).toEqual(['floating']);
  });

  it('join the transaction also through the outer handle', async () => {
    const work = db.tx(async () => {
      await insert(db, 'outer handle');
      throw new Error('undo');
    });
    await expect(work).rejects.toThrow('undo');
    expect(await bodies()).toEqual([]);
  });

  it('cannot be sent through a kept handle', async () => {
    const kept = await db.tx(async (tx) => tx);
    expect(() => kept.manager).toThrow(expect.objectContaining({ code: 'transaction_closed' }));
  });
});

describe('nested tx', () => {
  it('is a savepoint: it rolls back alone', async () => {
    await db.tx(async (tx) => {
      await insert(tx, 'outer');
      await tx
        .tx(async (inner) => {
          await insert(inner, 'inner');
          throw new Error('only the inner one');
        })
        .catch(() => undefined);
    });
    expect(await bodies()).toEqual(['outer']);
  });

  it('recovers from a failed statement', async () => {
    await db.tx(async (tx) => {
      await tx.tx((inner) => inner.query('select 1/0')).catch(() => undefined);
      await insert(tx, 'after');
    });
    expect(await bodies()).toEqual(['after']);
  });

  it('is found through the outer handle too', async () => {
    await db.tx(async () => {
      await db.tx((inner) => insert(inner, 'joined'));
    });
    expect(await bodies()).toEqual(['joined']);
  });

  it('keeps statements of its parent out: they survive its rollback', async () => {
    await db.tx(async (tx) => {
      const inner = tx.tx(async (level) => {
        await insert(level, 'inner');
        await pause(30);
        throw new Error('inner');
      });
      await Promise.all([inner.catch(() => undefined), insert(tx, 'sibling')]);
    });
    expect(await bodies()).toEqual(['sibling']);
  });

  it('runs concurrent savepoints one after the other', async () => {
    await db.tx((tx) => Promise.all(['a', 'b'].map((body) => tx.tx((level) => insert(level, body)))));
    expect(await bodies()).toEqual(['a', 'b']);
  });

  it('refuses what belongs to the outermost transaction', async () => {
    const work = db.tx((tx) => tx.tx(async () => undefined, { readOnly: true }));
    await expect(work).rejects.toMatchObject({ code: 'invalid_options' });
  });
});

describe('a nested tx whose work never ends', () => {
  const hanging = (tx: ShardDb) =>
    tx.tx(async (inner) => {
      await insert(inner, 'inner');
      await new Promise<never>(() => undefined);
    });

  it('ends with the time of the outer one', async () => {
    const work = db.tx((tx) => hanging(tx), { timeoutMs: 100 });
    await expect(work).rejects.toMatchObject({ code: 'deadline_exceeded' });
    await poolIsQuiet();
    expect(await bodies()).toEqual([]);
  });

  it('ends with the failure of the outer one, also two levels deep', async () => {
    let ended: Promise<unknown> = Promise.resolve();
    const work = db.tx(async (tx) => {
      ended = tx.tx((inner) => hanging(inner));
      ended.catch(() => undefined);
      await pause(30);
      throw new Error('outer');
    });
    await expect(work).rejects.toThrow('outer');
    await expect(ended).rejects.toMatchObject({ code: 'transaction_closed' });
    await poolIsQuiet();
    expect(await bodies()).toEqual([]);
  });
});

it('a nested tx that nobody awaited is finished before the commit', async () => {
  await db.tx(async (tx) => {
    const floating = tx.tx(async (inner) => {
      await pause(30);
      await insert(inner, 'floating');
    });
    floating.catch(() => undefined);
  });
  expect(await bodies()).toEqual(['floating']);
});

describe('work that outlives the transaction it was started in', () => {
  it('is refused, but runFor starts a unit of its own', async () => {
    let late: Promise<unknown> = Promise.resolve();
    let unit: Promise<unknown> = Promise.resolve();
    await db.tx(async () => {
      late = pause(30).then(() => insert(db, 'late'));
      late.catch(() => undefined);
      unit = pause(30).then(() => shards.runFor('acme', (own) => own.tx((tx) => insert(tx, 'unit'))));
    });
    await expect(late).rejects.toMatchObject({ code: 'transaction_closed' });
    await unit;
    expect(await bodies()).toEqual(['unit']);
  });
});

describe('another shard inside a tx', () => {
  it.each(['tx', 'query', 'getRepository'] as const)('is refused for %s', async (verb) => {
    const other = await shards.dbOn('shard1');
    const use = {
      tx: () => other.tx(async () => undefined),
      query: () => other.query('select 1'),
      getRepository: () => other.getRepository(Note).count(),
    };
    const work = db.tx(async () => use[verb]());
    await expect(work).rejects.toMatchObject({ code: 'cross_shard_transaction' });
    await poolIsQuiet();
  });
});

describe('options', () => {
  it('readOnly refuses writes', async () => {
    const work = db.tx((tx) => insert(tx, 'a'), { readOnly: true });
    await expect(work).rejects.toMatchObject({ driverError: { code: '25006' } });
  });

  it('isolation is the one asked for', async () => {
    const level = await db.tx((tx) => tx.query('show transaction_isolation'), { isolation: 'SERIALIZABLE' });
    expect(level).toEqual([{ transaction_isolation: 'serializable' }]);
  });

  it('timeoutMs cancels the statement on the server and rolls back', async () => {
    const work = db.tx(
      async (tx) => {
        await insert(tx, 'a');
        await tx.query('select pg_sleep(30) /* tx timeout */');
      },
      { timeoutMs: 100 },
    );
    await expect(work).rejects.toMatchObject({ code: 'deadline_exceeded' });
    await noStatement('tx timeout');
    await poolIsQuiet();
    expect(await bodies()).toEqual([]);
  });

  it('timeoutMs ends a transaction whose work hangs elsewhere', async () => {
    const work = db.tx(() => new Promise<never>(() => undefined), { timeoutMs: 50 });
    await expect(work).rejects.toMatchObject({ code: 'deadline_exceeded' });
    await poolIsQuiet();
  });

  it('timeoutMs counts the wait for a connection', async () => {
    const busy = [1, 2].map(() => db.query('select pg_sleep(0.6)'));
    await waitFor(async () => db.shard.stats().active === 2, { what: 'the pool to be used up' });
    await expect(db.tx(async () => 1, { timeoutMs: 50 })).rejects.toMatchObject({
      code: 'deadline_exceeded',
    });
    await Promise.all(busy);
    await poolIsQuiet();
  });

  it('an aborted signal is refused at once', async () => {
    const work = db.tx(async () => 1, { signal: AbortSignal.abort() });
    await expect(work).rejects.toMatchObject({ code: 'aborted' });
  });

  it.each([0, -1, 1.5, Infinity])('timeoutMs %p is refused', async (timeoutMs) => {
    await expect(db.tx(async () => 1, { timeoutMs })).rejects.toMatchObject({ code: 'invalid_options' });
  });

  it('signal aborts it', async () => {
    const signal = AbortSignal.timeout(50);
    const work = db.tx((tx) => tx.query('select pg_sleep(30) /* tx abort */'), { signal });
    await expect(work).rejects.toMatchObject({ code: 'aborted' });
    await noStatement('tx abort');
    await poolIsQuiet();
  });
});

async function noStatement(mark: string): Promise<void> {
  const running = async () =>
    databases.query(
      'control',
      `select pid from pg_stat_activity where state = 'active' and query like '%/* ${mark} */%' and pid <> pg_backend_pid()`,
    );
  await waitFor(async () => (await running()).length === 0, {
    what: `the statement "${mark}" to be cancelled`,
  });
}

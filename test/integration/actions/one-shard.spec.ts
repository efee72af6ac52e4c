import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Inject, Injectable } from '@nestjs/common';
import { Action, ActionExecutor, EventType, type ActionContext } from '@app/actions';
import { ShardedUuid, ShardIdentifier } from '@app/routing';
import { InjectShardedRepository, ShardedRepository, Shards } from '@app/sharding';
import { Account, Line, Purse, PurseFleet, TENANTS } from '../../support/purse-fleet.js';
import type { INestApplication } from '@nestjs/common';

@EventType('purse.opened')
class PurseOpened {
  constructor(
    readonly purseId: string,
    readonly amount: number,
  ) {}
}

function purse(values: Partial<Purse> = {}): Purse {
  return Object.assign(new Purse(), values);
}

@Action()
class OpenPurse {
  perform(amount: number, { plan }: ActionContext): Purse {
    const opened = purse({ amount, notes: { a: [1, null, 'x'] } });
    plan.insert(opened);
    plan.emit(new PurseOpened('later', amount), { headers: { origin: 'test' } });
    return opened;
  }
}

/** Whatever the test says. */
@Action()
class Free {
  perform(work: (ctx: ActionContext) => unknown, ctx: ActionContext): unknown {
    return work(ctx);
  }
}

@Injectable()
class Reads {
  constructor(@InjectShardedRepository(Purse) readonly purses: ShardedRepository<Purse>) {}
}

/** Adds to a purse, after what the test does between load and write. */
@Action({ name: 'pay', retry: { attempts: 3, delayMs: 1 } })
class Pay {
  constructor(@Inject(Reads) private readonly reads: Reads) {}

  async perform(
    {
      id,
      amount,
      meanwhile,
    }: { id: string; amount: number; meanwhile?: (attempt: number) => Promise<unknown> },
    { plan, attempt }: ActionContext,
  ): Promise<number> {
    const found = await this.reads.purses.findOneByOrFail({ id: id as Purse['id'] });
    await meanwhile?.(attempt);
    found.amount += amount;
    plan.update(found);
    return attempt;
  }
}

let fleet: PurseFleet;
let app: INestApplication;
let executor: ActionExecutor;
const [acme] = TENANTS;

beforeAll(async () => {
  fleet = await PurseFleet.create();
  app = await fleet.boot([OpenPurse, Free, Reads, Pay]);
  executor = app.get(ActionExecutor);
});
afterEach(() => fleet.clear());
afterAll(() => fleet.stop());

function opened(of: INestApplication): string[] {
  const shards = of.get(Shards).all();
  return shards.filter(({ database }) => database.opened).map(({ name }) => name);
}

const free = (work: (ctx: ActionContext) => unknown, key?: string) =>
  executor.execute(Free, work, key === undefined ? {} : { key });

describe('an action on one shard', () => {
  it('writes rows and events in one transaction on the shard of the routing key', async () => {
    const opened = await executor.execute(OpenPurse, 7, { key: acme });
    const rows = await fleet.everywhere('select id, tenant_id, amount, notes, version from purses');
    expect(rows).toEqual([
      [{ id: opened.id, tenant_id: 'acme', amount: 7, notes: { a: [1, null, 'x'] }, version: 1 }],
      [],
      [],
    ]);
    const [event] = await fleet.query(0, 'select * from _sharding_outbox');
    expect(event).toMatchObject({
      type: 'purse.opened',
      payload: { purseId: 'later', amount: 7 },
      routing_key: 'acme',
      aggregate_id: opened.id,
      headers: { origin: 'test' },
    });
    expect(opened).toMatchObject({ tenantId: 'acme', version: 1, changedAt: expect.any(Date) });
  });

  it('keeps neither where one fails', async () => {
    const failing = free(({ plan }) => {
      plan.insert(purse({ amount: 1 }));
      plan.insert(purse({ amount: -1 }));
      plan.emit(new PurseOpened('x', 1), { key: acme });
    }, acme);
    await expect(failing).rejects.toMatchObject({ code: '23514' });
    expect(await fleet.everywhere('select from purses union all select from _sharding_outbox')).toEqual([
      [],
      [],
      [],
    ]);
  });

  it('writes nothing where nothing is staged, and opens no database', async () => {
    const cold = await fleet.boot([Free]);
    await expect(cold.get(ActionExecutor).execute(Free, () => 'read')).resolves.toBe('read');
    expect(opened(cold)).toEqual([]);
  });

  it('places entities with a strategy without a routing key, and gives generated ids back', async () => {
    const account = Object.assign(new Account(), {
      id: ShardedUuid.generate(ShardIdentifier.of(1, 0)),
      amount: 3,
    });
    await free(({ plan }) => {
      plan.insert(account);
      plan.emit(new PurseOpened('a', 3));
    });
    expect(await fleet.everywhere('select id, amount from accounts')).toEqual([
      [],
      [],
      [{ id: account.id, amount: 3 }],
    ]);
    expect(await fleet.query(2, 'select routing_key, aggregate_id from _sharding_outbox')).toEqual([
      { routing_key: null, aggregate_id: account.id },
    ]);
    const line = Object.assign(new Line(), { tenantId: acme, text: 'one' });
    await free(({ plan }) => plan.insert(line));
    expect(line.id).toMatch(/^\d+$/);
  });

  it('writes many rows of one table with one statement, and gives each its own id', async () => {
    const lines = ['c', 'a', 'b'].map((text) => Object.assign(new Line(), { text }));
    await free(({ plan }) => lines.forEach((line) => plan.insert(line)), acme);
    const stored = await fleet.query(0, 'select id, text from lines');
    expect(stored.map(({ id, text }) => `${id} ${text}`).toSorted()).toEqual(
      lines.map(({ id, text }) => `${id} ${text}`).toSorted(),
    );
  });
});

describe('a stored row', () => {
  it('is updated by its version, which the entity has afterwards', async () => {
    const { id } = await executor.execute(OpenPurse, 7, { key: acme });
    await expect(executor.execute(Pay, { id, amount: 5 }, { key: acme })).resolves.toBe(1);
    expect(await fleet.query(0, 'select amount, version from purses')).toEqual([{ amount: 12, version: 2 }]);
  });

  it('that others changed meanwhile is read again', async () => {
    const { id } = await executor.execute(OpenPurse, 7, { key: acme });
    const meanwhile = async (attempt: number) => {
      if (attempt < 3) await fleet.query(0, 'update purses set amount = amount + 100, version = version + 1');
    };
    await expect(executor.execute(Pay, { id, amount: 5, meanwhile }, { key: acme })).resolves.toBe(3);
    expect(await fleet.query(0, 'select amount, version from purses')).toEqual([{ amount: 212, version: 4 }]);
  });

  it('that others change at each attempt ends in stale_row, which is said to be tried again', async () => {
    const { id } = await executor.execute(OpenPurse, 7, { key: acme });
    const meanwhile = () => fleet.query(0, 'update purses set version = version + 1');
    await expect(executor.execute(Pay, { id, amount: 5, meanwhile }, { key: acme })).rejects.toMatchObject({
      code: 'stale_row',
      retryable: true,
      status: 409,
    });
    expect(await fleet.query(0, 'select amount, version from purses')).toEqual([{ amount: 7, version: 4 }]);
  });

  it('is deleted as it was loaded, and not otherwise', async () => {
    const opened = await executor.execute(OpenPurse, 7, { key: acme });
    const stale = purse({ ...opened, version: 9 });
    await expect(free(({ plan }) => plan.delete(stale))).rejects.toMatchObject({ code: 'stale_row' });
    await free(({ plan }) => plan.delete(opened));
    expect(await fleet.query(0, 'select from purses')).toEqual([]);
  });

  it('without a version is not updated', async () => {
    const line = Object.assign(new Line(), { id: '1', tenantId: acme, text: 'one' });
    await expect(free(({ plan }) => plan.update(line))).rejects.toMatchObject({
      code: 'invalid_options',
      message: expect.stringContaining('@VersionColumn'),
    });
  });
});

describe('a plan', () => {
  it('takes a row once, as an object and by its id', async () => {
    const opened = await executor.execute(OpenPurse, 7, { key: acme });
    const twice = [
      free(({ plan }) => [plan.update(opened), plan.delete(opened)]),
      free(({ plan }) => [plan.update(opened), plan.delete(purse({ ...opened }))]),
    ];
    for (const one of twice) {
      await expect(one).rejects.toMatchObject({
        code: 'invalid_options',
        message: expect.stringContaining('staged twice'),
      });
    }
  });

  it('is closed when perform has returned', async () => {
    const plans = (await free(({ plan }) => plan)) as ActionContext['plan'];
    expect(() => plans.insert(purse())).toThrow(expect.objectContaining({ code: 'invalid_options' }));
  });

  it('refuses rows of another tenant, and of several', async () => {
    const others = purse({ tenantId: 'globex' });
    await expect(free(({ plan }) => plan.insert(others), acme)).rejects.toMatchObject({
      code: 'cross_tenant',
    });
    const several = free(({ plan }) => {
      plan.insert(purse({ tenantId: 'a1' }));
      plan.insert(purse({ tenantId: 'a2' }));
    });
    await expect(several).rejects.toMatchObject({ code: 'cross_tenant' });
  });

  it('refuses what is no entity, has no tenant, or is an SQL expression', async () => {
    await expect(free(({ plan }) => plan.insert({}))).rejects.toMatchObject({ code: 'no_placement' });
    await expect(free(({ plan }) => plan.insert(purse()))).rejects.toMatchObject({ code: 'no_placement' });
    const sql = purse({ amount: (() => '1 + 1') as never });
    await expect(free(({ plan }) => plan.insert(sql), acme)).rejects.toMatchObject({
      code: 'invalid_options',
    });
    await expect(free(({ plan }) => plan.emit({}, { key: acme }))).rejects.toMatchObject({
      code: 'invalid_options',
    });
  });

  it('of several shards is refused before a database is opened, naming them', async () => {
    const cold = await fleet.boot([Free]);
    const both = (ctx: ActionContext) => {
      for (const [group, member] of [
        [1, 0],
        [0, 1],
      ] as const) {
        const id = ShardedUuid.generate(ShardIdentifier.of(group, member));
        ctx.plan.insert(Object.assign(new Account(), { id }));
      }
    };
    await expect(cold.get(ActionExecutor).execute(Free, both)).rejects.toMatchObject({
      code: 'cross_shard_transaction',
      message: expect.stringContaining('"shard1", "shard2"'),
    });
    expect(opened(cold)).toEqual([]);
  });
});

it('inside a transaction of its shard it is part of that', async () => {
  const db = await app.get(Shards).dbFor(acme);
  const failing = db.tx(async () => {
    await free(({ plan }) => plan.insert(purse({ tenantId: acme })));
    throw new Error('not committed');
  });
  await expect(failing).rejects.toThrow('not committed');
  expect(await fleet.query(0, 'select from purses')).toEqual([]);
});

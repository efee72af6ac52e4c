import { describe, expect, it } from '@jest/globals';
import { Action, EventType, planOf, type ActionContext } from '@app/actions';
import { ShardedUuid, ShardIdentifier } from '@app/routing';
import { tenantOf } from '@app/sharding';
import { Account, Purse } from '../../support/purse-fleet.js';

@EventType('money.moved')
class MoneyMoved {
  constructor(readonly amount: number) {}
}

/** What it reads is given to it. */
@Action()
class Pay {
  constructor(private readonly accounts: readonly Account[]) {}

  async perform(amount: number, { plan }: ActionContext): Promise<number> {
    for (const account of this.accounts) {
      account.amount += amount;
      plan.update(account);
      plan.emit(new MoneyMoved(amount), { of: account });
    }
    return this.accounts.length;
  }
}

@Action()
class OpenPurse {
  async perform(_none: unknown, { plan }: ActionContext): Promise<string> {
    plan.insert(Object.assign(new Purse(), { amount: 1 }));
    return tenantOf();
  }
}

const shards = [{ name: 'a' }, { name: 'b' }];
const entities = [Purse, Account];
const account = (member: number) =>
  Object.assign(new Account(), {
    id: ShardedUuid.generate(ShardIdentifier.of(0, member)),
    amount: 1,
    version: 1,
  });

describe('a plan without a database', () => {
  it('is grouped by shard for real', async () => {
    const planned = await planOf(new Pay([account(1), account(1)]), 5, { shards, entities });
    planned.expectSingleShard().expectSingleShard('b').expectShards('b').expectEvents(MoneyMoved, MoneyMoved);
    expect([planned.result, planned.events[0]]).toEqual([2, { amount: 5 }]);
    expect(planned.changes.map(({ kind }) => kind)).toEqual(['update', 'update']);
  });

  it('that needs several shards is no single one', async () => {
    const planned = await planOf(new Pay([account(1), account(0)]), 5, { shards, entities });
    planned.expectShards('a', 'b');
    expect(() => planned.expectSingleShard()).toThrow('other shards than one');
    expect(() => planned.expectEvents(MoneyMoved)).toThrow('other events');
  });

  it('runs by a routing key', async () => {
    const planned = await planOf(new OpenPurse(), {}, { shards, entities, key: 'globex' });
    planned.expectSingleShard('b').expectEvents();
    expect(planned.result).toBe('globex');
    await expect(planOf(new OpenPurse(), {}, { shards, entities })).rejects.toMatchObject({
      code: 'no_routing_key',
    });
  });
});

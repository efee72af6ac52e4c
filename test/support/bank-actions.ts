import { Inject, Injectable } from '@nestjs/common';
import { Action, EventType, type ActionContext } from '@app/actions';
import { ShardedUuid, ShardIdentifier } from '@app/routing';
import { InjectShardedRepository, PlacedRepository } from '@app/sharding';
import { Account, type PurseFleet } from './purse-fleet.js';

@EventType('money.moved')
export class MoneyMoved {
  constructor(readonly amount: number) {}
}

@Injectable()
export class Accounts {
  constructor(@InjectShardedRepository(Account) readonly rows: PlacedRepository<Account>) {}
}

export interface Transfer {
  readonly from: string;
  readonly to: readonly string[];
  readonly amount: number;
}

/** Takes the amount for each of `to`, and gives it to them. */
@Action({ allowCrossShard: true, retry: { attempts: 10, delayMs: 1 } })
export class MoveMoney {
  /** How often it has run. */
  static runs = 0;

  constructor(@Inject(Accounts) private readonly accounts: Accounts) {}

  async perform({ from, to, amount }: Transfer, { plan, actionId }: ActionContext): Promise<string> {
    MoveMoney.runs++;
    const [source, ...targets] = await Promise.all([from, ...to].map((id) => this.#find(id)));
    for (const target of targets) {
      source!.amount -= amount;
      target.amount += amount;
      plan.update(target);
    }
    plan.update(source!);
    for (const entity of [source!, ...targets]) plan.emit(new MoneyMoved(amount), { of: entity });
    return actionId;
  }

  #find(id: string): Promise<Account> {
    return this.accounts.rows.findByIdOrFail(id as Account['id']);
  }
}

export const BANK = [Accounts, MoveMoney];

/** Identifiers by number of the shard. */
const PLACES = [ShardIdentifier.of(0, 0), ShardIdentifier.of(0, 1), ShardIdentifier.of(1, 0)];

/** An account with an amount on a shard, by SQL. */
export async function openAccount(fleet: PurseFleet, shard: number, amount: number): Promise<string> {
  const id = ShardedUuid.generate(PLACES[shard]!);
  await fleet.query(shard, 'insert into accounts (id, amount, version) values ($1, $2, 1)', [id, amount]);
  return id;
}

/** Many at once. */
export async function openAccounts(fleet: PurseFleet, shard: number, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => ShardedUuid.generate(PLACES[shard]!));
  await fleet.query(shard, 'insert into accounts (id, amount, version) select unnest($1::uuid[]), 100, 1', [
    ids,
  ]);
  return ids;
}

/** Amounts of all accounts, by shard. */
export async function amounts(fleet: PurseFleet): Promise<number[][]> {
  const rows = await fleet.everywhere('select amount from accounts order by id');
  return rows.map((some) => some.map(({ amount }) => Number(amount)));
}

/** States of the parts, by shard. */
export async function partStates(fleet: PurseFleet): Promise<unknown[][]> {
  const rows = await fleet.everywhere('select state from _sharding_action_parts order by part');
  return rows.map((some) => some.map(({ state }) => state));
}

export async function journal(fleet: PurseFleet): Promise<Record<string, unknown>[]> {
  return fleet.query('control', 'select * from _sharding_action_journal order by started_at');
}

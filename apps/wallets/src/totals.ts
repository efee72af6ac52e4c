import { Inject, Injectable } from '@nestjs/common';
import { Shards } from '@app/sharding';

/** All money, in cents. */
export interface Total {
  readonly wallets: number;
  readonly balance: number;
  /** Transfers between shards that have not ended. */
  readonly underway: number;
  readonly stuck: number;
}

interface Row {
  readonly wallets: string;
  readonly balance: string;
  readonly underway: string;
  readonly stuck: string;
}

/** Adds up all shards. Exact while nothing is under way: shards are not read at one instant. */
@Injectable()
export class Totals {
  constructor(@Inject(Shards) private readonly shards: Shards) {}

  /** @throws what the first shard says that cannot be read: a part of the money is no total */
  async read(): Promise<Total> {
    const outcomes = await this.shards.each((db) => db.query<Row[]>(TOTAL));
    let total: Total = { wallets: 0, balance: 0, underway: 0, stuck: 0 };
    for (const outcome of outcomes) {
      if (!outcome.ok) throw outcome.error;
      total = added(total, outcome.value[0]);
    }
    return total;
  }
}

const TOTAL = `select count(*) as wallets, coalesce(sum(balance), 0) as balance,
  (select count(*) from _sharding_saga where state in ('running', 'compensating')) as underway,
  (select count(*) from _sharding_saga where state = 'stuck') as stuck
from wallets`;

function added(total: Total, row: Row | undefined): Total {
  return {
    wallets: total.wallets + Number(row?.wallets),
    balance: total.balance + Number(row?.balance),
    underway: total.underway + Number(row?.underway),
    stuck: total.stuck + Number(row?.stuck),
  };
}

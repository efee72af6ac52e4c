import { randomUUID } from 'node:crypto';
import type { ShardDb } from '@app/sharding';

const LIMITS = { deadlineMs: 5000 };

/** One unbroken time of one holder. */
export interface LeaseTerm {
  readonly holder: string;
  /** One more each time that the lease goes to somebody. */
  readonly epoch: string;
}

/** The server's clock decides. A lease that ran out and that nobody has taken goes on. */
const TAKE = `with taken as (
    update _sharding_relay set holder = $1, expires_at = clock_timestamp() + $2 * interval '1 millisecond',
      epoch = case when holder = $1 then epoch else epoch + 1 end
    where name = 'outbox' and (holder = $1 or expires_at < clock_timestamp()) returning epoch),
  made as (insert into _sharding_relay (name, holder, epoch, expires_at)
    select 'outbox', $1, 1, clock_timestamp() + $2 * interval '1 millisecond'
    where not exists (select from _sharding_relay where name = 'outbox')
    on conflict (name) do nothing returning epoch)
  select epoch from taken union all select epoch from made`;

const RELEASE = `update _sharding_relay set holder = null, expires_at = '-infinity'
  where name = 'outbox' and holder = $1 and epoch = $2`;

/** The right to deliver the events of one shard, renewed while it is used. */
export class RelayLease {
  readonly #holder = randomUUID();
  #term: LeaseTerm | undefined;
  /** On the clock of `performance.now()`, counted from before the statement was sent. */
  #endsAt = -Infinity;
  #dueAt = -Infinity;

  /** @param leaseMs after which another process may take over from one that died */
  constructor(private readonly leaseMs: number) {}

  /** How long until the lease is asked for again. */
  get dueInMs(): number {
    return Math.max(0, this.#dueAt - performance.now());
  }

  /** Undefined once the lease may be somebody else's. */
  get term(): LeaseTerm | undefined {
    return performance.now() < this.#endsAt ? this.#term : undefined;
  }

  /** Takes the lease, or renews it where that is due. @returns undefined while another process has it */
  async hold(db: ShardDb): Promise<LeaseTerm | undefined> {
    const askedAt = performance.now();
    if (askedAt < this.#dueAt) return this.#term;
    const [row] = await db.query<{ epoch: string }[]>(TAKE, [this.#holder, this.leaseMs], LIMITS);
    this.#dueAt = askedAt + this.leaseMs / 3;
    if (!row) return this.lost();
    this.#term = { holder: this.#holder, epoch: row.epoch };
    this.#endsAt = askedAt + this.leaseMs;
    return this.#term;
  }

  /** A statement has found that another process has it. */
  lost(): undefined {
    this.#term = undefined;
    this.#endsAt = -Infinity;
  }

  /** Lets another process take over at once. */
  async release(db: ShardDb): Promise<void> {
    const term = this.#term;
    this.lost();
    if (term) await db.query(RELEASE, [term.holder, term.epoch], LIMITS);
  }
}

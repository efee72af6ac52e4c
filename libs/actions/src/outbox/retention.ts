import { STATEMENT_LIMIT_MS } from './outbox-statements.js';
import type { ShardDb } from '@app/sharding';
import type { OutboxSettings } from './outbox-settings.js';

const EACH_MS = 60_000;
const BATCH = 1000;
/** As the index on it has it. */
const ENDED_SAGA = `state in ('completed', 'compensated')`;

interface Old {
  readonly table: string;
  /** When it came to be what is kept so long. */
  readonly since: string;
  readonly days: number;
  /** Which rows; all where absent. */
  readonly where?: string;
}

/** Takes away what has been kept long enough, a bounded piece at a time. */
export class Retention {
  readonly #rules: readonly Old[];
  /** On the clock of `performance.now()`. */
  #dueAt = -Infinity;

  constructor({ deliveredDays, deadDays, inboxDays, sagaDays }: OutboxSettings) {
    this.#rules = [
      { table: '_sharding_outbox', since: 'delivered_at', days: deliveredDays },
      { table: '_sharding_outbox', since: 'dead_at', days: deadDays },
      { table: '_sharding_inbox', since: 'handled_at', days: inboxDays },
      { table: '_sharding_saga', since: 'changed_at', days: sagaDays, where: ENDED_SAGA },
    ];
  }

  /** Where it is due: one piece of each table; again at once while there is more. */
  async step(db: ShardDb): Promise<void> {
    if (performance.now() < this.#dueAt) return;
    let most = 0;
    for (const rule of this.#rules) most = Math.max(most, await removeOld(db, rule));
    if (most < BATCH) this.#dueAt = performance.now() + EACH_MS;
  }
}

/** Not while rows of the shard move, whose copy is compared. @returns how many rows */
async function removeOld(db: ShardDb, { table, since, days, where = 'true' }: Old): Promise<number> {
  const [row] = await db.query<{ gone: number }[]>(
    `with old as (select ctid from ${table} where ${where} and not _sharding_rows_move() and ${since} < now() - $1 * interval '1 day' limit $2 for update skip locked),
      gone as (delete from ${table} where ctid in (select ctid from old) returning 1)
    select count(*)::int as gone from gone`,
    [days, BATCH],
    { deadlineMs: STATEMENT_LIMIT_MS },
  );
  return row?.gone ?? 0;
}

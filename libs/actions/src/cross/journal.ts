import { within } from '@app/sharding';
import type { DataSource } from 'typeorm';

export const JOURNAL_STATES = ['pending', 'partial', 'applied', 'cancelled', 'compensated'] as const;
export type JournalState = (typeof JOURNAL_STATES)[number];

/** A row of `_sharding_action_journal`. */
export interface JournalEntry {
  readonly actionId: string;
  readonly action: string;
  /** `pending`: under way, or its process has died; `partial`: some shards have it and others not. */
  readonly state: JournalState;
  /** By part. */
  readonly shards: readonly string[];
  /** The code of what has stopped it, without content. */
  readonly failure: string | undefined;
  readonly startedAt: Date;
  readonly changedAt: Date;
}

interface JournalRow {
  readonly action_id: string;
  readonly action: string;
  readonly state: JournalState;
  readonly parts: readonly string[];
  readonly failure: string | null;
  readonly started_at: Date;
  readonly changed_at: Date;
}

const COLUMNS = 'action_id, action, state, parts, failure, started_at, changed_at';
const LIMIT_MS = 15_000;

/** The journal of actions over several shards, on the control database. What became of a part is told by its shard. */
export class Journal {
  constructor(private readonly control: DataSource) {}

  async open(entry: Pick<JournalEntry, 'actionId' | 'action' | 'shards'>): Promise<void> {
    await this.#run(
      `insert into _sharding_action_journal (action_id, action, state, parts) values ($1, $2, 'pending', $3)`,
      [entry.actionId, entry.action, JSON.stringify(entry.shards)],
    );
  }

  async find(actionId: string): Promise<JournalEntry | undefined> {
    const rows = await this.#run(`select ${COLUMNS} from _sharding_action_journal where action_id = $1`, [
      actionId,
    ]);
    return rows.map(entryOf)[0];
  }

  /** An action that has ended stays as it is. */
  async mark(actionId: string, state: JournalState, failure?: string): Promise<void> {
    await this.#run(
      `update _sharding_action_journal set state = $2, failure = coalesce($3, failure),
        attempts = attempts + 1, changed_at = now()
      where action_id = $1 and state in ('pending', 'partial')`,
      [actionId, state, failure ?? null],
    );
  }

  /** Those that have not ended and were not changed for so long, the oldest first. */
  async stuck({
    quietMs,
    limit,
  }: {
    readonly quietMs: number;
    readonly limit: number;
  }): Promise<JournalEntry[]> {
    const rows = await this.#run(
      `select ${COLUMNS} from _sharding_action_journal
      where state in ('pending', 'partial') and changed_at <= now() - $1 * interval '1 millisecond'
      order by changed_at limit $2`,
      [quietMs, limit],
    );
    return rows.map(entryOf);
  }

  /** Those that have ended so many days ago. */
  async ended(days: number, limit: number): Promise<JournalEntry[]> {
    const rows = await this.#run(
      `select ${COLUMNS} from _sharding_action_journal
      where state not in ('pending', 'partial') and changed_at < now() - $1 * interval '1 day' limit $2`,
      [days, limit],
    );
    return rows.map(entryOf);
  }

  async forget(actionIds: readonly string[]): Promise<void> {
    await this.#run('delete from _sharding_action_journal where action_id = any($1::uuid[])', [actionIds]);
  }

  #run(sql: string, parameters: readonly unknown[]): Promise<JournalRow[]> {
    return within('the statement on the control database', { deadlineMs: LIMIT_MS }, () =>
      this.control.query<JournalRow[]>(sql, [...parameters]),
    );
  }
}

function entryOf(row: JournalRow): JournalEntry {
  return {
    actionId: row.action_id,
    action: row.action,
    state: row.state,
    shards: row.parts,
    failure: row.failure ?? undefined,
    startedAt: row.started_at,
    changedAt: row.changed_at,
  };
}

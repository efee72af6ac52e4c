import { ShardingError } from '@app/routing';
import { cancelAction } from '../cross/cancel-action.js';
import { completeParts } from '../cross/complete-parts.js';
import { cancelPart, partState } from '../cross/part-statements.js';
import { compensatePart } from './compensate-part.js';
import type { ActionDatabases } from '../cross/action-databases.js';
import type { ApplyLimits } from '../cross/apply-part.js';
import type { JournalEntry } from '../cross/journal.js';
import type { ActionRecord, PartRecord } from './action-record.js';

export interface StuckOptions {
  /** Not changed for so long: an action that is under way is not stuck. Default 60000. */
  readonly quietMs?: number;
  /** The oldest ones. Default 100. */
  readonly limit?: number;
}

/** What `Actions` works with. */
export interface ActionsParts {
  readonly databases: ActionDatabases;
  readonly limits: ApplyLimits;
  /** After events were committed on a shard. */
  readonly written?: (shard: string) => void;
}

const DEFAULT_STUCK = { quietMs: 60_000, limit: 100 } as const;

/**
 * Actions over several shards that have not ended. Works on what is stored, by SQL: the classes of the application are not
 * needed. Two at once, and one against the process that still executes the action, are decided by locks on the parts.
 */
export class Actions {
  readonly #parts: ActionsParts;

  /** Provided by `ActionsModule`, not constructed. */
  constructor(parts: ActionsParts) {
    this.#parts = parts;
  }

  /** Actions that are pending or partial and quiet, the oldest first. The states of parts are told by {@link show}. */
  async stuck(options: StuckOptions = {}): Promise<Omit<ActionRecord, 'parts'>[]> {
    const found = await this.#parts.databases.journal.stuck({ ...DEFAULT_STUCK, ...options });
    return found.map(headOf);
  }

  /** One action, with what its shards say. @throws ShardingError `unknown_action` */
  async show(id: string): Promise<ActionRecord> {
    return this.#record(await this.#entry(id));
  }

  /**
   * Completes an action whose first part is applied, from what is stored; cancels one of which nothing is applied yet. Does
   * nothing for one that has ended so.
   *
   * @throws PartialCommit where it fails again; ShardingError `unknown_action`, `action_refused` for one that was undone
   */
  async retry(id: string): Promise<ActionRecord> {
    const entry = await this.#entry(id);
    if (isOpen(entry)) await this.#retry(entry);
    else if (entry.state === 'compensated') throw undone(entry);
    return this.show(id);
  }

  /**
   * Undoes what an action has committed, part by part from the last one, where the rows are as the action left them, and
   * cancels the rest.
   *
   * @throws ShardingError `stale_row` naming the part; `unknown_action`; `action_refused` for one that is complete
   */
  async compensate(id: string): Promise<ActionRecord> {
    const entry = await this.#entry(id);
    if (entry.state === 'applied') throw complete(entry);
    if (isOpen(entry)) await this.#compensate(entry);
    return this.show(id);
  }

  async #retry(entry: JournalEntry): Promise<void> {
    const { databases, limits, written } = this.#parts;
    if ((await cancelAction(entry, databases)) === 'cancelled') return;
    const { parts } = await this.#record(entry);
    if (parts.some(({ state }) => state === 'cancelled' || state === 'compensated')) throw undone(entry);
    await completeParts(entry, { databases, limits, applied: (part) => written?.(entry.shards[part] ?? '') });
  }

  async #compensate(entry: JournalEntry): Promise<void> {
    const { databases, limits, written } = this.#parts;
    const { actionId, action } = entry;
    const parts = [...entry.shards.entries()].toReversed();
    const states = [];
    for (const [part, shard] of parts) {
      states.push(await cancelPart(await databases.shard(shard), { actionId, part, action }));
    }
    for (const [part, shard] of parts) {
      const db = await databases.shard(shard);
      const timeoutMs = limits.transactionTimeoutMs;
      await db.tx((tx) => compensatePart(tx, { actionId, part, action }), { timeoutMs });
      written?.(shard);
    }
    const undid = states.some((state) => state !== 'cancelled');
    await databases.journal.mark(actionId, undid ? 'compensated' : 'cancelled');
  }

  async #entry(id: string): Promise<JournalEntry> {
    const entry = UUID.test(id) ? await this.#parts.databases.journal.find(id) : undefined;
    if (entry) return entry;
    throw new ShardingError(
      'unknown_action',
      'no action over several shards has that id: "shardctl actions stuck" lists those that have not ended',
    );
  }

  async #record(entry: JournalEntry): Promise<ActionRecord> {
    const parts = await Promise.all(entry.shards.map((shard, part) => this.#part(entry, part, shard)));
    return { ...headOf(entry), parts };
  }

  async #part({ actionId }: JournalEntry, part: number, shard: string): Promise<PartRecord> {
    try {
      const db = await this.#parts.databases.shard(shard);
      return { part, shard, state: (await partState(db, { actionId, part })) ?? 'missing' };
    } catch {
      return { part, shard, state: 'unreachable' };
    }
  }
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

function isOpen({ state }: JournalEntry): boolean {
  return state === 'pending' || state === 'partial';
}

function headOf({
  actionId,
  action,
  state,
  failure,
  startedAt,
  changedAt,
}: JournalEntry): Omit<ActionRecord, 'parts'> {
  return { id: actionId, action, state, failure, startedAt, changedAt };
}

function undone({ actionId }: JournalEntry): ShardingError {
  return new ShardingError(
    'action_refused',
    `action ${actionId} was undone, or is being undone: "shardctl actions compensate ${actionId}" ends that`,
  );
}

function complete({ actionId }: JournalEntry): ShardingError {
  return new ShardingError(
    'action_refused',
    `action ${actionId} is applied on all of its shards: what reverses it is another action`,
  );
}

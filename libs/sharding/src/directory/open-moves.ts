import { failureCode } from '../shards/database-failure.js';
import { INSUFFICIENT_PRIVILEGE, isUnmigrated } from '../shards/sqlstates.js';
import type { HeldMoves, MovingTable, OpenMove } from '../shards/open-move.js';
import type { Ask } from './follower.js';

interface OpenMoveRow {
  readonly source: string;
  readonly destination: string;
  readonly group_id: number;
  readonly key_kind: OpenMove['keyKind'];
  readonly tables: MovingTable[];
  readonly keys: string[] | null;
  readonly slots: number[] | null;
  readonly kept: string[];
  readonly pinned: string[];
}

/** Beside what moves the pins in its slots: those of before the plan, whose rows are not copied, and those of now. */
const OPEN_MOVES = `select m.source, m.destination, m.group_id, m.request ->> 'keyKind' as key_kind, m.keys, m.slots,
    coalesce(m.request -> 'kept', '[]') as kept,
    (select coalesce(jsonb_agg(jsonb_build_object(
        'schema', t ->> 'schema', 'name', t ->> 'name', 'key', t #>> '{key,name}')), '[]')
      from jsonb_array_elements(m.tables) t) as tables,
    array(select d.routing_key from _sharding_directory d
      where m.request ->> 'keyKind' = 'text' and d.slot = any (m.slots) and d.shard_name is not null
      order by d.routing_key) as pinned
  from _sharding_moves m where m.id in (select move_id from _sharding_move_subjects)
  order by m.id`;

export async function readOpenMoves(ask: Ask): Promise<OpenMove[]> {
  const rows = await ask<OpenMoveRow>(OPEN_MOVES);
  return rows.map(({ group_id: group, key_kind: keyKind, keys, slots, kept, pinned, ...move }) => {
    const before = new Set(kept);
    const late = pinned.filter((key) => !before.has(key));
    return { ...move, group, keyKind, keys: keys ?? late, slots: slots ?? [], pinned: [...kept, ...late] };
  });
}

/**
 * The open moves as a directory follows them. A read of all shards keeps those it began with: until it ends, the process
 * says that it knows no more than it did then, and movers wait for that.
 */
export class FollowedMoves {
  #known: readonly OpenMove[] = [];
  #warned = false;
  /** How many reads go by a revision. */
  readonly #reads = new Map<number, number>();

  constructor(private readonly warn: (line: string) => void) {}

  /** What is {@link known} from now on. */
  set known(moves: readonly OpenMove[]) {
    this.#known = moves;
  }

  async read(ask: Ask): Promise<readonly OpenMove[]> {
    try {
      return await readOpenMoves(ask);
    } catch (error) {
      const code = failureCode(error);
      if (code !== INSUFFICIENT_PRIVILEGE && !isUnmigrated(code)) throw error;
      if (!this.#warned) this.warn(cannotRead(code));
      this.#warned = true;
      return [];
    }
  }

  hold(revision: number): HeldMoves {
    this.#reads.set(revision, (this.#reads.get(revision) ?? 0) + 1);
    let ended = false;
    const end = () => {
      if (!ended) this.#end(revision);
      ended = true;
    };
    return { moves: this.#known, end };
  }

  /** The revision that everything in this process goes by. */
  oldest(revision: number): number {
    return Math.min(revision, ...this.#reads.keys());
  }

  #end(revision: number): void {
    const left = (this.#reads.get(revision) ?? 1) - 1;
    if (left > 0) this.#reads.set(revision, left);
    else this.#reads.delete(revision);
  }
}

/** What a process does not see then. */
export function cannotRead(code: string | undefined): string {
  return `_sharding_moves cannot be read (${code ?? 'no answer'}): while rows move, reads of all shards may count them twice`;
}

import { ShardingError, routeKey } from '@app/routing';
import type { RoutingRules, ShardRouter } from '@app/routing';
import type { OpenMove } from './open-move.js';

/** Rows of one move that a shard does not give in reads of all shards, as the other one does. */
export interface NotOwned extends Pick<OpenMove, 'tables' | 'keyKind' | 'keys' | 'slots' | 'pinned'> {
  readonly shard: string;
}

/** What decides where rows count. */
export interface RoutingParts {
  readonly router: ShardRouter;
  readonly rules: RoutingRules;
}

/**
 * Decides, once for all shards, where each moving row counts: at the destination once it is routed there, else at the
 * source. Shards that have no part in a move give all that they hold.
 *
 * @throws ShardingError `directory_unavailable`
 */
export async function notOwnedRows(moves: readonly OpenMove[], parts: RoutingParts): Promise<NotOwned[]> {
  const found: NotOwned[] = [];
  for (const move of moves) {
    const { source, destination, tables, keyKind, pinned } = move;
    const keys = await split(move.keys, async (key) => (await homeOf(key, move, parts)) === destination);
    const slots = await split(move.slots, (slot) => ownerOf(slot, move, parts) === destination);
    const common = { tables, keyKind, pinned };
    found.push(
      { ...common, shard: source, keys: keys.arrived, slots: slots.arrived },
      { ...common, shard: destination, keys: keys.waiting, slots: slots.waiting },
    );
  }
  return found.filter(({ keys, slots }) => keys.length + slots.length > 0);
}

async function split<S>(
  subjects: readonly S[],
  hasArrived: (subject: S) => boolean | Promise<boolean>,
): Promise<{ arrived: S[]; waiting: S[] }> {
  const [arrived, waiting]: [S[], S[]] = [[], []];
  for (const subject of subjects) ((await hasArrived(subject)) ? arrived : waiting).push(subject);
  return { arrived, waiting };
}

/** Undefined for a key that cannot be routed, for a row of the directory that is wrong, say. */
async function homeOf(
  key: string,
  { keyKind }: OpenMove,
  { router, rules }: RoutingParts,
): Promise<string | undefined> {
  try {
    return (await routeKey(router, keyKind === 'integer' ? BigInt(key) : key, rules)).name;
  } catch (error) {
    if (error instanceof ShardingError && error.code === 'directory_unavailable') throw error;
    return undefined;
  }
}

function ownerOf(slot: number, { group }: OpenMove, { rules }: RoutingParts): string | undefined {
  const { topology } = rules;
  return topology.groups.includes(group) ? topology.shardOfSlot(slot, group).name : undefined;
}

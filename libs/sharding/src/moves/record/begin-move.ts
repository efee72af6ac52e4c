import { isDeepStrictEqual } from 'node:util';
import { ShardingError, slotOf } from '@app/routing';
import { inTransaction, type MoveSession } from '../move-session.js';
import {
  changeManner,
  insertMove,
  insertSubjects,
  keysMoving,
  movesOf,
  newestPurge,
  type NewMove,
} from './move-rows.js';
import type { KeyKind, MoveScope } from '../move-request.js';
import type { MoveRecord } from './move-record.js';

/** Until the end of the transaction: two movers never agree on the same keys at once. */
const AGREE = `select pg_advisory_xact_lock(hashtextextended('_sharding_moves', 0))`;

/**
 * Records a new move, or finds the one of the same request that has not ended.
 *
 * @throws ShardingError `move_refused` where another move has one of the keys or slots
 */
export async function beginMove(session: MoveSession, move: NewMove): Promise<string> {
  const subjects = subjectsOf(move.scope, move.terms.keyKind);
  return inTransaction(session, '', async () => {
    await session.client.query(AGREE);
    const keys = 'keys' in move.scope ? move.scope.keys : null;
    const others = await movesOf(session, move.group, { slots: subjects.slots, keys });
    const same = others.find((other) => isSameRequest(other, move));
    if (same) {
      await changeManner(session, same.id, move.terms);
      return same.id;
    }
    if (others[0]) throw taken(others[0]);
    assertFew(move, await keysMoving(session));
    await insertMove(session, move);
    await insertSubjects(session, move, subjects);
    return move.id;
  });
}

/** The move that the request goes on with; undefined: it is a new one. */
export async function openMove(session: MoveSession, asked: Asked): Promise<MoveRecord | undefined> {
  const { scope, terms, group } = asked;
  const { slots } = subjectsOf(scope, terms.keyKind);
  const moves = await movesOf(session, group, { slots, keys: 'keys' in scope ? scope.keys : null });
  return moves.find((move) => isSameRequest(move, asked));
}

/** The newest purge of these rows, if it was asked for by the same request: nothing is left to confirm. */
export async function lastPurge(session: MoveSession, asked: Asked): Promise<MoveRecord | undefined> {
  const { slots } = subjectsOf(asked.scope, asked.terms.keyKind);
  const move = await newestPurge(session, asked.group, {
    slots,
    keys: 'keys' in asked.scope ? asked.scope.keys : null,
  });
  return move && isSameRequest(move, asked) ? move : undefined;
}

type Asked = Omit<NewMove, 'id'>;

function isSameRequest(move: MoveRecord, asked: Asked): boolean {
  const places = ({ source, destination, scope }: Asked | MoveRecord) => ({ source, destination, scope });
  const names = ({ tables }: Asked | MoveRecord) =>
    tables.map((table) => [table.schema, table.name, table.renumbered ?? null]);
  const column = ({ terms }: Asked | MoveRecord) => [terms.keyColumn, terms.keyKind, terms.reason];
  return (
    isDeepStrictEqual(places(move), places(asked)) &&
    isDeepStrictEqual(names(move), names(asked)) &&
    isDeepStrictEqual(column(move), column(asked))
  );
}

/** Every process has them in memory, and in its reads of all shards. */
const MOST_KEYS = 10_000;

/** @throws ShardingError `move_refused` */
function assertFew({ scope, terms }: NewMove, moving: number): void {
  const keys = terms.kept.length + ('keys' in scope ? scope.keys.length : 0);
  if (keys + moving <= MOST_KEYS) return;
  throw new ShardingError(
    'move_refused',
    `${keys} keys beside the ${moving} of open moves are more than the ${MOST_KEYS} that may move, or be kept back by pins, at a time: move fewer, one after the other, or whole slots`,
  );
}

function taken({ id, state, source, destination, startedBy }: MoveRecord): ShardingError {
  return new ShardingError(
    'move_refused',
    `a part of these rows is in move ${id} of ${JSON.stringify(startedBy)} from ${source} to ${destination}, which is ${state}: end it first (move resume, move abort, purge)`,
  );
}

function subjectsOf(
  scope: MoveScope,
  keyKind: KeyKind,
): { slots: readonly number[]; keys: readonly (string | null)[] } {
  if ('slots' in scope) return { slots: scope.slots, keys: scope.slots.map(() => null) };
  const slot = (key: string) => slotOf(keyKind === 'integer' ? BigInt(key) : key);
  return { slots: scope.keys.map(slot), keys: scope.keys };
}

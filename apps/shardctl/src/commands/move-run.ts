import { ShardingError } from '@app/routing';
import { failureOf } from '../failure.js';
import { showMove } from '../output/move-progress.js';
import { shardctlLine } from '../output/move-shell.js';
import type { MoveOptions, MoveRecord, Moves } from '@app/sharding/operator';
import type { Report, Session } from '../verb.js';

/** One verb that works on a move. */
export interface MoveRun {
  readonly work: (moves: Moves, options: MoveOptions) => Promise<MoveRecord>;
  /** What goes on with it after an interrupt, before the id. */
  readonly again: readonly string[];
  readonly done: (move: MoveRecord) => Report;
}

/** Runs it with its progress on stderr. An interrupt is told with what goes on from there. */
export async function runMove(session: Session, { work, again, done }: MoveRun): Promise<Report> {
  const shown = showMove(process.stderr);
  const { signal } = session;
  try {
    return done(
      await withMovesOf(session, (moves) =>
        work(moves, { signal, note: shown.note, progress: shown.progress }),
      ),
    );
  } catch (error) {
    const id = shown.move();
    if (!signal.aborted || id === undefined) throw error;
    return interrupted(id, shardctlLine(session.source, [...again, id]));
  } finally {
    shown.end();
  }
}

function interrupted(id: string, command: string): Report {
  return {
    json: { id, interrupted: true, next: command },
    text: () => '',
    outcome: 'failed',
    notes: [`interrupted; no row is lost, and move ${id} can go on: ${command}`],
  };
}

/**
 * Lends the moves of the deployment to `work`.
 *
 * @throws ShardingError as `Moves` does; `migrations_pending` where a database lacks the tables of moves; `move_refused` for
 *   values that a server does not take, without them
 */
export async function withMovesOf<T>(session: Session, work: (moves: Moves) => Promise<T>): Promise<T> {
  const settings = await session.settings();
  const { controlPlace, withMoves } = await import('@app/sharding/operator');
  controlPlace(settings);
  try {
    return await withMoves(settings, work);
  } catch (error) {
    throw error instanceof ShardingError ? error : databaseError(error);
  }
}

const UNDEFINED_TABLE = '42P01';
const INSUFFICIENT_PRIVILEGE = '42501';
/** Data exceptions, integrity violations, and what triggers raise: their words may hold what is in a row. */
const OF_ROWS = /^(22|23|P0)/;

function databaseError(cause: unknown): unknown {
  const { code, message } = failureOf(cause);
  if (code === UNDEFINED_TABLE && message.includes('_sharding_')) {
    return new ShardingError(
      'migrations_pending',
      'a database lacks the tables of moves: run the migrations (shardctl migrate)',
      { cause },
    );
  }
  if (code === INSUFFICIENT_PRIVILEGE) {
    return new ShardingError(
      'move_refused',
      `this role may not move rows: ${message}; grant it what is missing`,
      {
        cause,
      },
    );
  }
  if (!OF_ROWS.test(code)) return cause;
  return new ShardingError(
    'move_refused',
    `a server did not take a row (${code}), and nothing was changed there: its log says which`,
    { cause },
  );
}

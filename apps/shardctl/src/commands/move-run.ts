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
  const shown = showMove(session.told);
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

/** Lends the moves of the deployment to `work`. @throws ShardingError as `Moves` does, and without a control database */
export async function withMovesOf<T>(session: Session, work: (moves: Moves) => Promise<T>): Promise<T> {
  const settings = await session.settings();
  const { controlPlace, withMoves } = await import('@app/sharding/operator');
  controlPlace(settings);
  return withMoves(settings, work);
}

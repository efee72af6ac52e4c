import { canConfirm, confirm } from '../confirm.js';
import { moveJson, shortId, subjectsText } from '../output/move-text.js';
import { UsageError, type Report, type Session } from '../verb.js';
import { runMove, withMovesOf } from './move-run.js';
import type { MoveRecord } from '@app/sharding/operator';

/** Takes the copy away again, once somebody has said so. */
export async function moveAbort(id: string, asks: 'asks' | 'agreed', session: Session): Promise<Report> {
  if (asks === 'asks' && !canConfirm()) {
    throw new UsageError('move abort asks before it deletes the copy, and nobody can answer here: say --yes');
  }
  const { signal } = session;
  const move = await withMovesOf(session, (moves) => moves.show(id, { signal }));
  if (move.state !== 'aborted' && asks === 'asks' && !(await confirm(questionOf(move), signal))) {
    return {
      json: moveJson(move),
      text: () => '',
      outcome: 'failed',
      notes: ['nothing was changed; to abort it say --yes'],
    };
  }
  return runMove(session, {
    work: (moves, call) => moves.abort(move.id, call),
    again: ['move', 'abort', '--yes'],
    done: abortedReport,
  });
}

function questionOf(move: MoveRecord): string {
  const { state, source, destination } = move;
  return `move ${shortId(move)} of ${subjectsText(move)} is ${state}; delete its copy at ${destination}? The rows at ${source} stay`;
}

function abortedReport(move: MoveRecord): Report {
  const { source, destination } = move;
  return {
    json: moveJson(move),
    text: () =>
      `aborted move ${shortId(move)}: no copy of ${subjectsText(move)} is at ${destination}; the rows at ${source} were not touched`,
  };
}

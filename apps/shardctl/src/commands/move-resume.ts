import { runMove } from './move-run.js';
import { verifiedReport } from './move-slot.js';
import type { Report, Session } from '../verb.js';

/** Goes on with a move as it was asked for. */
export async function moveResume(id: string, session: Session): Promise<Report> {
  const settings = await session.settings();
  return runMove(session, {
    work: (moves, call) => moves.resume(id, call),
    again: ['move', 'resume'],
    done: (move) => verifiedReport(move, settings, session),
  });
}

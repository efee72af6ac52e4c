import { moveJson, moveText } from '../output/move-text.js';
import { withMovesOf } from './move-run.js';
import type { Report, Session } from '../verb.js';

export async function moveShow(id: string, session: Session): Promise<Report> {
  const { signal } = session;
  const move = await withMovesOf(session, (moves) => moves.show(id, { signal }));
  return { json: moveJson(move), text: (style) => moveText(move, style) };
}

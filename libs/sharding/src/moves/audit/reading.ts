import { inTransaction, type MoveSession } from '../move-session.js';

/** What an audit asks, it asks in transactions that cannot write; each is short, so that it holds no vacuum up. */
export function reading<T>(session: MoveSession, work: () => Promise<T>): Promise<T> {
  return inTransaction(session, 'read only', work);
}

import { randomUUID } from 'node:crypto';
import { appendEvents } from '../outbox/append-events.js';
import { sagaEvents } from './saga-events.js';
import { resumeSaga } from './saga-progress.js';
import { lockSaga, updateSaga } from './saga-store.js';
import type { ShardDb } from '@app/sharding';

/** What became of the wish to resume a saga, by the shard that was asked. */
export type Resumed = 'resumed' | 'not_stuck' | 'unknown';

/** Asks for the compensations of a stuck saga again, in this transaction. */
export async function resumeStored(tx: ShardDb, sagaId: string): Promise<Resumed> {
  const saga = await lockSaga(tx, sagaId);
  if (!saga) return 'unknown';
  const { progress, asked } = resumeSaga(saga.progress);
  if (asked.length === 0) return 'not_stuck';
  await updateSaga(tx, sagaId, { progress });
  await appendEvents(tx, sagaEvents(saga, asked, randomUUID));
  return 'resumed';
}

import { table } from '../output/table.js';
import { askOutboxes, outboxNotes, type OutboxVerbOptions } from './outbox-shards.js';
import type { Report, Session } from '../verb.js';

/** Of one statement. */
const BATCH = 1000;

/** `outbox requeue` */
export async function outboxRequeue(
  { shard, type }: OutboxVerbOptions,
  ids: readonly string[],
  session: Session,
): Promise<Report> {
  const { requeueDead } = await import('@app/actions/operator');
  const choice = { type, eventIds: ids.length > 0 ? ids : undefined, limit: BATCH };
  const answers = await askOutboxes(shard, session, async (client) => {
    let requeued = 0;
    for (let last = BATCH; last === BATCH; requeued += last) last = await requeueDead(client, choice);
    return requeued;
  });
  const rows = answers.map((answer) =>
    answer.ok
      ? { shard: answer.shard, requeued: answer.value }
      : { shard: answer.shard, error: answer.error },
  );
  const requeued = rows.reduce((sum, row) => sum + ('requeued' in row ? row.requeued : 0), 0);
  const missing = Math.max(0, new Set(ids.map((id) => id.toLowerCase())).size - requeued);
  return {
    json: { shards: rows, requeued, missing },
    text: (style) =>
      table(
        ['shard', 'requeued'],
        rows.map((row) => [row.shard, 'requeued' in row ? row.requeued : 'FAILED']),
        style,
      ),
    notes: [
      ...outboxNotes(answers),
      ...(missing > 0 ? [`${missing} of the ids are no dead letters here: see shardctl outbox dead`] : []),
    ],
    outcome: missing === 0 && answers.every(({ ok }) => ok) ? 'ok' : 'failed',
  };
}

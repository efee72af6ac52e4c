import { table } from '../output/table.js';
import { askOutboxes, outboxNotes, type OutboxVerbOptions } from './outbox-shards.js';
import type { Report, Session } from '../verb.js';

/** `outbox status` */
export async function outboxStatus({ shard }: OutboxVerbOptions, session: Session): Promise<Report> {
  const { askStatus, COUNT_LIMIT } = await import('@app/actions/operator');
  const answers = await askOutboxes(shard, session, askStatus);
  const rows = answers.map((answer) => {
    if (!answer.ok) return { shard: answer.shard, error: answer.error };
    const { relay, depth, lagSeconds, dead } = answer.value;
    return { shard: answer.shard, relay, depth, lag_seconds: Math.round(lagSeconds * 10) / 10, dead };
  });
  const counted = (count: number | undefined) => (count === COUNT_LIMIT ? `${COUNT_LIMIT} or more` : count);
  return {
    json: { shards: rows },
    text: (style) =>
      table(
        ['shard', 'relay', 'waiting', 'oldest', 'dead letters'],
        rows.map(({ shard: name, relay, depth, lag_seconds, dead }) => [
          name,
          relay ?? 'FAILED',
          counted(depth),
          lag_seconds === undefined ? null : `${lag_seconds} s`,
          counted(dead),
        ]),
        style,
      ),
    notes: outboxNotes(answers),
    outcome: answers.every(({ ok }) => ok) ? 'ok' : 'failed',
  };
}

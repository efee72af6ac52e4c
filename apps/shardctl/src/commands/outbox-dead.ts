import { table } from '../output/table.js';
import { askOutboxes, outboxNotes, type OutboxVerbOptions } from './outbox-shards.js';
import type { DeadLetter } from '@app/actions/operator';
import type { Report, Session } from '../verb.js';

const DEFAULT_LIMIT = 100;

/** `outbox dead` */
export async function outboxDead(options: OutboxVerbOptions, session: Session): Promise<Report> {
  const { shard, type, limit = DEFAULT_LIMIT } = options;
  const { deadLetters } = await import('@app/actions/operator');
  const answers = await askOutboxes(shard, session, (client) => deadLetters(client, { type, limit }));
  const rows = answers.flatMap((answer) =>
    answer.ok ? answer.value.map((letter) => ({ shard: answer.shard, ...letterJson(letter) })) : [],
  );
  const failures = answers.flatMap((answer) =>
    answer.ok ? [] : [{ shard: answer.shard, error: answer.error }],
  );
  return {
    json: { events: rows, failures },
    text: (style) =>
      rows.length === 0
        ? 'no dead letters'
        : table(
            ['shard', 'event', 'type', 'key', 'aggregate', 'attempts', 'failure', 'dead since'],
            rows.map(({ occurred_at: _occurred, ...row }) => Object.values(row)),
            style,
          ),
    notes: [
      ...outboxNotes(answers),
      ...answers.flatMap((answer) =>
        answer.ok && answer.value.length === limit
          ? [`there may be more on ${answer.shard}: see --limit`]
          : [],
      ),
    ],
    outcome: failures.length === 0 ? 'ok' : 'failed',
  };
}

function letterJson(letter: DeadLetter) {
  return {
    event_id: letter.eventId,
    type: letter.type,
    routing_key: letter.routingKey,
    aggregate_id: letter.aggregateId,
    attempts: letter.attempts,
    failure: letter.failure,
    occurred_at: letter.occurredAt.toISOString(),
    dead_at: letter.deadAt.toISOString(),
  };
}

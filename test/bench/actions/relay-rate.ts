import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { OutboxSignal, appendEvents } from '@app/actions';
import { Shards } from '@app/sharding';
import { bootRelay, eventPlace } from './place.js';

const EVENTS = Number(process.env['BENCH_EVENTS'] ?? 30_000);
const TIMED = 2000;
const TIMED_PER_S = 400;

const FILL = `insert into _sharding_outbox (event_id, action_id, type, payload, aggregate_id, occurred_at)
  select gen_random_uuid(), gen_random_uuid(), 'bench.happened', jsonb_build_object('n', n), 'aggregate-' || n % 3000, now()
  from generate_series(1, $1) n`;

export interface RelayFigures {
  /** One of a round: a backlog of events of 3000 aggregates until the outbox is empty. */
  readonly eventsPerS: readonly number[];
  /** From after the commit to the handler, under a steady load of single events. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** One shard, one relay, a handler that does nothing. */
export async function measureRelay(rounds: number): Promise<RelayFigures> {
  const { server, urls } = await eventPlace(1);
  try {
    let handled = 0;
    const handledAt = new Map<string, number>();
    const app = await bootRelay(urls, ({ eventId }) => {
      handled++;
      handledAt.set(eventId, performance.now());
    });
    const db = await app.get(Shards).dbOn('shard0');
    const signal = app.get(OutboxSignal);
    const eventsPerS: number[] = [];
    for (let round = -1; round < rounds; round++) {
      handled = 0;
      handledAt.clear();
      await db.query(FILL, [EVENTS]);
      const began = performance.now();
      signal.written('shard0');
      const left = async () =>
        handled < EVENTS || (await db.query('select from _sharding_outbox limit 1')).length > 0;
      while (await left()) await pause(5);
      if (round >= 0) eventsPerS.push((EVENTS * 1000) / (performance.now() - began));
    }
    const committedAt = new Map<string, number>();
    for (let sent = 0; sent < TIMED; sent++) {
      const eventId = randomUUID();
      const event = {
        eventId,
        actionId: eventId,
        type: 'bench.happened',
        payload: {},
        aggregateId: eventId,
        occurredAt: new Date(),
      };
      await db.tx((tx) => appendEvents(tx, [event]));
      committedAt.set(eventId, performance.now());
      signal.written('shard0');
      await pause(1000 / TIMED_PER_S);
    }
    while ([...committedAt.keys()].some((id) => !handledAt.has(id))) await pause(5);
    const waits = [...committedAt]
      .map(([id, at]) => Math.max(0, (handledAt.get(id) ?? 0) - at))
      .toSorted((a, b) => a - b);
    await app.close();
    return { eventsPerS, p50Ms: waits[TIMED / 2] ?? 0, p99Ms: waits[Math.floor(TIMED * 0.99)] ?? 0 };
  } finally {
    await server.dispose();
  }
}

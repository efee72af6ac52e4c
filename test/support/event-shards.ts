import { randomUUID } from 'node:crypto';
import { ActionsModule, OutboxSignal, appendEvents } from '@app/actions';
import { Shards } from '@app/sharding';
import { runOnce } from './admin-query.js';
import { controlDatabase, installControl } from './control-database.js';
import { NOTES, bootApp, optionsOver, type Deployment } from './deployment.js';
import { TestCluster } from './test-cluster.js';
import { waitFor } from './wait-for.js';
import type { INestApplication, Provider } from '@nestjs/common';
import type { OutboxEvent, OutboxOptions } from '@app/actions';
import type { ShardingOptions } from '@app/sharding';

/** A deployment whose shards have the tables of the library, empty, beside `notes`; they end with the test file. */
export async function eventShards(shards = 2): Promise<Deployment> {
  const cluster = TestCluster.attach();
  const template = await cluster.template('events', async (url) => {
    await installControl(url);
    await runOnce(url, NOTES);
  });
  const control = await controlDatabase();
  const urls: string[] = [];
  for (let index = 0; index < shards; index++) {
    urls.push(await cluster.createDatabase({ template, label: `shard${index}` }));
  }
  const fresh = {
    control,
    shards: urls,
    query: (place: number | 'control', sql: string, params?: readonly unknown[]) =>
      runOnce(place === 'control' ? control : (urls[place] ?? ''), sql, params),
  };
  return { ...fresh, options: (database) => optionsOver(fresh, database) };
}

/** An event of one aggregate. */
export function eventOf(aggregateId: string, more: Partial<OutboxEvent> = {}): OutboxEvent {
  return {
    eventId: randomUUID(),
    actionId: randomUUID(),
    type: 'note.written',
    payload: { aggregateId },
    aggregateId,
    occurredAt: new Date(),
    ...more,
  };
}

/** Boots an application over them, with these event handlers; the caller closes it. */
export async function bootEvents(
  sharding: ShardingOptions,
  handlers: Provider[],
  outbox: OutboxOptions = {},
): Promise<INestApplication> {
  return bootApp(sharding, {
    imports: [ActionsModule.forRoot({ outbox: { firstRetryMs: 20, ...outbox } })],
    providers: handlers,
  });
}

/** Commits events in a transaction of their own, as an action would. */
export async function emit(
  app: INestApplication,
  shard: string,
  events: readonly OutboxEvent[],
): Promise<void> {
  const db = await app.get(Shards).dbOn(shard);
  await db.tx((tx) => appendEvents(tx, events));
  app.get(OutboxSignal).written(shard);
}

/** The events of a shard that wait or are dead letters, in their order. */
export function eventsLeft(databases: Deployment, shard = 0): Promise<Record<string, unknown>[]> {
  const sql = `select aggregate_id, attempts, failure, dead_at from _sharding_outbox where delivered_at is null order by position`;
  return databases.query(shard, sql);
}

/** Waits until every event of a shard is delivered. */
export async function untilDelivered(databases: Deployment, shard = 0, timeoutMs = 10_000): Promise<void> {
  const none = async () => (await eventsLeft(databases, shard)).length === 0;
  await waitFor(none, { what: `every event of shard${shard} to be delivered`, timeoutMs });
}

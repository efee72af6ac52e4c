import { randomUUID } from 'node:crypto';
import { runOnce } from './admin-query.js';
import { controlDatabase, installControl } from './control-database.js';
import { NOTES, optionsOver, type Deployment } from './deployment.js';
import { TestCluster } from './test-cluster.js';
import type { OutboxEvent } from '@app/actions';

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

import { Injectable } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { EventType, OnEvent } from '@app/actions';
import { FaultProxy, TestCluster, waitFor } from '@test/support';
import { bootEvents, emit, eventOf, eventShards, untilDelivered } from '../support/event-shards.js';
import type { HandledEvent } from '@app/actions';

@EventType('note.written')
class NoteWritten {}

it('a shard that is silent delays no event of another one, and its own are delivered when it is back', async () => {
  const seen: string[] = [];
  @Injectable()
  class Handlers {
    @OnEvent(NoteWritten, { name: 'record' })
    handle(_event: NoteWritten, { aggregateId }: HandledEvent) {
      seen.push(aggregateId);
    }
  }
  const databases = await eventShards(2);
  const [, direct = ''] = databases.shards;
  const proxy = await FaultProxy.start({ port: Number(new URL(direct).port) });
  const shards = [databases.shards[0]!, proxy.url(direct)].map((primaryUrl, index) => ({
    name: `shard${index}`,
    primaryUrl,
  }));
  const limits = { connectTimeoutMs: 1000, statementTimeoutMs: 1000, drainTimeoutMs: 500 };
  const app = await bootEvents(databases.options({ shards, ...limits }), [Handlers], { leaseMs: 900 });
  try {
    await emit(app, 'shard1', [eventOf('before')]);
    await untilDelivered(databases, 1);
    proxy.blackHole();
    const insert = `insert into _sharding_outbox (event_id, action_id, type, payload, aggregate_id, occurred_at)
      values (gen_random_uuid(), gen_random_uuid(), 'note.written', '{}', 'of-the-silent', now())`;
    await databases.query(1, insert);
    for (let round = 0; round < 20; round++) {
      await emit(app, 'shard0', [eventOf(`well-${round}`)]);
      await waitFor(async () => seen.includes(`well-${round}`), { what: `event ${round} of the well shard` });
    }
    expect(seen).not.toContain('of-the-silent');
    proxy.heal();
    await untilDelivered(databases, 1, 30_000);
    expect(seen).toContain('of-the-silent');
  } finally {
    proxy.heal();
    await app.close();
    await proxy.dispose();
  }
  expect(await TestCluster.attach().connections(direct)).toBe(0);
}, 60_000);

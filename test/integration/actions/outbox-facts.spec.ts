import { Injectable } from '@nestjs/common';
import { afterEach, expect, it } from '@jest/globals';
import { EventType, OnEvent } from '@app/actions';
import { waitFor } from '@test/support';
import { call } from '../../support/bookmarks.js';
import { listen } from '../../support/deployment.js';
import { bootEvents, emit, eventOf, eventShards } from '../../support/event-shards.js';
import type { INestApplication } from '@nestjs/common';

@EventType('note.written')
class NoteWritten {}

@Injectable()
class Handlers {
  @OnEvent(NoteWritten, { name: 'fails' })
  handle() {
    throw new Error('always');
  }
}

let app: INestApplication | undefined;
afterEach(() => app?.close());

it('tells in health and metrics how much waits on each shard, how old it is, and what nobody could take', async () => {
  const databases = await eventShards(2);
  app = await bootEvents(databases.options(), [Handlers], {
    statusMs: 20,
    firstRetryMs: 60_000,
    maxAttempts: 2,
  });
  const url = await listen(app);
  const occurredAt = new Date(Date.now() - 3_600_000);
  await emit(app, 'shard0', [eventOf('a', { occurredAt }), eventOf('b')]);
  await databases.query(0, `update _sharding_outbox set dead_at = now() where aggregate_id = 'b'`);
  const details = async (shard: string) => {
    const { body } = await call(`${url}/health`);
    const { details: components } = body as { details: Record<string, Record<string, unknown>> };
    const { outbox_depth, outbox_lag_seconds, outbox_dead_letters } = components[`db:shard:${shard}`] ?? {};
    return { outbox_depth, outbox_lag_seconds, outbox_dead_letters };
  };
  await waitFor(async () => (await details('shard0')).outbox_dead_letters === 1, {
    what: 'the dead letter in health',
  });
  const { outbox_lag_seconds: lag, ...rest } = await details('shard0');
  expect(rest).toEqual({ outbox_depth: 1, outbox_dead_letters: 1 });
  expect(Math.floor(Number(lag) / 600)).toBe(6);
  await waitFor(async () => (await details('shard1')).outbox_depth === 0, {
    what: 'the other shard in health',
  });
  const text = await (await fetch(`${url}/metrics`)).text();
  expect(text).toMatch(/^sharding_outbox_depth\{shard="shard0"\} 1$/m);
  expect(text).toMatch(/^sharding_outbox_depth\{shard="shard1"\} 0$/m);
  expect(text).toMatch(/^sharding_outbox_lag_seconds\{shard="shard0"\} 3\d\d\d/m);
  expect(text).toMatch(/^sharding_outbox_dead_letters\{shard="shard0"\} 1$/m);
});

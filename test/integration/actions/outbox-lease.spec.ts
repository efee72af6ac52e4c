import { Injectable } from '@nestjs/common';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { EventType, OnEvent } from '@app/actions';
import { waitFor } from '@test/support';
import {
  bootEvents,
  emit,
  eventOf,
  eventShards,
  eventsLeft,
  untilDelivered,
} from '../../support/event-shards.js';
import type { INestApplication, Type } from '@nestjs/common';
import type { HandledEvent, OutboxOptions } from '@app/actions';
import type { Deployment } from '../../support/deployment.js';

@EventType('note.written')
class NoteWritten {}

let seen: string[];
/** Tells which process has handled an event. */
function recorder(process: string, wait?: Promise<unknown>): Type {
  @Injectable()
  class Recorder {
    @OnEvent(NoteWritten, { name: 'record', concurrency: 1 })
    async record(_event: NoteWritten, { aggregateId }: HandledEvent) {
      seen.push(`${process} ${aggregateId}`);
      await wait;
    }
  }
  return Recorder;
}

let databases: Deployment;
let apps: INestApplication[];
beforeEach(async () => {
  seen = [];
  apps = [];
  databases = await eventShards(1);
});
afterEach(async () => {
  for (const app of apps) await app.close();
});

async function boot(recorderType: Type, outbox: OutboxOptions = {}): Promise<INestApplication> {
  const app = await bootEvents(databases.options(), [recorderType], { leaseMs: 600, ...outbox });
  apps.push(app);
  return app;
}

async function lease(): Promise<Record<string, unknown>> {
  const [row] = await databases.query(
    0,
    `select holder is not null as held, epoch, expires_at > now() as runs from _sharding_relay`,
  );
  return row ?? {};
}
const untilHeld = () =>
  waitFor(async () => (await lease())['held'] === true, { what: 'a relay to have the lease' });

it('one process at a time delivers; another one takes over at once when it ends, after what is under way', async () => {
  let finish: () => void = () => undefined;
  const first = await boot(recorder('first', new Promise<void>((resolve) => (finish = resolve))));
  await untilHeld();
  const second = await boot(recorder('second'));
  await emit(second, 'shard0', [eventOf('a'), eventOf('a')]);
  await waitFor(async () => seen.length === 1, { what: 'the first event' });
  expect(await lease()).toEqual({ held: true, epoch: '1', runs: true });
  const closing = first.close();
  finish();
  await closing;
  await untilDelivered(databases);
  expect([seen[0], seen.length]).toEqual(['first a', 2]); // nothing under way was begun again
  await emit(second, 'shard0', [eventOf('b')]);
  await untilDelivered(databases);
  expect(seen[2]).toBe('second b');
  expect(await lease()).toEqual({ held: true, epoch: '2', runs: true });
});

/** A note for each DELETE, also one that finds nothing. */
const TELL_OF_DELETES = [
  `create function tell() returns trigger language plpgsql as
    $$ begin insert into notes (tenant_id, body) values ('x', 'deleted'); return null; end $$`,
  'create trigger tell after delete on _sharding_outbox for each statement execute function tell()',
];

it('a process that lost the lease cannot write how its attempts ended', async () => {
  let finish: () => void = () => undefined;
  const first = await boot(recorder('first', new Promise<void>((resolve) => (finish = resolve))), {
    leaseMs: 9000, // not renewed meanwhile
  });
  await untilHeld();
  await emit(first, 'shard0', [eventOf('a')]);
  await waitFor(async () => seen.length === 1, { what: 'the event' });
  const stolen = `update _sharding_relay set holder = gen_random_uuid(), epoch = epoch + 1, expires_at = now() + interval '1 day'`;
  await databases.query(0, stolen);
  for (const sql of TELL_OF_DELETES) await databases.query(0, sql);
  finish();
  const tried = async () => (await databases.query(0, 'select from notes')).length > 0;
  await waitFor(tried, { what: 'the end of the attempt to be written' });
  expect(await eventsLeft(databases)).toHaveLength(1);
  await databases.query(0, `update _sharding_relay set expires_at = '-infinity'`);
  await untilDelivered(databases);
  expect(seen).toEqual(['first a', 'first a']);
  expect(await lease()).toEqual({ held: true, epoch: '3', runs: true });
});

it('a handler that does not end keeps the process no longer than it may, and its event has not failed', async () => {
  const app = await boot(recorder('first', new Promise(() => undefined)), { shutdownMs: 50 });
  await untilHeld();
  await emit(app, 'shard0', [eventOf('a'), eventOf('b')]);
  await waitFor(async () => seen.length === 1, { what: 'the event' });
  await app.close();
  apps = [];
  expect(seen).toEqual(['first a']); // b has waited for its turn
  const untouched = { attempts: 0, failure: null, dead_at: null };
  expect(await eventsLeft(databases)).toEqual([
    { aggregate_id: 'a', ...untouched },
    { aggregate_id: 'b', ...untouched },
  ]);
  expect(await lease()).toEqual({ held: false, epoch: '1', runs: false });
});

it('a process whose relay is off delivers nothing', async () => {
  const app = await boot(recorder('off'), { relay: 'off' });
  await emit(app, 'shard0', [eventOf('a')]);
  await boot(recorder('on'));
  await untilDelivered(databases);
  expect(seen).toEqual(['on a']);
});

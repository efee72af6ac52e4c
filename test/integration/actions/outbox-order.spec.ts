import { Injectable } from '@nestjs/common';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { EventType, OnEvent, OutboxSignal, appendEvents } from '@app/actions';
import { Shards } from '@app/sharding';
import { waitFor } from '@test/support';
import { bootEvents, emit, eventOf, eventShards, untilDelivered } from '../../support/event-shards.js';
import { seededRandom } from '../../support/seeded-random.js';
import type { INestApplication } from '@nestjs/common';
import type { HandledEvent } from '@app/actions';
import type { Deployment } from '../../support/deployment.js';

@EventType('note.written')
class NoteWritten {}

const SEED = Math.floor(Math.random() * 2 ** 31);

let seen: HandledEvent[];
@Injectable()
class Recorder {
  @OnEvent(NoteWritten, { name: 'record' })
  record(_event: NoteWritten, envelope: HandledEvent) {
    seen.push(envelope);
  }
}

let databases: Deployment;
let app: INestApplication;
beforeEach(async () => {
  seen = [];
  databases = await eventShards(1);
  app = await bootEvents(databases.options(), [Recorder], { deliveredDays: 1 });
});
afterEach(() => app.close());

it('delivers an event whose transaction commits after later ones were delivered', async () => {
  const db = await app.get(Shards).dbOn('shard0');
  const [early, late] = [eventOf('a'), eventOf('b')];
  let commit: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (commit = resolve));
  let appended: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => (appended = resolve));
  const slow = db.tx(async (tx) => {
    await appendEvents(tx, [early]);
    appended();
    await held;
  });
  await begun;
  await emit(app, 'shard0', [late]);
  await waitFor(async () => seen.length === 1, { what: 'the later event' });
  commit();
  await slow;
  app.get(OutboxSignal).written('shard0');
  await waitFor(async () => seen.length === 2, { what: 'the event that was committed late' });
  expect(seen.map(({ eventId }) => eventId)).toEqual([late.eventId, early.eventId]);
});

it(`delivers what 32 writers commit, slowly and out of order, once each and in the order of each aggregate (seed ${SEED})`, async () => {
  const random = seededRandom(SEED);
  const db = await app.get(Shards).dbOn('shard0');
  const writer = async () => {
    for (let turn = 0; turn < 10; turn++) {
      const aggregate = `aggregate-${Math.floor(random() * 12)}`;
      const slowness = random() * 0.02;
      await db.tx(async (tx) => {
        await tx.query('select pg_advisory_xact_lock(hashtext($1))', [aggregate]); // as the row of the aggregate would
        await appendEvents(tx, [eventOf(aggregate), eventOf(aggregate)]);
        await tx.query('select pg_sleep($1)', [slowness]);
      });
      if (random() < 0.5) app.get(OutboxSignal).written('shard0');
    }
  };
  await Promise.all(Array.from({ length: 32 }, writer));
  await untilDelivered(databases);
  const rows = await databases.query(
    0,
    'select event_id, aggregate_id from _sharding_outbox order by position',
  );
  expect(rows).toHaveLength(640);
  expect(seen).toHaveLength(640);
  for (const aggregate of new Set(rows.map(({ aggregate_id }) => aggregate_id))) {
    const committed = rows.filter((row) => row['aggregate_id'] === aggregate).map((row) => row['event_id']);
    const delivered = seen
      .filter(({ aggregateId }) => aggregateId === aggregate)
      .map(({ eventId }) => eventId);
    expect(delivered).toEqual(committed);
  }
});

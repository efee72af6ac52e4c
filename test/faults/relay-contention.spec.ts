import { Injectable } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { EventType, OnEvent } from '@app/actions';
import { Shards } from '@app/sharding';
import { waitFor } from '@test/support';
import { bootEvents, eventShards, eventsLeft } from '../support/event-shards.js';
import { seededRandom } from '../support/seeded-random.js';
import type { HandledEvent } from '@app/actions';

const EVENTS = Number(process.env['OUTBOX_EVENTS'] ?? 50_000);
const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const PER_TRANSACTION = 250;
const WRITERS = 8;
const AGGREGATES = 512;
const THEFTS = 10;

@EventType('counted')
class Counted {}

/** The numbers of each aggregate, in the order in which they came for the first time. */
const seen = new Map<string, number[]>();
let handled = 0;

@Injectable()
class Handlers {
  @OnEvent(Counted, { name: 'count' })
  handle(_event: Counted, { aggregateId, payload }: HandledEvent) {
    handled++;
    const numbers = seen.get(aggregateId) ?? [];
    const n = Number(payload['n']);
    if (!(n <= (numbers.at(-1) ?? -1))) numbers.push(n);
    seen.set(aggregateId, numbers);
  }
}

/** Numbers $2 to $3 of the aggregates of one writer, so that no two writers share one. */
const WRITE = `insert into _sharding_outbox (event_id, action_id, type, payload, aggregate_id, occurred_at)
  select gen_random_uuid(), gen_random_uuid(), 'counted', jsonb_build_object('n', n),
    $1 || '-' || n % $4, now() from generate_series($2::int, $3::int) n`;

it(
  `two relays that steal the lease from each other miss none of ${EVENTS} events and keep the order of each aggregate (seed ${SEED})`,
  async () => {
    const random = seededRandom(SEED);
    const databases = await eventShards(1);
    const options = { idleMs: 20, leaseMs: 1500 };
    const apps = [
      await bootEvents(databases.options(), [Handlers], options),
      await bootEvents(databases.options(), [Handlers], options),
    ];
    const db = await apps[0]!.get(Shards).dbOn('shard0');
    let written = 0;
    const writer = async (name: number) => {
      for (let from = 0; from < EVENTS / WRITERS; from += PER_TRANSACTION) {
        const to = Math.min(from + PER_TRANSACTION, EVENTS / WRITERS) - 1;
        await db.tx(async (tx) => {
          await tx.query(WRITE, [`writer${name}`, from, to, AGGREGATES / WRITERS]);
          if (random() < 0.2) await tx.query('select pg_sleep($1)', [random() * 0.02]); // commits late
        });
        written += to - from + 1;
      }
    };
    const writing = Promise.all(Array.from({ length: WRITERS }, (_none, name) => writer(name)));
    let injected = 0;
    for (let theft = 1; theft <= THEFTS; theft++) {
      const due = (EVENTS * theft) / (THEFTS + 1);
      await waitFor(async () => handled >= due, { what: `${due} events`, timeoutMs: 120_000 });
      const stolen = `update _sharding_relay set holder = gen_random_uuid(), epoch = epoch + 1, expires_at = '-infinity' returning epoch`;
      injected += (await databases.query(0, stolen)).length;
    }
    await writing;
    const none = async () => (await eventsLeft(databases)).length === 0;
    await waitFor(none, { what: 'every event to be delivered', timeoutMs: 120_000, everyMs: 100 });
    for (const app of apps) await app.close();
    expect(injected).toBe(THEFTS);
    expect(written).toBe(EVENTS);
    expect([...seen.values()].reduce((sum, numbers) => sum + numbers.length, 0)).toBe(EVENTS);
  },
  EVENTS > 100_000 ? 1_800_000 : 180_000,
);

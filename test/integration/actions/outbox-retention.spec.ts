import { afterEach, expect, it } from '@jest/globals';
import { waitFor } from '@test/support';
import { bootEvents, eventShards } from '../../support/event-shards.js';
import type { INestApplication } from '@nestjs/common';

let app: INestApplication | undefined;
afterEach(() => app?.close());

it('takes away what was kept long enough, however much it is, and leaves what was not', async () => {
  const databases = await eventShards(1);
  const fill = `insert into _sharding_outbox (event_id, action_id, type, payload, aggregate_id, occurred_at, delivered_at, dead_at)
    select gen_random_uuid(), gen_random_uuid(), 'note.written', '{}', $1, now(), now() - $2::interval, now() - $3::interval
    from generate_series(1, $4::int)`;
  await databases.query(0, fill, ['delivered, old', '3 days', null, 2500]);
  await databases.query(0, fill, ['delivered, young', '1 day', null, 1]);
  await databases.query(0, fill, ['dead, old', null, '6 days', 1]);
  await databases.query(0, fill, ['dead, young', null, '4 days', 1]);
  await databases.query(
    0,
    `insert into _sharding_inbox (handler, event_id, handled_at) values
      ('old', gen_random_uuid(), now() - interval '8 days'), ('young', gen_random_uuid(), now() - interval '6 days')`,
  );
  app = await bootEvents(databases.options(), [], { deliveredDays: 2, deadDays: 5, inboxDays: 7 });
  const left = async () => {
    const events = await databases.query(0, 'select aggregate_id as name from _sharding_outbox');
    const inbox = await databases.query(0, 'select handler as name from _sharding_inbox');
    return new Set([...events, ...inbox].map(({ name }) => name));
  };
  await waitFor(async () => (await left()).size === 3, { what: 'the old rows to go', timeoutMs: 10_000 });
  expect(await left()).toEqual(new Set(['delivered, young', 'dead, young', 'young']));
});

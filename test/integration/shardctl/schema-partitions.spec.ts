import { expect, it } from '@jest/globals';
import { Shardctl } from '../../support/shardctl.js';
import { diff, drifted, found } from './schema-drift.js';

const shardctl = Shardctl.attach();

it('does not repeat for partitions what they have from their parents', async () => {
  const place = await drifted({
    everywhere: [
      'create table events (id int, at date, n int default 1) partition by range (at)',
      `create table events_1 partition of events for values from ('2026-01-01') to ('2026-02-01')`,
      `create table events_2 partition of events for values from ('2026-02-01') to ('2026-03-01') partition by hash (id)`,
      'create table events_2_0 partition of events_2 for values with (modulus 1, remainder 0)',
      'create table targets (id int primary key)',
      'create function refuse() returns trigger language plpgsql as $$ begin return null; end $$',
    ],
    on: {
      1: [
        'alter table events alter n set default 2, add extra int, add constraint positive check (n > 0)',
        'alter table events add constraint target foreign key (id) references targets',
        'alter table events add constraint once unique (id, at)',
        'create index events_at on events (at)',
        'create trigger refuse before insert on events for each row execute function refuse()',
        'alter table events_2_0 alter n set default 3',
      ],
      2: ['drop table events_1'],
    },
  });
  expect(await diff(shardctl, place.toml)).toEqual(
    found([
      [
        'table public.events_1: missing on shard2',
        'table',
        'public.events_1',
        ['exists', false, true],
        'shard2',
      ],
      [
        'column public.events.extra: only on shard1',
        'column',
        'public.events.extra',
        ['exists', true, false],
      ],
      [
        'column public.events.n: default = 2 on shard1, else 1',
        'column',
        'public.events.n',
        ['default', '2', '1'],
      ],
      [
        'column public.events_2_0.n: default = 3 on shard1, else 1',
        'column',
        'public.events_2_0.n',
        ['default', '3', '1'],
      ],
      [
        'constraint once on public.events: only on shard1',
        'constraint',
        'once on public.events',
        ['exists', true, false],
      ],
      [
        'constraint positive on public.events: only on shard1',
        'constraint',
        'positive on public.events',
        ['exists', true, false],
      ],
      [
        'constraint target on public.events: only on shard1',
        'constraint',
        'target on public.events',
        ['exists', true, false],
      ],
      ['index public.events_at: only on shard1', 'index', 'public.events_at', ['exists', true, false]],
      [
        'trigger refuse on public.events: only on shard1',
        'trigger',
        'refuse on public.events',
        ['exists', true, false],
      ],
    ]),
  );
});

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { slotOf } from '@app/routing';
import { PostgresServer, waitFor } from '@test/support';
import { FaultProxy } from '../support/fault-proxy.js';
import { MovingFleet } from '../support/moving-fleet.js';
import { withClient } from '../support/admin-query.js';
import { signalProcess } from '../support/processes.js';
import type { ShardingOptions } from '@app/sharding';
import type { MoveOptions, MoveRequest } from '@app/sharding/operator';

/** A shard falls silent in the middle of a copy: its mover says so and lets go of the move, and the same command ends it. */
const keys = Array.from({ length: 50 }, (_, index) => `tenant-${index}`);
const owned = [keys.find((key) => slotOf(key) < 8192)!, keys.find((key) => slotOf(key) >= 8192)!] as const;
const ROWS = 8000;
/** About 2 kB each: more than the buffers between the servers hold. */
const FILL = `insert into bookmarks (tenant_id, url)
  select $1, (select string_agg(md5(i::text || j::text), '') from generate_series(1, 60) j) from generate_series(1, ${ROWS}) i`;
const SESSIONS = `select pid from pg_stat_activity where application_name like 'nestjs-sharding move%'`;
const WATCHES = `select state_change::text as at from pg_stat_activity where application_name like '%watch shard:shard1'`;
const WATCH = { everyMs: 300, answerMs: 2000 };

jest.setTimeout(60_000);

let server: PostgresServer;
let fleet: MovingFleet;
let proxy: FaultProxy;

beforeEach(async () => {
  server = await PostgresServer.start({ name: 'silent' });
  fleet = await MovingFleet.create({ last: await server.createDatabase('shard1') });
  proxy = await FaultProxy.start({ port: server.port });
});
afterEach(async () => {
  await proxy.dispose();
  await server.dispose();
});

/** `shard1`, the one that falls silent, is reached through the proxy. */
function proxied(): ShardingOptions {
  const { database } = fleet.options;
  const [shard0, shard1] = database?.shards ?? [];
  const shards = [shard0!, { ...shard1!, primaryUrl: proxy.url(fleet.shards[1]!) }];
  return { ...fleet.options, database: { ...database, shards, connectTimeoutMs: 2000 } };
}

const move = (request: MoveRequest, options: MoveOptions = {}) =>
  fleet.moves((moves) => moves.move(request, { watch: WATCH, ...options }), proxied());

const rowsOn = async (place: number) =>
  Number((await fleet.query(place, 'select count(*) as rows from bookmarks'))[0]?.['rows']);

/** @param fall happens once, when the first bytes have travelled */
async function fallSilent(request: MoveRequest, fall: () => unknown): Promise<void> {
  const falls: unknown[] = [];
  const progress: MoveOptions['progress'] = ({ step, bytes = 0 }) => {
    if (step === 'copy' && bytes > 0 && falls.length === 0) falls.push(fall());
  };
  await expect(move(request, { progress })).rejects.toMatchObject({
    code: 'shard_unavailable',
    message: expect.stringContaining('shard "shard1"'),
  });
  await Promise.all(falls);
  expect(falls).toHaveLength(1);
  expect(await fleet.query('control', 'select 1 from _sharding_moves where leased_until > now()')).toEqual(
    [],
  );
}

async function healsBy(request: MoveRequest): Promise<void> {
  server.thaw();
  proxy.heal();
  await proxy.dropAll();
  expect(await move(request)).toMatchObject({ state: 'verified' });
  expect([await rowsOn(0), await rowsOn(1)]).toEqual([ROWS, ROWS]);
}

const WAYS: Readonly<Record<string, () => unknown>> = {
  'its host stands still': () => server.freeze({ backends: true }),
  'the network swallows what was open': () => proxy.blackHoleOpen(),
  'the network swallows everything': () => proxy.blackHole(),
};

describe.each([
  { role: 'destination', from: 'shard0', to: 'shard1', place: 0 },
  { role: 'source', from: 'shard1', to: 'shard0', place: 1 },
] as const)('a $role falls silent in the middle of a copy', ({ from, to, place }) => {
  it.each(Object.entries(WAYS))('because %s', async (_why, fall) => {
    await fleet.query(place, FILL, [owned[place]]);
    const request = fleet.request({ from, to, keys: [owned[place]] });
    await fallSilent(request, fall);
    await healsBy(request);
  });

  it('because its session is gone, and the network did not say so', async () => {
    await fleet.query(place, FILL, [owned[place]]);
    const request = fleet.request({ from, to, keys: [owned[place]] });
    await fallSilent({ ...request, throttle: 1000 }, async () => {
      const watched = async () =>
        (await server.query(`${WATCHES} and query like '%progress%' and state = 'idle'`)).length > 0;
      await waitFor(watched, { what: 'the first look' });
      proxy.blackHoleOpen();
      await server.terminateAll('shard1');
    });
    await fleet.moves((moves) => moves.list()).then(([open]) => fleet.moves((m) => m.abort(open!.id)));
    await healsBy(request);
  });
});

it('a destination takes no more rows, although its server lives', async () => {
  await fleet.query(0, FILL, [owned[0]]);
  const request = fleet.request({ keys: [owned[0]] });
  await fallSilent(request, async () => {
    const stopped = await server.query(`${SESSIONS} and application_name not like '%watch%'`);
    for (const { pid } of stopped) signalProcess(Number(pid), 'SIGSTOP');
    expect(stopped).toHaveLength(1);
  });
  await healsBy(request);
});

it('a destination that refuses a row ends the copy, however much the source has still to send', async () => {
  await fleet.query(0, FILL, [owned[0]]);
  const short = `alter table bookmarks add constraint short check (current_database() <> 'shard1' or length(url) < 9)`;
  for (const place of [0, 1]) await fleet.query(place, short);
  await expect(move(fleet.request({ keys: [owned[0]] }))).rejects.toMatchObject({ code: 'move_refused' });
  expect([await rowsOn(0), await rowsOn(1)]).toEqual([ROWS, 0]);
});

it('gives nobody up who takes his time', async () => {
  const slow = `create function slow(text) returns boolean language plpgsql as $$ begin
      if $1 = 'slow' and current_database() = 'shard1' then perform pg_catalog.pg_advisory_xact_lock_shared(42); end if;
      return true; end $$`;
  for (const place of [0, 1]) {
    await fleet.query(place, slow);
    await fleet.query(place, 'alter table bookmarks add constraint slow check (public.slow(url))');
  }
  await fleet.query(0, `insert into bookmarks (tenant_id, url) values ($1, 'slow')`, [owned[0]]);
  await withClient(fleet.shards[1]!, async (client) => {
    await client.query('select pg_advisory_lock(42)');
    const moving = move(fleet.request({ keys: [owned[0]] }), { watch: { everyMs: 50 } });
    moving.catch(() => undefined);
    const looks = new Set<unknown>();
    const looked = async () => {
      for (const { at } of await server.query(WATCHES)) looks.add(at);
      return looks.size > 4;
    };
    await waitFor(looked, { what: 'some looks', timeoutMs: 9000 });
    await client.query('select pg_advisory_unlock(42)');
    expect(await moving).toMatchObject({ state: 'verified' });
  });
});

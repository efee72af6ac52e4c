import { beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { Shardctl } from '../../support/shardctl.js';
import { eventShards } from '../../support/event-shards.js';
import type { Deployment } from '../../support/deployment.js';

jest.setTimeout(120_000); // each call is a process

const shardctl = Shardctl.attach();
const [FIRST, SECOND, LIVE] = [randomUUID(), randomUUID(), randomUUID()] as [string, string, string];
let databases: Deployment;
let toml: string;

beforeAll(async () => {
  databases = await eventShards(2);
  toml = [
    `[database]\nprimary_url = "${databases.control}"`,
    ...databases.shards.map(
      (url, index) => `[[database.shards]]\nname = "shard${index}"\nprimary_url = "${url}"`,
    ),
    '[tenancy]\nsource = "header"',
  ].join('\n');
});

beforeEach(async () => {
  const insert = `insert into _sharding_outbox (event_id, action_id, type, payload, routing_key, aggregate_id, occurred_at,
      attempts, failure, dead_at)
    values ($1, $1, $2, '{"secret": "content"}', 'acme', 'note-1', now() - interval '1 hour', $3, $4, $5)`;
  for (const shard of [0, 1]) await databases.query(shard, 'delete from _sharding_outbox');
  const dead = [20, 'greet: TypeError'];
  await databases.query(0, insert, [FIRST, 'note.written', ...dead, '2026-01-02T03:04:05Z']);
  await databases.query(0, insert, [SECOND, 'note.deleted', ...dead, '2026-01-02T03:04:06Z']);
  await databases.query(0, insert, [LIVE, 'note.written', 1, 'greet: TypeError', null]);
});

const run = (args: readonly string[], text = toml) => shardctl.run(['outbox', ...args], { toml: text });
const deadOn0 = async () =>
  (
    await databases.query(
      0,
      `select event_id, attempts, failure from _sharding_outbox where dead_at is not null order by position`,
    )
  ).map((row) => row['event_id']);

it('status tells what waits on each shard and whether a relay delivers', async () => {
  const { code, out } = await run(['status']);
  expect(code).toBe(0);
  expect(out).toMatch(
    /^shard +relay +waiting +oldest +dead letters\nshard0 +nobody +1 +36\d\d(\.\d)? s +2\nshard1 +nobody +0 +0 s +0\n$/,
  );
  await databases.query(
    1,
    `insert into _sharding_relay values ('outbox', gen_random_uuid(), 1, now() + interval '1 day')`,
  );
  const { out: json } = await run(['status', '--shard', 'shard1', '--json']);
  expect(JSON.parse(json)).toEqual({
    shards: [{ shard: 'shard1', relay: 'on', depth: 0, lag_seconds: 0, dead: 0 }],
  });
});

it('dead lists dead letters, the newest first, without what they carry', async () => {
  const { code, out, err } = await run(['dead', '--json']);
  const { events, failures } = JSON.parse(out) as { events: object[]; failures: object[] };
  expect([code, err, failures]).toEqual([0, '', []]);
  const common = {
    shard: 'shard0',
    routing_key: 'acme',
    aggregate_id: 'note-1',
    attempts: 20,
    failure: 'greet: TypeError',
  };
  expect(events).toEqual([
    {
      ...common,
      event_id: SECOND,
      type: 'note.deleted',
      occurred_at: expect.any(String),
      dead_at: '2026-01-02T03:04:06.000Z',
    },
    {
      ...common,
      event_id: FIRST,
      type: 'note.written',
      occurred_at: expect.any(String),
      dead_at: '2026-01-02T03:04:05.000Z',
    },
  ]);
  const text = (await run(['dead', '--type', 'note.written', '--limit', '1'])).out;
  expect(text).toContain(FIRST);
  expect(text).not.toMatch(new RegExp(`${SECOND}|content`));
});

it('requeue makes dead letters wait again: by id, by type, or all', async () => {
  expect(await run(['requeue', FIRST])).toEqual({
    code: 0,
    out: 'shard   requeued\nshard0         1\nshard1         0\n',
    err: '',
  });
  expect(await deadOn0()).toEqual([SECOND]);
  const [again] = await databases.query(
    0,
    'select attempts, failure, retry_at from _sharding_outbox where event_id = $1',
    [FIRST],
  );
  expect(again).toEqual({ attempts: 0, failure: null, retry_at: null });
  const missed = await run(['requeue', FIRST, SECOND]);
  expect([missed.code, missed.err]).toEqual([
    1,
    'shardctl: 1 of the ids are no dead letters here: see shardctl outbox dead\n',
  ]);
  expect(await deadOn0()).toEqual([]);
  await databases.query(0, 'update _sharding_outbox set dead_at = now()');
  expect((await run(['requeue', '--type', 'note.deleted', '--json'])).out).toContain('"requeued": 1');
  expect((await run(['requeue', '--all', '--json'])).out).toContain('"requeued": 2');
  expect(await deadOn0()).toEqual([]);
});

it('one shard that cannot be asked hides no other', async () => {
  const broken = toml.replace(databases.shards[1]!, 'postgres://app@127.0.0.1:1/x');
  const { code, out, err } = await run(['status'], broken);
  expect(code).toBe(1);
  expect(out).toMatch(/^shard0 +nobody +1 /m);
  expect(out).toMatch(/^shard1 +FAILED/m);
  expect(err).toBe('shardctl: shard shard1: nothing listens there: is the server running? (ECONNREFUSED)\n');
});

it.each([
  [[], /missing required argument/],
  [['nothing'], /status, dead or requeue/],
  [['requeue'], /say what to requeue/],
  [['requeue', '--all', '--type', 'x'], /say what to requeue/],
  [['requeue', 'x'], /"x" is no id of an event/],
  [['status', '--all'], /belong to outbox requeue/],
  [['status', '--type', 'x'], /--type does not belong/],
  [['status', '--limit', '1'], /--limit belongs to outbox dead/],
])('refuses outbox %j', async (args, message) => {
  const { code, err } = await run(args);
  expect(code).toBe(2);
  expect(err).toMatch(message);
});

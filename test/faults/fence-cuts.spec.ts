import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  sessionOf,
  raiseFence,
  removeIdleFences,
  setTombstones,
  clearSubjects,
} from '@app/sharding/operator';
import { FaultProxy, PostgresServer, waitFor } from '@test/support';
import { installControl } from '../support/control-database.js';
import { FenceShard, NOTES, order, outcomeOf } from '../integration/moves/fence-shard.js';
import type { FenceOrder, MoveSession } from '@app/sharding/operator';

/** Wherever the connection of a mover is cut: what is fenced is guarded, others write, and the same again finishes. */
let server: PostgresServer;
let proxy: FaultProxy;
let shard: FenceShard;

beforeAll(async () => {
  server = await PostgresServer.start();
  const url = await server.createDatabase('fenced');
  await installControl(url);
  shard = await FenceShard.on(url, NOTES);
  proxy = await FaultProxy.start({ port: server.port });
});

afterAll(async () => {
  await shard.close();
  await proxy.dispose();
  await server.dispose();
});

/** All that is ever done with a fence. */
async function life(session: MoveSession, acme: FenceOrder): Promise<void> {
  await raiseFence(session, acme, 60_000);
  await setTombstones(session, acme);
  await clearSubjects(session, acme);
  await removeIdleFences(session);
}

const write = (key: string) => `insert into notes (tenant_id) values ('${key}')`;

async function expectTruth(): Promise<void> {
  const fenced = (await shard.fence()).length > 0;
  expect([await shard.outcome(write('acme')), fenced]).toEqual([fenced ? 'SHM01' : 'ok', fenced]);
  for (const isolation of ['read committed', 'repeatable read']) {
    expect(await shard.outcome(write('globex'), isolation)).toBe('ok');
  }
}

/** `FENCE_CUT_EVERY=1` cuts after each statement; otherwise each run takes others. */
const EVERY = Number(process.env['FENCE_CUT_EVERY'] ?? 4);
const FIRST = Number(process.env['FENCE_CUT_FIRST'] ?? 1 + (Date.now() % EVERY));

it(`by the network, after every statement of ${EVERY} (FENCE_CUT_FIRST=${FIRST})`, async () => {
  for (let k = FIRST; ; k += EVERY) {
    const acme = order({ keys: ['acme'] });
    const client = await shard.connect(proxy.url(shard.url));
    const session = await sessionOf(client);
    const before = proxy.injections;
    proxy.cutAt(k, 'after');
    const outcome = await outcomeOf(life(session, acme));
    if (proxy.injections === before) {
      expect([outcome, k > 30]).toEqual(['ok', true]); // it got to the end
      proxy.forgetCuts();
      break;
    }
    expect(outcome).not.toBe('ok');
    await waitFor(async () => (await locks()) === 0, { what: 'the session to end', everyMs: 3 });
    await expectTruth();
    const next = { ...acme, epoch: '2' };
    const moved = (await shard.fence()).some((row) => row.endsWith('moved'));
    if (!moved) await raiseFence(shard.mover, next, 60_000);
    expect(await setTombstones(shard.mover, next)).toBe(moved ? 'broken' : 'unbroken');
    await clearSubjects(shard.mover, next);
    await removeIdleFences(shard.mover);
    expect([await shard.fence(), await shard.guards()]).toEqual([[], []]);
  }
});

/** Those of the cut session, which the server ends when it notices. */
async function locks(): Promise<number> {
  const sql = `select count(*)::int as n from pg_locks l where l.locktype = 'advisory' or l.relation = 'notes'::regclass`;
  return Number((await shard.query(sql))[0]?.['n']);
}

it('by the end of the server: the fence stands, and no snapshot needs the lock of the gate', async () => {
  const acme = order({ keys: ['acme'] });
  await raiseFence(shard.mover, acme, 600_000);
  await server.kill();
  await server.restart();
  const after = await FenceShard.on(shard.url);
  expect(await after.outcome(write('acme'), 'repeatable read')).toBe('SHM01');
  expect(await after.outcome(write('globex'), 'repeatable read')).toBe('ok');
  expect(
    await after.query(`select last_value = raised as same from _sharding_fence_raises, _sharding_fence_gate`),
  ).toEqual([{ same: true }]);
  await after.close();
});

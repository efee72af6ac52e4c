import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, expect, it } from '@jest/globals';
import { seededRandom, waitFor } from '@test/support';
import { OPENING, WalletsFleet } from '../support/wallets-fleet.js';
import type { ServiceProcess } from '../support/service-process.js';

/** Transfers that the processes have got an answer for; `npm run soak:sagas` sends more. */
const TRANSFERS = Number(process.env['SAGA_TRANSFERS'] ?? 2000);
const KILLS = Number(process.env['SAGA_KILLS'] ?? 6);
const SEED = Number(process.env['SAGA_SEED'] ?? Date.now() % 1_000_000);
const WALLETS_OF_SHARD = 20;
const LIMIT_MS = 60_000 + TRANSFERS * 100;

let fleet: WalletsFleet;
beforeAll(async () => {
  fleet = await WalletsFleet.create(WALLETS_OF_SHARD);
});

it(
  'keeps the sum of all money, and never both credits and refunds, while processes are killed',
  async () => {
    process.stdout.write(`saga-killed: seed ${SEED}\n`);
    const killed = await underFire();
    expect(killed).toBe(KILLS);
    const sagas = await fleet.everywhere('select saga_id, state, data from _sharding_saga');
    expect(sagas.length).toBeGreaterThan(TRANSFERS / 4);
    expect(new Set(sagas.map(({ state }) => state))).toEqual(new Set(['completed', 'compensated']));
    const [{ total }] = await sum();
    expect(total).toBe(3 * WALLETS_OF_SHARD * OPENING);
    expect(await unexplained(sagas)).toEqual([]);
    expect(await fleet.everywhere('select type from _sharding_outbox')).toEqual([]);
  },
  LIMIT_MS,
);

/** Two processes send; now and then one is killed, and another one takes its place. @returns how many were killed */
async function underFire(): Promise<number> {
  const random = seededRandom(SEED);
  const running = [await fleet.start(), await fleet.start()];
  const ended: ServiceProcess[] = [];
  const sent = () =>
    [...running, ...ended]
      .flatMap(({ lines }) => lines)
      .reduce((all, line) => all + Number(line['sent'] ?? 0), 0);
  try {
    for (let kill = 1; kill <= KILLS; kill++) {
      const enough = Math.floor((TRANSFERS * kill) / (KILLS + 1));
      await waitFor(async () => sent() >= enough, { what: `${enough} transfers`, timeoutMs: LIMIT_MS });
      await pause(random() * 200);
      const index = random() < 0.5 ? 0 : 1;
      const victim = running[index]!;
      await victim.kill();
      ended.push(victim);
      running[index] = await fleet.start();
    }
    await waitFor(async () => sent() >= TRANSFERS, { what: `${TRANSFERS} transfers`, timeoutMs: LIMIT_MS });
    for (const one of running) one.tell('stop');
    for (const one of running) await one.until(({ quiet }) => quiet === true, 'the last answers');
    await atRest();
    for (const one of running) expect(await one.terminate()).toBe(0);
    return ended.length;
  } finally {
    for (const one of running) await one.kill();
  }
}

/** Neither sagas nor events are under way. */
async function atRest(): Promise<void> {
  const open = `select 1 from _sharding_saga where state in ('running', 'compensating')
    union all select 1 from _sharding_outbox`;
  await waitFor(async () => (await fleet.everywhere(open)).length === 0, {
    what: 'all sagas to end',
    timeoutMs: LIMIT_MS,
  });
}

async function sum(): Promise<[{ total: number }]> {
  const rows = await fleet.everywhere('select sum(balance)::float8 as total from wallets');
  return [{ total: rows.reduce((all, row) => all + Number(row['total']), 0) }];
}

/** Transfers whose lines in the histories do not say what their saga says. */
async function unexplained(sagas: readonly Record<string, unknown>[]): Promise<unknown[]> {
  const movements = await fleet.everywhere(
    `select transfer_id, kind, amount::float8 as amount from movements where transfer_id is not null`,
  );
  const byTransfer = grouped(movements);
  return sagas.flatMap(({ saga_id: id, state, data }) => {
    const { amount } = data as { amount: number };
    const lines = (byTransfer.get(String(id)) ?? [])
      .map((row) => `${String(row['kind'])} ${String(row['amount'])}`)
      .toSorted();
    const withdrawal = `withdrawal ${-amount}`;
    const right =
      state === 'completed' ? [[`deposit ${amount}`, withdrawal]] : [[], [`refund ${amount}`, withdrawal]];
    return right.some((one) => JSON.stringify(one) === JSON.stringify(lines)) ? [] : [{ id, state, lines }];
  });
}

function grouped(rows: readonly Record<string, unknown>[]): Map<string, Record<string, unknown>[]> {
  const groups = new Map<string, Record<string, unknown>[]>();
  for (const row of rows) {
    const id = String(row['transfer_id']);
    groups.set(id, [...(groups.get(id) ?? []), row]);
  }
  return groups;
}

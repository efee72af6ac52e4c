import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { OwnControl } from '../support/own-control.js';
import type { RunningDirectory } from '../support/own-control.js';

/**
 * Tenants are invented by clients (S10, C67). The counts are those of a test run; `npm run soak:directory` takes ten million
 * routes and a million look-ups.
 */
const ROUTES = Number(process.env['DIRECTORY_ROUTES'] ?? 2_000_000);
const LOOK_UPS = Number(process.env['DIRECTORY_LOOK_UPS'] ?? 10_000);
const MB = 2 ** 20;
/** `poolSize` is 4, and one connection is left to others. */
const WIDTH = 3;

let control: OwnControl;

beforeEach(async () => {
  control = await OwnControl.start({ settings: { log_statement: 'all', log_line_prefix: '%a|' } });
});
afterEach(() => control.dispose());

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
function heap(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

/** Statements that the control server got so far through the pool. */
async function asked(statement: RegExp): Promise<number> {
  const lines = (await control.server.log(10_000_000)).split('\n');
  return lines.filter((line) => statement.test(line) && !line.startsWith('nestjs-sharding directory')).length;
}

const LOOK_UP = /d\.routing_key = \$1/;

it(`${ROUTES.toLocaleString('en')} unknown tenants leave nothing in memory, and cost no question`, async () => {
  const running = await control.boot();
  await control.pin('acme', running.other('acme'));
  await running.untilRouted('acme', running.other('acme'));
  const route = (from: number, count: number) => {
    for (let n = from; n < from + count; n++) void running.shards.route(`unknown-tenant-${n}`);
  };
  route(0, 50_000);
  const before = heap();
  for (let done = 0; done < ROUTES; done += 50_000) {
    route(done, 50_000);
    await new Promise((resolve) => setImmediate(resolve)); // the heartbeat goes on
  }
  const grown = (heap() - before) / MB;
  expect(grown).toBeLessThan(32);
  expect(await running.route('acme')).toBe(running.other('acme'));
  expect(await asked(LOOK_UP)).toBe(0);
}, 300_000);

/** Invented tenants, some at a time, until all were asked for; gives how it ended for each. */
async function flood(running: RunningDirectory, count: number): Promise<Map<string, number>> {
  const ends = new Map<string, number>();
  let left = count;
  const lane = async () => {
    while (left-- > 0) {
      const end = await running.route(randomBytes(100).toString('hex'));
      ends.set(end, (ends.get(end) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: 50 }, lane));
  return ends;
}

it(`per key: ${LOOK_UPS.toLocaleString('en')} invented tenants push out no real one, and stay bounded`, async () => {
  await control.pin('pin-1', 'shard0');
  const running = await control.boot({ directorySnapshotMax: 1 });
  const real = Array.from({ length: 100 }, (_, n) => `real-${n}`);
  for (const tenant of real) await control.pin(tenant, running.other(tenant));
  await running.untilRouted(real.at(-1)!, running.other(real.at(-1)!));
  expect(running.directory.mode).toBe('per_key');
  const askReal = async () => {
    for (const tenant of real) expect(await running.route(tenant)).toBe(running.other(tenant));
  };
  await askReal();
  const warm = await asked(LOOK_UP);
  const before = heap();
  let rounds = 0;
  let flooding = true;
  const normal = (async () => {
    while (flooding) {
      await askReal();
      rounds++;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
  const began = performance.now();
  const ends = await flood(running, LOOK_UPS).finally(() => (flooding = false));
  const seconds = (performance.now() - began) / 1000;
  await normal;
  expect((heap() - before) / MB).toBeLessThan(32);
  expect([...ends.keys()].toSorted()).toEqual(['shard0', 'shard1']);
  expect(running.directory.lookedUp).toBeLessThanOrEqual(40_000);
  expect(rounds).toBeGreaterThan(5);
  const ofReal = (await asked(LOOK_UP)) - warm - LOOK_UPS;
  expect(ofReal).toBeLessThanOrEqual(real.length * Math.ceil(1 + seconds / 30)); // each once in its time of 30 s
}, 1_200_000);

it('many misses at once use the connections that they may, and no more', async () => {
  await control.pin('pin-1', 'shard0');
  await control.pin('pin-2', 'shard0');
  const running = await control.boot({ directorySnapshotMax: 1 });
  const burst = Array.from({ length: 1500 }, (_, n) => running.route(`missing-${n}`));
  const same = Array.from({ length: 1000 }, () => running.route('the same'));
  const answers = new Set(await Promise.all([...burst, ...same]));
  expect([...answers].toSorted()).toEqual(['directory_unavailable', 'shard0', 'shard1']); // beyond what may wait: refused
  const [row] = await control.server.query(
    `select count(*)::int as count from pg_stat_activity where datname = 'control' and backend_type = 'client backend'
      and application_name not like 'nestjs-sharding directory%'`,
  );
  expect(row!['count']).toBeLessThanOrEqual(WIDTH);
  expect(await asked(LOOK_UP)).toBeLessThanOrEqual(1000 + WIDTH); // a thousand wait
});

it('a key that is cut out of a long header does not keep the header in memory', async () => {
  await control.pin('pin-1', 'shard0');
  await control.pin('pin-2', 'shard0');
  const running = await control.boot({ directorySnapshotMax: 1 });
  await flood(running, 100);
  const before = heap();
  for (let n = 0; n < 2000; n++) {
    const header = `${'x'.repeat(16_000)}${randomBytes(20).toString('hex')}`.split('').join('');
    await running.route(header.slice(-40));
  }
  expect((heap() - before) / MB).toBeLessThan(16); // 32 with the headers
}, 60_000);

it('keys that are too long are refused before anybody is asked', async () => {
  await control.pin('pin-1', 'shard0');
  await control.pin('pin-2', 'shard0');
  const running = await control.boot({ directorySnapshotMax: 1 });
  const before = await asked(LOOK_UP);
  const long = ['x'.repeat(256), 'x'.repeat(8192), '\u{1F3E2}'.repeat(64), `${'é'.repeat(127)}xx`];
  for (const key of long) expect(await running.route(key)).toBe('invalid_routing_key');
  expect(await asked(LOOK_UP)).toBe(before);
  expect(await running.route('x'.repeat(255))).toBe(running.hashed('x'.repeat(255)));
  expect(await asked(LOOK_UP)).toBe(before + 1);
});

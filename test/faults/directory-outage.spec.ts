import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { Pins } from '@app/sharding';
import { waitFor } from '@test/support';
import { call } from '../support/bookmarks.js';
import { listen } from '../support/deployment.js';
import { OwnControl } from '../support/own-control.js';
import { signalProcess } from '../support/processes.js';
import type { RunningDirectory } from '../support/own-control.js';

/** No request may wait for a control database that does not answer (P6). Far above what a route takes, far below a limit. */
const AT_ONCE_MS = 250;

let control: OwnControl;

beforeEach(async () => {
  control = await OwnControl.start();
});

afterEach(() => control.dispose());

/** Routes again and again until `ms` have gone by; gives the slowest, and what was answered. */
async function routesFor(ms: number, running: RunningDirectory, keys: readonly string[]) {
  const answers = new Map(keys.map((key) => [key, new Set<string>()]));
  const ends = performance.now() + ms;
  let slowestMs = 0;
  let routes = 0;
  while (performance.now() < ends) {
    for (const key of keys) {
      const began = performance.now();
      answers.get(key)!.add(await running.route(key));
      slowestMs = Math.max(slowestMs, performance.now() - began);
      routes++;
    }
    await pause(2);
  }
  expect(routes).toBeGreaterThan(100);
  return { slowestMs, answers: Object.fromEntries([...answers].map(([key, set]) => [key, [...set]])) };
}

async function directoryHealth(running: RunningDirectory): Promise<Record<string, unknown>> {
  const { body } = await call(`${await running.app.getUrl()}/health`);
  return (body as { details: Record<string, Record<string, unknown>> }).details['db:directory']!;
}

const outages = {
  'is stopped': () => control.server.stop('immediate'),
  'is frozen': async () => control.server.freeze({ backends: true }),
  'is behind a line that is dead': async () => control.proxy.blackHole(),
};

async function recover(): Promise<void> {
  control.proxy.heal();
  if (control.server.isRunning) control.server.thaw();
  else await control.server.restart();
}

describe.each(Object.keys(outages) as (keyof typeof outages)[])('a control database that %s', (outage) => {
  it('serves the old snapshot without a wait, says since when, and recovers', async () => {
    const running = await control.boot();
    await listen(running.app);
    const [pinned, free] = ['acme', 'globex'];
    const [to, back] = [running.other(pinned), running.hashed(pinned)];
    await control.pin(pinned, to);
    await running.untilRouted(pinned, to);
    await outages[outage]();
    const { slowestMs, answers } = await routesFor(5000, running, [pinned, free]);
    expect(answers).toEqual({ [pinned]: [to], [free]: [running.hashed(free)] });
    expect(slowestMs).toBeLessThan(AT_ONCE_MS);
    const health = await directoryHealth(running);
    expect(health).toMatchObject({ status: 'up', mode: 'snapshot', rows: 1, listening: false });
    const staleFor = Date.now() - Date.parse(String(health['stale_since']));
    expect(staleFor).toBeGreaterThan(2000);
    expect(staleFor).toBeLessThan(30_000);

    await recover();
    await control.pin(pinned, back);
    await running.untilRouted(pinned, back, 10_000);
    await running.untilListening(true);
    expect(await directoryHealth(running)).not.toHaveProperty('stale_since');
  }, 60_000);
});

it('fail: 503 once what is known is too old, and well again', async () => {
  const running = await control.boot({ directoryOnOutage: 'fail', directoryMaxStalenessMs: 5000 });
  await listen(running.app);
  const to = running.other('acme');
  await control.pin('acme', to);
  await running.untilRouted('acme', to);
  await control.server.stop('immediate');
  const down = performance.now();
  const sawOutage = async () => (await running.route('acme')) === 'directory_unavailable';
  expect(await running.route('acme')).toBe(to);
  await waitFor(sawOutage, { what: 'the directory to be too old', timeoutMs: 10_000, everyMs: 10 });
  const failedAfter = performance.now() - down;
  expect(failedAfter).toBeGreaterThan(3900); // it was at most a heartbeat old when the server stopped
  expect(failedAfter).toBeLessThan(6000);
  expect(await running.route('globex')).toBe('directory_unavailable'); // may be pinned
  expect((await running.shards.shardFor(7)).name).toMatch(/^shard/);
  expect(await directoryHealth(running)).toMatchObject({ status: 'down' });
  await control.server.restart();
  await running.untilRouted('acme', to, 10_000);
  expect(await directoryHealth(running)).toMatchObject({ status: 'up' });
}, 60_000);

it('a server that lets nobody in any more: routes wait for no new listener, and the pool still sees changes', async () => {
  const running = await control.boot();
  const pins = running.app.get(Pins);
  await pins.pin('acme', running.other('acme')); // a session of the pool is open
  const [listener] = await control.listeners();
  control.server.freeze();
  try {
    signalProcess(listener!, 'SIGTERM');
    await running.untilListening(false, 3000);
    const before = await routesFor(7500, running, ['acme', 'globex']);
    expect(before.slowestMs).toBeLessThan(AT_ONCE_MS);
    expect(running.directory.listening).toBe(false);
    await pins.pin('acme', running.hashed('acme'));
    await running.untilRouted('acme', running.hashed('acme'), 6000);
  } finally {
    control.server.thaw();
  }
  await running.untilListening(true);
}, 60_000);

it('a slow control database slows no route', async () => {
  const running = await control.boot();
  control.proxy.delay(600); // more than a second for each answer
  const { slowestMs } = await routesFor(7500, running, ['acme', 'globex']);
  expect(slowestMs).toBeLessThan(AT_ONCE_MS);
  expect(running.directory.staleSince).toBeUndefined();
  control.proxy.heal();
}, 60_000);

describe('a boot without the control database', () => {
  it.each(Object.keys(outages) as (keyof typeof outages)[])(
    'that %s: strings fail closed, integers are routed, and it recovers by itself',
    async (outage) => {
      const to = 'shard1';
      await control.pin('acme', to);
      await outages[outage]();
      const began = performance.now();
      const running = await control.boot();
      expect(performance.now() - began).toBeLessThan(10_000);
      const asked = performance.now();
      expect(await running.route('acme')).toBe('directory_unavailable');
      expect(await running.route('globex')).toBe('directory_unavailable');
      expect((await running.shards.shardFor(7)).name).toMatch(/^shard/);
      expect(performance.now() - asked).toBeLessThan(AT_ONCE_MS);
      await listen(running.app);
      expect(await directoryHealth(running)).toMatchObject({ status: 'down', mode: 'unread' });
      await recover();
      await running.untilRouted('acme', to, 10_000);
      expect(await running.route('globex')).toBe(running.hashed('globex'));
      expect(await directoryHealth(running)).toMatchObject({ status: 'up', mode: 'snapshot' });
    },
    60_000,
  );
});

describe('per key', () => {
  it('fail: down once nothing that is known may be given any more, and well again', async () => {
    await control.pin('acme', 'shard1');
    await control.pin('umbrella', 'shard1');
    const limits = { directoryOnOutage: 'fail', directoryMaxStalenessMs: 5000 } as const;
    const running = await control.boot({ directorySnapshotMax: 1, ...limits });
    await listen(running.app);
    expect(await running.route('acme')).toBe('shard1');
    await control.server.stop('immediate');
    await waitFor(async () => running.directory.staleSince !== undefined, { what: 'the outage to be seen' });
    expect(await running.route('acme')).toBe('shard1');
    expect(await directoryHealth(running)).toMatchObject({ status: 'up', mode: 'per_key' });
    const failed = async () => (await running.route('acme')) === 'directory_unavailable';
    await waitFor(failed, { what: 'the last answer to be too old', timeoutMs: 10_000 });
    const down = async () => (await directoryHealth(running))['status'] === 'down';
    await waitFor(down, { what: 'health to say so', timeoutMs: 3000 });
    await control.server.restart();
    await running.untilRouted('acme', 'shard1', 10_000);
    expect(await directoryHealth(running)).toMatchObject({ status: 'up' });
  }, 60_000);

  it.each(Object.keys(outages) as (keyof typeof outages)[])(
    'with control that %s: known keys are served at once, also beyond their time; others fail closed',
    async (outage) => {
      await control.pin('acme', 'shard1');
      await control.pin('umbrella', 'shard1');
      const running = await control.boot({ directorySnapshotMax: 1, directoryCacheTtlMs: 1000 });
      expect(running.directory.mode).toBe('per_key');
      expect(await running.route('acme')).toBe('shard1');
      expect(await running.route('globex')).toBe(running.hashed('globex'));
      await outages[outage]();
      await waitFor(async () => running.directory.staleSince !== undefined, {
        what: 'the outage to be seen',
        timeoutMs: 10_000,
      });
      const known = await routesFor(3000, running, ['acme', 'globex']);
      expect(known.answers).toEqual({ acme: ['shard1'], globex: [running.hashed('globex')] });
      expect(known.slowestMs).toBeLessThan(AT_ONCE_MS);
      const began = performance.now();
      const unknown = Array.from({ length: 3000 }, (_, n) => running.route(`unknown-${n}`));
      expect(new Set(await Promise.all([...unknown, running.route('umbrella')]))).toEqual(
        new Set(['directory_unavailable']),
      );
      expect(performance.now() - began).toBeLessThan(6000); // whatever the queue: bounded
      await recover();
      await running.untilRouted('umbrella', 'shard1', 10_000);
    },
    60_000,
  );
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { isAlive, signalProcess } from '../support/processes.js';
import { waitFor } from '@test/support';
import { bootApp } from '../support/deployment.js';
import { OwnControl, RunningDirectory } from '../support/own-control.js';
import { RecordedLog } from '../integration/directory/recorded-log.js';
import type { INestApplication } from '@nestjs/common';

/** LISTEN that died with or without a sign: noticed by the heartbeat, and routes are right again soon (P7, C25). */
const NOTICED_MS = 3000;
const HEALED_MS = 3000;

let control: OwnControl;
let running: RunningDirectory;

beforeEach(async () => {
  control = await OwnControl.start();
  running = await control.boot();
  await control.pin('acme', running.other('acme'));
  await running.untilRouted('acme', running.other('acme'));
});

afterEach(() => control.dispose());

async function listener(): Promise<number> {
  const pids = await control.listeners();
  expect(pids).toHaveLength(1);
  return pids[0]!;
}

it('a listener that is terminated is noticed at once; what was changed meanwhile is read on reconnect', async () => {
  let ended = 0;
  for (let round = 0; round < 5; round++) {
    const before = running.directory.revision;
    const pid = await listener();
    const to = round % 2 === 0 ? running.hashed('acme') : running.other('acme');
    const [row] = await control.server.query('select pg_terminate_backend($1) as done', [pid]);
    if (row?.['done'] === true) ended++;
    await control.pin('acme', to);
    await running.untilRouted('acme', to, HEALED_MS);
    await running.untilListening(true);
    expect(running.directory.revision).toBeGreaterThan(before);
  }
  expect(ended).toBe(5);
});

it('a listener that is frozen is noticed within 3 s, and replaced; the pool answers meanwhile', async () => {
  const pid = await listener();
  signalProcess(pid, 'SIGSTOP');
  try {
    await control.pin('acme', running.hashed('acme'));
    await running.untilListening(false, NOTICED_MS);
    await running.untilRouted('acme', running.hashed('acme'), HEALED_MS);
    await running.untilListening(true, HEALED_MS);
    expect(running.directory.staleSince).toBeUndefined();
    expect(isAlive(pid)).toBe(true); // still frozen: the injection held
  } finally {
    signalProcess(pid, 'SIGCONT');
  }
});

describe('a line that is cut without FIN', () => {
  it('for the open connections: noticed within 3 s, and the change that was missed takes effect', async () => {
    expect(control.proxy.blackHoleOpen()).toBeGreaterThanOrEqual(1);
    await control.pin('acme', running.hashed('acme'));
    await running.untilListening(false, NOTICED_MS);
    await running.untilRouted('acme', running.hashed('acme'), HEALED_MS);
    await running.untilListening(true, HEALED_MS);
  });

  it('and forwards again: late answers of the old connection change nothing (C25)', async () => {
    const old = await listener();
    control.proxy.blackHole();
    await control.pin('acme', running.hashed('acme'));
    await running.untilListening(false, NOTICED_MS);
    expect(await running.route('acme')).toBe(running.other('acme')); // stale, and known to be
    control.proxy.heal();
    await running.untilRouted('acme', running.hashed('acme'), HEALED_MS);
    await running.untilListening(true, HEALED_MS);
    expect((await control.listeners()).filter((pid) => pid === old)).toEqual([]);
  });
});

describe('a listener that cannot be had, by a way of its own', () => {
  const log = new RecordedLog();
  const boot = async () => {
    const ways = { primaryUrl: control.direct, maintenanceUrl: control.proxy.url(control.direct) };
    const app = await bootApp(control.options(ways), {}, { logger: log });
    apps.push(app);
    return new RunningDirectory(app);
  };
  const apps: INestApplication[] = [];
  const lines = () => log.of('directory').filter((line) => !line.startsWith('log: key'));
  const isSaid = (count: number) =>
    waitFor(async () => lines().length === count, { what: `${count} lines`, timeoutMs: 10_000 });

  beforeEach(async () => {
    await running.app.close(); // its pool goes through the proxy too
    log.lines.length = 0;
  });
  afterEach(async () => {
    for (const app of apps.splice(0)) await app.close();
  });

  it('is said once, and that it is back; the pool is asked meanwhile', async () => {
    const deaf = await boot();
    const lost =
      'warn: nobody listens for changes of the directory (ECONNREFUSED): they are asked for through the pool, and take effect seconds later. Is maintenance_url right?';
    const back = 'log: changes of the directory are listened for again';
    for (let round = 0; round < 2; round++) {
      await control.proxy.refuse();
      await control.proxy.dropAll();
      await isSaid(2 * round + 1);
      for (const to of [deaf.hashed('acme'), deaf.other('acme')]) {
        await control.pin('acme', to);
        await deaf.untilRouted('acme', to, HEALED_MS);
      }
      expect(deaf.directory.staleSince).toBeUndefined();
      await control.proxy.accept();
      await isSaid(2 * round + 2);
    }
    const said = lines().map((line) => line.replace('ECONNRESET', 'ECONNREFUSED')); // a heartbeat may be under way
    expect(said).toEqual([lost, back, lost, back]);
  }, 60_000);

  it('is said at boot', async () => {
    await control.proxy.refuse();
    await boot();
    expect(lines()).toEqual([expect.stringMatching(/^warn: .*\(ECONNREFUSED\)/)]);
    await control.proxy.accept();
    await isSaid(2);
  }, 60_000);
});

it('a line that goes silent after the answer to a heartbeat, or before it, is one and the same', async () => {
  for (const when of ['before', 'after'] as const) {
    control.proxy.cutOn(/_sharding_directory_changes/, when, 'silent');
    const expected = control.proxy.injections + 1;
    await running.untilListening(false, 1000 + NOTICED_MS);
    expect(control.proxy.injections).toBe(expected);
    const to = when === 'before' ? running.hashed('acme') : running.other('acme');
    await control.pin('acme', to);
    await running.untilRouted('acme', to, HEALED_MS);
    await running.untilListening(true, HEALED_MS);
  }
});

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { AsyncLocalStorage } from 'node:async_hooks';
import { Follower, retryMs } from './follower.js';
import type { Ask, Followed, Hearing } from './follower.js';

let clock = 0;
let asked: string[] = [];
let failures: Error[] = [];
let heard: string[] = [];
let onAsk: () => void | Promise<void>;
let follower: Follower;

const way =
  (name: string): Ask =>
  async (query) => {
    asked.push(`${name} ${typeof query === 'string' ? query.slice(0, 6) : 'query'}`);
    await onAsk();
    return [];
  };
const followed: Followed = {
  reload: async (ask) => void (await ask('reload')),
  catchUp: async (ask) => (await ask('changes')).length > 0,
  failed: (error) => failures.push(error),
};
const hearing: Hearing = {
  deaf: ({ message }) => heard.push(message),
  listens: () => heard.push('listens'),
};

beforeEach(() => {
  jest.spyOn(performance, 'now').mockImplementation(() => clock);
  [clock, asked, failures, heard] = [0, [], [], []];
  onAsk = () => undefined;
  follower = new Follower(followed, { listener: way('listener'), pool: way('pool') }, hearing);
});
afterEach(async () => {
  await follower.stop();
  jest.restoreAllMocks();
});

it('listens, reads everything, and asks for changes from then on', async () => {
  await follower.step();
  await follower.step();
  expect(asked).toEqual(['listener listen', 'listener reload', 'listener change']);
  expect([follower.listening, follower.trouble]).toEqual([true, undefined]);
});

it('asks the pool where the listener fails, and says so only where both do', async () => {
  onAsk = () => {
    if (asked.at(-1)!.startsWith('listener')) throw new Error('no listener');
  };
  await follower.step();
  expect([asked, follower.listening, follower.trouble]).toEqual([
    ['listener listen', 'pool change'],
    false,
    undefined,
  ]);
  onAsk = () => {
    throw new Error(asked.at(-1));
  };
  await follower.step();
  expect(failures.map(({ message }) => message)).toEqual(['listener listen']);
  expect(follower.trouble).toBe(failures[0]);
  onAsk = () => undefined;
  await follower.step();
  expect(heard).toEqual(['no listener', 'listens']);
});

it('belongs to none of those who wait for a step', async () => {
  const requests = new AsyncLocalStorage<string>();
  const seen: unknown[] = [];
  onAsk = () => void seen.push(requests.getStore());
  await requests.run('request', () => follower.freshStep());
  expect(seen).toEqual([undefined, undefined]);
});

it('one step is for all who ask at the same time; a fresh one begins after the one under way', async () => {
  await follower.step();
  asked = [];
  const steps = [follower.step(), follower.step(), follower.freshStep(), follower.freshStep()];
  await Promise.all(steps);
  expect(asked).toEqual(['listener change', 'listener change']);
});

describe('a process that stood still', () => {
  it('is one in which nothing happened for three seconds; a whole step ends it', async () => {
    await follower.step();
    clock = 3000;
    expect(follower.stoodStill).toBe(false);
    clock = 3001;
    expect(follower.stoodStill).toBe(true); // being asked is no sign of life: only the loop is
    clock = 3002;
    expect(follower.stoodStill).toBe(true);
    await follower.freshStep();
    expect(follower.stoodStill).toBe(false);
  });

  it('in the middle of a step: that step does not count', async () => {
    await follower.step();
    onAsk = () => void (clock += 3001);
    const step = follower.step();
    await step;
    expect(follower.stoodStill).toBe(true);
    onAsk = () => undefined;
    await follower.freshStep();
    expect(follower.stoodStill).toBe(false);
  });

  it('is not one that waits for a slow answer, piece by piece', async () => {
    onAsk = () => void (clock += 1500);
    for (let step = 0; step < 5; step++) await follower.step();
    expect(follower.stoodStill).toBe(false);
  });
});

describe('stop', () => {
  it('ends the loop, asks nothing more, and whoever waits gets on', async () => {
    await follower.step();
    follower.start();
    await follower.stop();
    asked = [];
    await follower.freshStep();
    await follower.step();
    clock = 100_000;
    expect([asked, follower.stoodStill, follower.trouble]).toEqual([[], false, undefined]);
  });

  it('in the middle of a step: after the statement under way', async () => {
    let release: () => void = () => undefined;
    onAsk = () => new Promise<void>((resolve) => (release = resolve));
    const step = follower.step();
    const stopped = follower.stop();
    release();
    await Promise.all([step, stopped]);
    expect(asked).toEqual(['listener listen']);
  });
});

it.each([
  [0, 50, 100],
  [1, 50, 100],
  [3, 200, 400],
  [6, 1000, 2000],
  [1000, 1000, 2000],
])('tries again after %i failures within %i to %i ms, by chance', (failures, least, most) => {
  expect([retryMs(failures, 0), retryMs(failures, 1)]).toEqual([least, most]);
  expect(new Set(Array.from({ length: 100 }, () => retryMs(failures))).size).toBeGreaterThan(50);
});

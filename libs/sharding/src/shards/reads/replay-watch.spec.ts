import { beforeEach, expect, it } from '@jest/globals';
import { ReplayWatch } from './replay-watch.js';

let at: bigint;
let asked: number;
let underWay: number;
let most: number;
let watch: ReplayWatch;

beforeEach(() => {
  [at, asked, underWay, most] = [0n, 0, 0, 0];
  watch = new ReplayWatch(async () => {
    asked++;
    most = Math.max(most, ++underWay);
    await new Promise((resolve) => setImmediate(resolve));
    underWay--;
    return at;
  });
});

it('tells at once what is replayed, and asks no more', async () => {
  at = 5n;
  expect(await watch.reached(5n, 1000)).toBe(true);
  expect(asked).toBe(1);
});

it('asks one question at a time for all who wait, and wakes each at its own position', async () => {
  const order: string[] = [];
  const waiting = Array.from({ length: 50 }, () => watch.reached(1n, 5000).then(() => order.push('near')));
  const far = watch.reached(2n, 5000).then((reached) => order.push(`far ${reached}`));
  at = 1n;
  await Promise.all(waiting);
  expect(order).toHaveLength(50);
  at = 2n;
  await far;
  expect(order.at(-1)).toBe('far true');
  expect(most).toBe(1);
  expect(asked).toBeLessThan(50);
});

it('gives up when the time is up, each waiter at its own', async () => {
  const patient = watch.reached(1n, 5000);
  const began = performance.now();
  expect(await watch.reached(1n, 30)).toBe(false);
  expect(performance.now() - began).toBeLessThan(1000);
  at = 1n;
  expect(await patient).toBe(true);
});

it('gives up in time also when the replica does not answer', async () => {
  let questions = 0;
  const silent = new ReplayWatch(() => {
    questions++;
    return new Promise(() => undefined);
  });
  const began = performance.now();
  expect(await Promise.all([silent.reached(1n, 20), silent.reached(1n, 40)])).toEqual([false, false]);
  expect(performance.now() - began).toBeLessThan(1000);
  expect(questions).toBe(1);
});

it('asks again after a question that failed', async () => {
  let questions = 0;
  const shaky = new ReplayWatch(async () => {
    if (++questions < 3) throw new Error('down');
    return 1n;
  });
  expect(await shaky.reached(1n, 5000)).toBe(true);
  const dead = new ReplayWatch(async () => Promise.reject(new Error('down')));
  expect(await dead.reached(1n, 20)).toBe(false);
});

import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { ProcessLease } from './process-lease.js';
import type { Ask } from './follower.js';

let clock = 0;
let failure: Error | undefined;
let written: unknown[] = [];
let forgets = 0;
let forgetting: Error | undefined;
let warnings: string[] = [];
let lease: ProcessLease;

const ask: Ask = async (query) => {
  if (typeof query === 'string') {
    forgets++;
    if (forgetting) throw forgetting;
    return [];
  }
  if (failure) throw failure;
  written.push(query.values?.[2]);
  return [];
};

beforeEach(() => {
  jest.spyOn(performance, 'now').mockImplementation(() => clock);
  [clock, failure, written, warnings] = [0, undefined, [], []];
  [forgets, forgetting] = [0, undefined];
  lease = new ProcessLease((line) => warnings.push(line));
});
afterEach(() => void jest.restoreAllMocks());

async function renewAt(ms: number, revision: number): Promise<void> {
  clock = ms;
  await lease.renew(ask, revision);
}

it('is written at once, each ten seconds, and soon after a change', async () => {
  expect(lease.written).toBe(false);
  await renewAt(0, 1);
  await renewAt(100, 2); // a burst
  await renewAt(200, 3);
  await renewAt(250, 3);
  await renewAt(10_199, 3);
  expect(written).toEqual([1, 3]);
  await renewAt(10_200, 3);
  expect(written).toEqual([1, 3, 3]);
  expect(lease.written).toBe(true);
});

it('a lost connection is the business of who lent it, and it is tried again after a second', async () => {
  await renewAt(0, 1);
  failure = new Error('timeout expired');
  await expect(renewAt(300, 2)).rejects.toBe(failure);
  failure = undefined;
  await renewAt(1000, 2);
  expect(written).toEqual([1]);
  await renewAt(1300, 2);
  expect(written).toEqual([1, 2]);
  expect(warnings).toEqual([]);
});

it.each(['42501', '25006', '55P03', '42P01'])('%s is said once and harms nothing else', async (code) => {
  failure = Object.assign(new Error('text of the server'), { code });
  await renewAt(0, 1);
  await renewAt(9999, 2);
  await renewAt(10_000, 2);
  expect(lease.written).toBe(false);
  expect(warnings).toEqual([
    `_sharding_processes cannot be written (${code}): moves will not know what this process routes by`,
  ]);
  failure = undefined;
  await renewAt(20_000, 2);
  expect(written).toEqual([2]);
});

it('takes the rows of those that were killed away, at the first renewal and at each hundredth', async () => {
  for (let n = 0; n < 100; n++) await renewAt(n * 10_000, 1);
  expect([written.length, forgets]).toEqual([100, 1]);
  await renewAt(1_000_000, 1);
  expect([written.length, forgets]).toEqual([101, 2]);
});

it('minds no refusal of that, and tells of a lost connection', async () => {
  forgetting = Object.assign(new Error('text of the server'), { code: '42501' });
  await renewAt(0, 1);
  expect([lease.written, forgets, warnings]).toEqual([true, 1, []]);
  lease = new ProcessLease((line) => warnings.push(line));
  forgetting = new Error('timeout expired');
  await expect(renewAt(0, 1)).rejects.toBe(forgetting);
});

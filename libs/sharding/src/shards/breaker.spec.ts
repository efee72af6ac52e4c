import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Breaker } from './breaker.js';

const LABEL = 'shard:shard0';
const refused = () => Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
const busy = () => new Error('timeout exceeded when trying to connect');
const full = () => Object.assign(new Error('sorry'), { code: '53300' });

let serverIs: 'up' | 'down' | 'full';
let active: number;
let probes: number;
let lines: string[];
let breaker: Breaker;

beforeEach(() => {
  jest.useFakeTimers();
  [serverIs, active, probes, lines] = ['down', 0, 0, []];
  const told = (level: string) => (message: unknown) => void lines.push(`${level} ${String(message)}`);
  Logger.overrideLogger({ log: told('log'), warn: told('warn'), error: told('error') });
  breaker = new Breaker({
    label: LABEL,
    active: () => active,
    probe: async () => {
      probes++;
      if (serverIs === 'down') throw refused();
      if (serverIs === 'full') throw full();
    },
  });
});

afterEach(() => {
  breaker.close();
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
  Logger.overrideLogger(false);
});

const open = () => {
  for (let time = 0; time < 3; time++) breaker.failed(refused());
};

describe('a closed breaker', () => {
  it('lets pass', () => expect(() => breaker.assertClosed()).not.toThrow());

  it('opens after three connections that failed in a row, no earlier', () => {
    breaker.failed(refused());
    breaker.failed(refused());
    breaker.succeeded();
    breaker.failed(refused());
    breaker.failed(refused());
    expect(breaker.state).toBe('closed');
    breaker.failed(refused());
    expect(breaker.state).toBe('open');
  });

  it('is not opened by a busy pool of a server that answers', async () => {
    serverIs = 'up';
    for (let time = 0; time < 20; time++) {
      breaker.failed(busy());
      await jest.advanceTimersByTimeAsync(10);
    }
    expect(breaker.state).toBe('closed');
    expect(probes).toBe(20);
    expect(lines).toEqual([]);
  });

  it('is not opened by a server that has no connections left', async () => {
    serverIs = 'full';
    for (let time = 0; time < 20; time++) breaker.failed(full());
    breaker.failed(busy());
    await jest.advanceTimersByTimeAsync(10);
    expect(breaker.state).toBe('closed');
  });

  it('is opened by one look at a server that does not answer, however many ask for it', async () => {
    await Promise.all([breaker.look(), breaker.look(), breaker.look()]);
    expect(breaker.state).toBe('open');
    expect(probes).toBe(1);
  });
});

describe('connections in use', () => {
  it('that give no answer make a probe look once a second', async () => {
    serverIs = 'up';
    active = 1;
    breaker.used();
    await jest.advanceTimersByTimeAsync(3500);
    expect(probes).toBe(3);
    expect(breaker.state).toBe('closed');
    serverIs = 'down';
    await jest.advanceTimersByTimeAsync(1000);
    expect(breaker.state).not.toBe('closed');
  });

  it('that give answers, or that nobody uses any more, make none', async () => {
    active = 1;
    for (let time = 0; time < 50; time++) {
      breaker.used();
      await jest.advanceTimersByTimeAsync(100);
      breaker.answered();
    }
    active = 0;
    await jest.advanceTimersByTimeAsync(10_000);
    expect(probes).toBe(0);
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('an open breaker', () => {
  it.each([
    ['shard:shard0', 'shard_unavailable', 'shard "shard0" is unavailable'],
    ['shard:shard0:replica', 'replica_unavailable', 'the replica of shard "shard0" is unavailable'],
    ['control', 'shard_unavailable', 'the control database is unavailable'],
  ])('of %s refuses at once with %s and says why', (label, code, message) => {
    const other = new Breaker({ label, active: () => 0, probe: async () => Promise.reject(refused()) });
    for (let time = 0; time < 3; time++) other.failed(refused());
    expect(() => other.assertClosed()).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(message) }),
    );
    expect(() => other.assertClosed()).toThrow(/ECONNREFUSED, nothing listens there/);
    other.close();
  });

  it('probes soon, then once a second, and refuses meanwhile', async () => {
    open();
    expect(probes).toBe(0);
    await jest.advanceTimersByTimeAsync(130);
    expect(probes).toBe(1);
    expect(breaker.state).toBe('open');
    await jest.advanceTimersByTimeAsync(10_000);
    expect(probes).toBeGreaterThan(8);
    expect(probes).toBeLessThan(18);
    expect(() => breaker.assertClosed()).toThrow();
  });

  it('is half open while it looks, and refuses then too', async () => {
    let answer: () => void = () => undefined;
    const slow = new Breaker({
      label: LABEL,
      active: () => 0,
      probe: () => new Promise<void>((resolve) => (answer = resolve)),
    });
    for (let time = 0; time < 3; time++) slow.failed(refused());
    await jest.advanceTimersByTimeAsync(130);
    expect(slow.state).toBe('half_open');
    expect(() => slow.assertClosed()).toThrow();
    answer();
    await jest.advanceTimersByTimeAsync(0);
    expect(slow.state).toBe('closed');
    slow.close();
  });

  it('closes when a probe works, and opens again only after three more failures', async () => {
    open();
    serverIs = 'up';
    await jest.advanceTimersByTimeAsync(130);
    expect(breaker.state).toBe('closed');
    expect(() => breaker.assertClosed()).not.toThrow();
    breaker.failed(refused());
    breaker.failed(refused());
    expect(breaker.state).toBe('closed');
  });

  it('closes for a server that has no connections left: those of the pool work', async () => {
    open();
    serverIs = 'full';
    await jest.advanceTimersByTimeAsync(130);
    expect(breaker.state).toBe('closed');
  });
});

it('tells an outage once when it begins and once when it ends', async () => {
  open();
  for (let time = 0; time < 5; time++) breaker.failed(refused());
  await jest.advanceTimersByTimeAsync(5000);
  serverIs = 'up';
  await jest.advanceTimersByTimeAsync(1300);
  breaker.succeeded();
  expect(lines).toEqual([
    'warn cannot be reached (ECONNREFUSED, nothing listens there)',
    'log is reachable again',
  ]);
});

it('does nothing any more once it is closed down, not even for a probe that was under way', async () => {
  open();
  const before = probes;
  breaker.close();
  breaker.failed(refused());
  await breaker.look();
  await jest.advanceTimersByTimeAsync(10_000);
  expect(probes).toBe(before);
});

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DirectoryLog } from './directory-log.js';
import type { PinChange } from './directory-log.js';

let clock = 0;
let lines: string[] = [];
let log: DirectoryLog;

beforeEach(() => {
  jest.spyOn(performance, 'now').mockImplementation(() => clock);
  [clock, lines] = [0, []];
  log = new DirectoryLog({
    log: (line) => lines.push(`log ${line}`),
    warn: (line) => lines.push(`warn ${line}`),
  });
});
afterEach(() => void jest.restoreAllMocks());

const on = (shard?: string, group?: number) => ({ shard, group });

describe('changes of pins', () => {
  it('name the key, and where it was and is', () => {
    const same = on('shard0');
    const changes: PinChange[] = [
      { key: 'acme', before: on('shard0'), after: on('shard1') },
      { key: 'a\n"b', before: undefined, after: on(undefined, 7) },
      { key: 'c', before: on('shard0', 7), after: undefined },
      { key: 'd', before: same, after: same },
      { key: 'e', after: on('shard\n1') },
      { key: 'f', after: undefined },
    ];
    log.changed(changes, 12);
    expect(lines).toEqual([
      'log key "acme": shard0 -> shard1 (revision 12)',
      'log key "a\\n\\"b": no row -> group 7 (revision 12)',
      'log key "c": shard0 in group 7 -> no row (revision 12)',
      'log key "e": "shard\\n1" (revision 12)',
      'log key "f": no row (revision 12)',
    ]);
  });

  it('are twenty in ten seconds at most, whoever writes how many; the rest is counted', () => {
    const change = (n: number) => ({ key: `k${n}`, before: undefined, after: on('shard1') });
    for (let n = 0; n < 15; n++) log.changed([change(n)], n);
    log.changed(
      Array.from({ length: 100 }, (_, n) => change(n)),
      15,
    );
    log.reread(100_000, 16);
    expect(lines).toHaveLength(20);
    clock = 9999;
    log.tick();
    expect(lines).toHaveLength(20);
    clock = 10_000;
    log.tick();
    log.reread(undefined, 17);
    clock = 30_000;
    log.tick();
    expect(lines.slice(20)).toEqual([
      'log 96 more changes of pins: _sharding_placement_log has them',
      'log many pins changed: each key is looked up anew (revision 17)',
    ]);
  });
});

describe('trouble', () => {
  it('is said once, and once that it is over', () => {
    const refused = Object.assign(new Error('connect to db.internal'), { code: 'ECONNREFUSED' });
    log.answered();
    log.listens();
    for (let n = 0; n < 3; n++) log.deaf(refused);
    for (let n = 0; n < 3; n++) log.unanswered(new Error('timeout expired'), 'what is known is used');
    expect(log.staleSince).toBeInstanceOf(Date);
    for (let n = 0; n < 3; n++) log.answered();
    for (let n = 0; n < 3; n++) log.listens();
    expect(log.staleSince).toBeUndefined();
    expect(lines).toEqual([
      'warn nobody listens for changes of the directory (ECONNREFUSED): they are asked for through the pool, and take effect seconds later. Is maintenance_url right?',
      'warn the directory cannot be read (no answer in time): what is known is used',
      'log the directory answers again',
      'log changes of the directory are listened for again',
    ]);
  });
});

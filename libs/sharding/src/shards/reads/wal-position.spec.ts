import { beforeEach, describe, expect, it, test } from '@jest/globals';
import { WalPosition } from './wal-position.js';
import type { StandingConnection } from '../standing-connection.js';

type Row = { lsn: string | null; byte: number; page: number };

let pending: { answer(row: Row): void; fail(error: Error): void; limitMs: number }[];
let seen: bigint[];
let wal: WalPosition;
const row = (lsn: string, byte = 100): Row => ({ lsn, byte, page: 8192 });

beforeEach(() => {
  pending = [];
  seen = [];
  const query = (_sql: string, limitMs: number) =>
    new Promise<Row[]>((resolve, reject) => {
      pending.push({ answer: (given) => resolve([given]), fail: reject, limitMs });
    });
  wal = new WalPosition({ query } as unknown as StandingConnection, (lsn) => seen.push(lsn));
});

describe('questions', () => {
  it('that come while one is under way share the next one', async () => {
    const first = wal.current();
    const others = [wal.current(), wal.current(), wal.current()];
    expect(pending).toHaveLength(1);
    pending[0]!.answer(row('0/1'));
    expect(await first).toBe(1n);
    await Promise.resolve();
    expect(pending).toHaveLength(2);
    pending[1]!.answer(row('0/2'));
    expect(await Promise.all(others)).toEqual([2n, 2n, 2n]);
    expect(seen).toEqual([1n, 2n]);
  });

  it('are asked although the one before has failed', async () => {
    const [first, second] = [wal.current(), wal.current()];
    first.catch(() => undefined);
    pending[0]!.fail(new Error('down'));
    await expect(first).rejects.toThrow('down');
    await Promise.resolve();
    pending[1]!.answer(row('0/2'));
    expect(await second).toBe(2n);
  });

  it('a sample joins what is under way, and has a bound of its own', async () => {
    const current = wal.current();
    const sample = wal.sample(50);
    expect(pending).toHaveLength(1);
    pending[0]!.answer(row('0/1'));
    await Promise.all([current, sample]);
    const alone = wal.sample(50);
    expect(pending[1]!.limitMs).toBe(50);
    pending[1]!.answer(row('0/2'));
    await alone;
  });

  it('without an answer are errors', async () => {
    const current = wal.current();
    pending[0]!.answer({ ...row(''), lsn: null });
    await expect(current).rejects.toThrow('the primary gave no position');
  });
});

test.each([
  ['in a page', '0/1701098', 4248, 0x1701098n],
  ['behind the header of a file', '0/1800028', 40, 0x1800000n],
  ['behind the header of a page', '0/1802018', 8192 + 24, 0x1802000n],
  ['as far from the begin of a page as from that of a file', '0/1802028', 8192 + 40, 0x1802028n],
])('a position %s is where the last record ends', async (_what, text, byte, lsn) => {
  const current = wal.current();
  pending[0]!.answer(row(text, byte));
  expect(await current).toBe(lsn);
});

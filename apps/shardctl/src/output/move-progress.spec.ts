import { expect, it } from '@jest/globals';
import { PassThrough } from 'node:stream';
import { showMove, type ShownMove } from './move-progress.js';
import { toldOn } from './told.js';

const MOVE = '5d0f0f4e-2f5e-4f52-9a8e-4b8c3d2e1f00';
const copy = {
  move: MOVE,
  step: 'copy',
  table: 'public.\u001bnotes',
  expected: { rows: 1000, bytes: 50_000 },
} as const;

/** What a stream was written while `use` had it; time passes only when it says so. */
function written(terminal: object, use: (shown: ShownMove, pass: (ms: number) => void) => void): string {
  const stream = new PassThrough();
  let now = 5;
  const told = toldOn(Object.assign(stream, terminal) as unknown as NodeJS.WriteStream, 'text');
  const shown = showMove(told, () => now);
  use(shown, (ms) => (now += ms));
  shown.end();
  return String(stream.read() ?? '');
}

it('is plain lines where nobody looks, not too many, safe for a terminal', () => {
  const text = written({}, (shown, pass) => {
    expect(shown.move()).toBeUndefined();
    shown.note('another mover holds it:\n- wait');
    shown.progress({ move: MOVE, step: 'planned' });
    expect(shown.move()).toBe(MOVE);
    shown.progress({ move: MOVE, step: 'sequences-raised' });
    shown.progress({ ...copy, bytes: 0 });
    for (let second = 1; second <= 25; second++) {
      pass(1000);
      shown.progress({ ...copy, bytes: second * 1000 });
    }
    shown.progress({ ...copy, bytes: 26_000, rows: 520 });
    shown.progress({ ...copy, table: 'public.tags', bytes: 0 });
    shown.progress({ ...copy, table: 'public.tags', bytes: 21, rows: 0 });
    shown.progress({ move: MOVE, step: 'verified' });
  });
  expect(text.trimEnd().split('\n')).toEqual([
    'shardctl: another mover holds it: wait',
    'move 5d0f0f4e: planned: nothing is in the way',
    'public.\\x1bnotes: copying about 1,000 rows',
    'public.\\x1bnotes: 10 kB of about 50 kB, 1.0 kB/s, about 20 rows/s, 40 s left',
    'public.\\x1bnotes: 20 kB of about 50 kB, 1.0 kB/s, about 20 rows/s, 30 s left',
    'public.\\x1bnotes: copied 520 rows, 26 kB in 25 s (21 rows/s, 1.0 kB/s)',
    'public.tags: copying about 1,000 rows',
    'public.tags: copied 0 rows, 21 B',
    'move 5d0f0f4e: verified',
  ]);
});

it('is a bar below the lines on a terminal', () => {
  const moves = {
    cursorTo: () => true,
    moveCursor: () => true,
    clearLine: () => true,
    clearScreenDown: () => true,
  };
  const text = written({ isTTY: true, columns: 120, ...moves }, (shown, pass) => {
    shown.progress({ ...copy, bytes: 0 });
    pass(1000);
    shown.progress({ ...copy, bytes: 10_000 });
    pass(10);
    shown.progress({ ...copy, bytes: 11_111 });
    shown.note('said above it');
    shown.progress({ ...copy, bytes: 50_000, rows: 1000 });
    shown.progress({ move: MOVE, step: 'copy-committed' });
  });
  expect(text).toContain(
    '[====                ] public.\\x1bnotes: 10 kB of about 50 kB, 10 kB/s, about 200 rows/s, 4 s left',
  );
  expect(text).toContain('shardctl: said above it\n');
  expect(text).toContain('move 5d0f0f4e: the copy equals the source, and is committed\n');
  expect(text).not.toContain('11 kB');
  expect(text).not.toContain('\u001bnotes');
});

import { expect, it } from '@jest/globals';
import { PassThrough } from 'node:stream';
import { toldOn, type Told } from '../output/told.js';
import { showProgress } from './migrate-progress.js';
import type { TargetResult } from '@app/sharding/operator';

const result: TargetResult = { target: 'control', state: 'done', names: [], interleaved: [], ms: 1 };

/** What a stream was written while `use` had it, without what moves the cursor. */
function written(terminal: object, use: (told: Told) => void): string {
  const stream = new PassThrough();
  use(toldOn(Object.assign(stream, terminal) as unknown as NodeJS.WriteStream, 'text'));
  return String(stream.read() ?? '');
}

it('is plain lines where nobody looks, safe for a terminal', () => {
  const text = written({}, (told) => {
    const shown = showProgress(told);
    shown.log('target=control applied A');
    shown.progress({ finished: 1, total: 2, result });
    shown.log('target=shard:a failed (42601): \x1b[31mred');
    shown.end();
  });
  expect(text).toBe('target=control applied A\ntarget=shard:a failed (42601): \\x1b[31mred\n');
});

it('is a bar below the lines on a terminal', () => {
  const moves = {
    cursorTo: () => true,
    moveCursor: () => true,
    clearLine: () => true,
    clearScreenDown: () => true,
  };
  const text = written({ isTTY: true, columns: 80, ...moves }, (told) => {
    const shown = showProgress(told);
    shown.progress({ finished: 1, total: 2, result });
    shown.log('target=control applied A');
    shown.progress({ finished: 2, total: 2, result });
    shown.end();
  });
  expect(text).toMatch(/\[=+ *\] [12]\/2 targets, \d+s/);
});

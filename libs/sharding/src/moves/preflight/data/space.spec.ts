import { expect, test } from '@jest/globals';
import { movedBytes } from './space.js';

test.each([
  [{ rows: 100, bytes: 1000 }, 10, 100],
  [{ rows: 100, bytes: 1000 }, 0, 0],
  [{ rows: 0, bytes: 1000 }, 10, 1000],
  [{ rows: 5, bytes: 1000 }, 10, 1000],
])('of %j %i rows take %i bytes', (whole, moved, bytes) => expect(movedBytes(whole, moved)).toBe(bytes));

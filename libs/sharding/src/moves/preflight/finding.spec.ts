import { expect, test } from '@jest/globals';
import { counted, inOrder, type Finding } from './finding.js';

test.each([
  [0n, '0 rows'],
  [1n, '1 row'],
  [1234n, '1,234 rows'],
])('%i', (count, text) => expect(counted(count, 'row')).toBe(text));

test('findings come by check, and of one check as they were made', () => {
  const finding = (check: Finding['check'], message: string): Finding => ({
    check,
    severity: 'error',
    message,
  });
  const made = [finding('rows', 'a'), finding('table', 'b'), finding('rows', 'c'), finding('server', 'd')];
  expect(inOrder(made).map(({ message }) => message)).toEqual(['d', 'b', 'a', 'c']);
});

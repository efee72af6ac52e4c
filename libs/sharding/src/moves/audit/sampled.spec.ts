import { expect, test } from '@jest/globals';
import { isSampled } from './sampled.js';

const keys = Array.from({ length: 20_000 }, (_none, index) => `tenant-${index}`);

test.each([0.5, 5, 30, 90])('about %s %% of the keys, and always the same', (percent) => {
  const sample = keys.filter((key) => isSampled(key, percent));
  expect(sample.length / 200).toBeGreaterThan(percent * 0.8);
  expect(sample.length / 200).toBeLessThan(percent * 1.2 + 1);
  const smaller = keys.filter((key) => isSampled(key, percent / 2));
  expect(smaller.every((key) => sample.includes(key))).toBe(true);
});

test('all of them', () => expect(keys.every((key) => isSampled(key, 100))).toBe(true));

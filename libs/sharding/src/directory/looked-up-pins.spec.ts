import { expect, it } from '@jest/globals';
import { LookedUpPins } from './looked-up-pins.js';

const found = (shard?: string) => ({
  pin: shard === undefined ? undefined : { shard, group: undefined },
  revision: 1,
  readAt: 0,
});

it('keeps hits and misses, and forgets what changed', () => {
  const pins = new LookedUpPins();
  pins.set('acme', found('shard1'));
  pins.set('globex', found());
  expect([pins.get('acme'), pins.get('globex'), pins.get('umbrella')]).toEqual([
    found('shard1'),
    found(),
    undefined,
  ]);
  pins.set('acme', found('shard0')); // after it was asked for twice
  expect(pins.get('acme')).toEqual(found('shard0'));
  pins.delete('acme');
  expect(pins.get('acme')).toBeUndefined();
  pins.clear();
  expect(pins.size).toBe(0);
});

it('is bounded, and a flood of keys that are seen once pushes out none that is asked for again', () => {
  const pins = new LookedUpPins();
  const real = Array.from({ length: 100 }, (_, n) => `real-${n}`);
  for (const key of real) {
    pins.set(key, found('shard1'));
    pins.get(key);
  }
  for (let n = 0; n < 200_000; n++) pins.set(`invented-${n}`, found());
  expect(real.filter((key) => pins.get(key) === undefined)).toEqual([]);
  expect(pins.size).toBeLessThanOrEqual(40_000);
});

it.each(['__proto__', 'constructor', 'toString'])('%s is a key like any other', (key) => {
  const pins = new LookedUpPins();
  expect(pins.get(key)).toBeUndefined();
  pins.set(key, found('shard1'));
  expect(pins.get(key)).toEqual(found('shard1'));
});

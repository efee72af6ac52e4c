import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ReplicaLag } from './replica-lag.js';

let lag: ReplicaLag;

beforeEach(() => {
  lag = new ReplicaLag();
});

it('is not known before the replica was seen', () => {
  lag.primaryAt(10n, 0);
  expect(lag.lagMs).toBeUndefined();
  expect(lag.replayed).toBeUndefined();
});

describe('while the last sample is replayed', () => {
  it('is 0, however long the primary has been idle and whatever the replica claims', () => {
    lag.primaryAt(10n, 0);
    lag.replayedTo(10n, 5, 3_600_000);
    expect(lag.lagMs).toBe(0);
    for (let now = 1000; now < 100_000; now += 1000) {
      lag.primaryAt(10n, now);
      lag.replayedTo(10n, now + 1, now + 3_600_000);
      expect(lag.lagMs).toBe(0);
    }
  });

  it('is 0 when the replica is ahead of the sample, and before there is any', () => {
    lag.replayedTo(20n, 0, 500);
    expect(lag.lagMs).toBe(0);
    lag.primaryAt(10n, 10);
    expect(lag.lagMs).toBe(0);
  });
});

describe('behind', () => {
  it('is at least the age of the oldest sample that is not replayed', () => {
    lag.primaryAt(10n, 0);
    lag.replayedTo(10n, 10);
    lag.primaryAt(20n, 100);
    lag.primaryAt(30n, 200);
    lag.replayedTo(10n, 1000);
    expect(lag.lagMs).toBe(900);
    lag.replayedTo(20n, 1000);
    expect(lag.lagMs).toBe(800);
    lag.replayedTo(30n, 1000);
    expect(lag.lagMs).toBe(0);
  });

  it.each([
    ['in between counts', 950, 950],
    ['of a clock that is behind', -7_200_000, 900],
    ['of a clock that is ahead', 7_200_000, 990],
    ['that is not given', undefined, 900],
  ])('the claim of the replica %s', (_what, claimed, ms) => {
    lag.primaryAt(10n, 0);
    lag.replayedTo(10n, 10);
    lag.primaryAt(20n, 100);
    lag.replayedTo(15n, 1000, claimed);
    expect(lag.lagMs).toBe(ms);
  });

  it('is what it was when the replica was last asked: not to have asked is no lag', () => {
    lag.primaryAt(10n, 0);
    lag.replayedTo(10n, 10);
    lag.primaryAt(20n, 100);
    expect(lag.lagMs).toBe(0);
    lag.replayedTo(15n, 150);
    expect(lag.lagMs).toBe(50);
    lag.primaryAt(30n, 60_000);
    expect(lag.lagMs).toBe(50);
  });
});

it('forgets positions of a primary that is no more (failover, restore)', () => {
  lag.primaryAt(1000n, 0);
  lag.replayedTo(500n, 10);
  lag.primaryAt(400n, 100);
  lag.replayedTo(400n, 110);
  expect(lag.lagMs).toBe(0);
  lag.primaryAt(450n, 200);
  lag.replayedTo(400n, 300);
  expect(lag.lagMs).toBe(100);
});

it('holds its bounds with a limited number of samples', () => {
  let samples = 0;
  for (; samples < 10_000; samples++) lag.primaryAt(BigInt(samples), samples * 1000);
  lag.replayedTo(0n, samples * 1000);
  for (const replayed of [0, 1, 10, 100, 1000, 5000, 9000, 9900]) {
    lag.replayedTo(BigInt(replayed), samples * 1000);
    const right = (samples - replayed - 1) * 1000;
    expect(lag.lagMs! / right).toBeGreaterThan(0.6);
    expect(lag.lagMs).toBeLessThanOrEqual(right);
  }
  lag.replayedTo(BigInt(samples), samples * 1000);
  expect(lag.lagMs).toBe(0);
});

it('never tells less than nothing, nor 0 while a sample that the replica was asked after is not replayed', () => {
  const step = fc.record({ write: fc.integer({ min: 0, max: 5 }), replay: fc.integer({ min: 0, max: 5 }) });
  const claim = fc.option(fc.integer({ min: -1_000_000, max: 1_000_000 }), { nil: undefined });
  fc.assert(
    fc.property(fc.array(fc.tuple(step, claim), { maxLength: 200 }), (steps) => {
      const watched = new ReplicaLag();
      let [primary, replica, now] = [0n, 0n, 0];
      for (const [{ write, replay }, claimed] of steps) {
        primary += BigInt(write);
        watched.primaryAt(primary, now);
        replica = replica + BigInt(replay) > primary ? primary : replica + BigInt(replay);
        watched.replayedTo(replica, (now += 10), claimed);
        const ms = watched.lagMs!;
        if (replica === primary) expect(ms).toBe(0);
        else expect(ms).toBeGreaterThanOrEqual(10);
        expect(ms).toBeLessThanOrEqual(Math.max(now, claimed ?? 0));
      }
    }),
  );
});

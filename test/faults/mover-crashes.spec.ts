import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { MOVE_POINTS, type MovePoint } from '@app/sharding/operator';
import { MoveTrial } from '../support/move-trial.js';

/** A mover that dies at any moment, and the same command again: MOVE.md, What a crash leaves. */
let trial: MoveTrial;
const seen = new Set<MovePoint>();

beforeAll(async () => {
  trial = await MoveTrial.start();
});
afterAll(() => trial.dispose());
beforeEach(() => trial.reset());

class Crash extends Error {}

/** Gives whether the moment has come. */
function dieAt(point: MovePoint) {
  const died = { at: 0 };
  const reached = async (now: MovePoint) => {
    seen.add(now);
    if (now !== point) return;
    died.at++;
    await trial.dropAll();
    throw new Crash(now);
  };
  return { died, reached };
}

const COPYING: MovePoint[] = [
  'planned',
  'destination-closed',
  'sequences-raised',
  'rows-copied',
  'copy-committed',
  'copied',
  'destination-opened',
  'verified',
];

describe.each(COPYING)('a mover that dies at %s', (point) => {
  it('leaves every row, and the same command verifies', async () => {
    const { died, reached } = dieAt(point);
    await expect(trial.move({ reached })).rejects.toThrow(Crash);
    expect(died.at).toBe(1);
    expect(await trial.counts()).toEqual(COPYING.indexOf(point) < 4 ? [40, 0] : [40, 40]);
    expect(await trial.move()).toMatchObject({ state: 'verified' });
    expect(await trial.counts()).toEqual([40, 40]);
  });
});

describe.each(['fence-raised', 'fenced', 'destination-opened', 'verified'] as MovePoint[])(
  'a mover that dies at %s behind the fence',
  (point) => {
    it('leaves every row, and the same command verifies', async () => {
      const { died, reached } = dieAt(point);
      await expect(trial.move({ reached }, { writes: 'fenced' })).rejects.toThrow(Crash);
      expect(died.at).toBe(1);
      expect(await trial.counts()).toEqual([40, 40]);
      expect(await trial.move({}, { writes: 'fenced' })).toMatchObject({ state: 'verified' });
      expect(await trial.counts()).toEqual([40, 40]);
    });
  },
);

const PURGING: MovePoint[] = ['tombstones-set', 'rows-deleted', 'purge-committed', 'purged'];

describe.each(PURGING)('a mover that dies at %s', (point) => {
  it('leaves every row, and the same command purges', async () => {
    await trial.move();
    await trial.route('shard1');
    const { died, reached } = dieAt(point);
    await expect(trial.confirm({ reached })).rejects.toThrow(Crash);
    expect(died.at).toBe(1);
    expect(await trial.counts()).toEqual(PURGING.indexOf(point) < 2 ? [40, 40] : [0, 40]);
    if (point !== 'purged') expect(await trial.confirm()).toMatchObject({ state: 'purged' });
    expect(await trial.counts()).toEqual([0, 40]);
  });
});

describe.each(['copy-removed', 'aborted'] as MovePoint[])('an abort that dies at %s', (point) => {
  it('leaves the source as it was, and the same command ends the move', async () => {
    const { id } = await trial.move();
    const { died, reached } = dieAt(point);
    await expect(trial.run((moves) => moves.abort(id, { leaseMs: 400, reached }))).rejects.toThrow(Crash);
    expect(died.at).toBe(1);
    expect(await trial.counts()).toEqual([40, 0]);
    expect(await trial.run((moves) => moves.abort(id))).toMatchObject({ state: 'aborted' });
  });
});

it('died at every moment that a move has', () => {
  expect([...seen].toSorted()).toEqual([...MOVE_POINTS].toSorted());
});

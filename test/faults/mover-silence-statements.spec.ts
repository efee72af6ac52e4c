import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { LINKS, MoveTrial } from '../support/move-trial.js';
import type { MoveRecord, MovePoint } from '@app/sharding/operator';

/** A link of the mover falls silent between any two of its steps: the next statement there is never answered. */
jest.setTimeout(30_000);

let trial: MoveTrial;

beforeAll(async () => {
  trial = await MoveTrial.start();
});
afterAll(() => trial.dispose());
beforeEach(() => trial.reset());

function silentAt(point: MovePoint, link: (typeof LINKS)[number]) {
  const fallen = { connections: 0 };
  const reached = (now: MovePoint) => {
    if (now === point && fallen.connections === 0) fallen.connections = trial.proxies[link].blackHoleOpen();
  };
  return { fallen, options: { reached, watch: { everyMs: 100, answerMs: 1000 } } };
}

/** It may not have needed that link any more. */
async function endsInTime(state: string, move: Promise<MoveRecord>): Promise<void> {
  const end = await move.catch((error: unknown) => error);
  if ((end as MoveRecord).state === state) return;
  expect(end).toMatchObject({ code: expect.stringMatching(/^(shard_unavailable|move_refused)$/) }); // a lease that is lost is told so
}

const FENCED: MovePoint[] = [
  'planned',
  'sequences-raised',
  'rows-copied',
  'copy-committed',
  'fence-raised',
  'fenced',
];
const PURGE: MovePoint[] = ['tombstones-set', 'rows-deleted', 'purge-committed'];

describe.each(LINKS)('the %s falls silent', (link) => {
  it.each(FENCED)('at %s, and the same command verifies', async (point) => {
    const { fallen, options } = silentAt(point, link);
    await endsInTime('verified', trial.move(options, { writes: 'fenced' }));
    expect(fallen.connections).toBeGreaterThan(0);
    await trial.dropAll();
    expect(await trial.move({}, { writes: 'fenced' })).toMatchObject({ state: 'verified' });
    expect(await trial.counts()).toEqual([40, 40]);
  });

  it.each(PURGE)('at %s, and the same command purges', async (point) => {
    await trial.move();
    await trial.route('shard1');
    const { fallen, options } = silentAt(point, link);
    await endsInTime('purged', trial.confirm(options));
    expect(fallen.connections).toBeGreaterThan(0);
    await trial.dropAll();
    const [open] = await trial.fleet.moves((moves) => moves.list());
    if (open?.state !== 'purged') expect(await trial.confirm()).toMatchObject({ state: 'purged' });
    expect(await trial.counts()).toEqual([0, 40]);
  });
});

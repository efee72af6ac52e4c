import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { LINKS, MoveTrial, type Link } from '../support/move-trial.js';
import { seededPick } from '../support/seeded-random.js';
import type { MoveRecord } from '@app/sharding/operator';

/**
 * Connections of a mover are cut before and after each of its statements, on each link; then the same command again. Here a
 * sample of the cuts; `npm run soak:cuts` makes all of them.
 */
const SEED = Number(process.env['FAULT_SEED'] ?? Date.now() % 1_000_000);
const CUTS = process.env['MOVE_CUTS'] === 'all' ? Infinity : Number(process.env['MOVE_CUTS'] ?? 12);

const PHASES = ['move', 'confirm'] as const;

interface Cut {
  readonly phase: (typeof PHASES)[number];
  readonly link: Link;
  readonly k: number;
  readonly when: 'before' | 'after';
}

let trial: MoveTrial;

beforeAll(async () => {
  trial = await MoveTrial.start();
});
afterAll(() => trial.dispose());

const run: Readonly<Record<Cut['phase'], () => Promise<MoveRecord>>> = {
  move: () => trial.move({}, { writes: 'fenced' }),
  confirm: () => trial.confirm(),
};
const STATE = { move: 'verified', confirm: 'purged' } as const;

it(`heals whatever statement is cut (FAULT_SEED=${SEED})`, async () => {
  const cuts = sample(await allCuts());
  const before = trial.injections;
  for (const cut of cuts) {
    const first = await cutOnce(cut);
    await trial.counts();
    if ((first as MoveRecord).state !== STATE[cut.phase]) await again(cut);
    await trial.counts();
  }
  expect(trial.injections - before).toBe(cuts.length);
}, 3_600_000);

/** A command may need a statement less than the one that was counted: a lease that is not renewed, a trigger that is there. */
async function cutOnce({ phase, link, k, when }: Cut): Promise<unknown> {
  const before = trial.injections;
  for (let at = k; at > 0; at--) {
    await trial.reset();
    if (phase === 'confirm') await verifiedAndRouted();
    trial.proxies[link].cutAt(at, when);
    const end = await run[phase]().catch((error: unknown) => error);
    if (trial.injections > before) return end;
    trial.proxies[link].forgetCuts();
  }
  throw new Error(`${phase} sends nothing to ${link}`);
}

/** What was committed and not heard of is found; where that was the very last step, there is nothing left to do. */
async function again(cut: Cut): Promise<void> {
  const [move] = await trial.fleet.moves((moves) => moves.list());
  if (cut.phase === 'confirm' && move?.state === 'purged') return;
  expect(await run[cut.phase]()).toMatchObject({ state: STATE[cut.phase] });
}

async function verifiedAndRouted(): Promise<void> {
  await run.move();
  await trial.route('shard1');
}

/** Every statement of a command that nobody disturbs, on each link. */
async function allCuts(): Promise<Cut[]> {
  const cuts: Cut[] = [];
  for (const phase of PHASES) {
    await trial.reset();
    if (phase === 'confirm') await verifiedAndRouted();
    const before = LINKS.map((link) => trial.proxies[link].statements);
    await run[phase]();
    for (const [at, link] of LINKS.entries()) {
      const statements = trial.proxies[link].statements - (before[at] ?? 0);
      for (let k = 1; k < statements; k++) {
        cuts.push({ phase, link, k, when: 'before' }, { phase, link, k, when: 'after' });
      }
    }
  }
  return cuts;
}

function sample(cuts: readonly Cut[]): Cut[] {
  const pick = seededPick(SEED);
  const rest = [...cuts];
  const chosen: Cut[] = [];
  while (rest.length > 0 && chosen.length < CUTS) chosen.push(...rest.splice(pick(rest.length), 1));
  return chosen;
}

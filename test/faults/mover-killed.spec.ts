import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { MoveTrial } from '../support/move-trial.js';
import { MoverProcess } from '../support/mover-process.js';
import { seededRandom } from '../support/seeded-random.js';
import type { MoveRecord, MoveRequest } from '@app/sharding/operator';

/** Movers that are killed (SIGKILL) at random moments; then the same command again. `npm run soak:moves` kills more. */
const SEED = Number(process.env['FAULT_SEED'] ?? Date.now() % 1_000_000);
const KILLS = Number(process.env['MOVE_KILLS'] ?? 50);

type Verb = 'move' | 'confirm';
const STATE = { move: 'verified', confirm: 'purged' } as const;

let trial: MoveTrial;
const random = seededRandom(SEED);

beforeAll(async () => {
  trial = await MoveTrial.start();
});
afterAll(() => trial.dispose());

it(`loses no row and doubles none under ${KILLS} kills (FAULT_SEED=${SEED})`, async () => {
  const seen = { injected: 0, verified: 0, purged: 0, late: 0 };
  let next = starting(nextVerb());
  while (seen.injected < KILLS) {
    const { verb, mover: ready } = next;
    const mover = await ready;
    next = starting(nextVerb()); // loads while this one works
    await trial.reset();
    if (verb === 'confirm') await verifiedAndRouted();
    const killed = await killSoon(mover, verb);
    if (killed) seen.injected++;
    else seen.late++;
    await trial.counts();
    if (killed) await heal(verb);
    seen[STATE[verb]]++;
    const [source, destination] = await trial.counts();
    expect([source, destination]).toEqual(verb === 'move' ? [40, 40] : [0, 40]);
    if (seen.late > 20 + KILLS) throw new Error('the kills come too late');
  }
  await (await next.mover).kill();
  if (process.env['MOVE_KILLS']) report(seen);
  expect(seen.injected).toBe(KILLS);
  expect(seen.verified).toBeGreaterThan(0);
  expect(seen.purged).toBeGreaterThan(0);
}, 36_000_000);

function report({
  injected,
  verified,
  purged,
}: Readonly<Record<'injected' | 'verified' | 'purged', number>>): void {
  process.stdout.write(
    `kills: injected ${injected} = planned ${KILLS}, lost 0, duplicated 0, healed ${verified + purged} (FAULT_SEED=${SEED})\n`,
  );
}

let started = 0;
const nextVerb = (): Verb => (started++ % 2 === 0 ? 'move' : 'confirm');

function starting(verb: Verb): { verb: Verb; mover: Promise<MoverProcess> } {
  const mover = MoverProcess.start({ options: trial.options, verb, request: request(verb) });
  mover.catch(() => undefined); // whoever awaits it hears of it
  return { verb, mover };
}

function request(verb: Verb): MoveRequest {
  const keys = [trial.moving];
  return trial.fleet.request(verb === 'move' ? { keys, writes: 'fenced' } : { keys });
}

/** How long the commands take, as far as was seen: kills come before their end. */
const usual = { move: 400, confirm: 250 };

async function killSoon(mover: MoverProcess, verb: Verb): Promise<boolean> {
  const began = performance.now();
  mover.begin();
  await pause(random() * usual[verb]);
  const state = await mover.kill();
  if (state === undefined) return true;
  usual[verb] = Math.max(20, Math.min(usual[verb], performance.now() - began) * 0.8);
  return false;
}

async function heal(verb: Verb): Promise<void> {
  const [move] = await trial.fleet.moves((moves) => moves.list());
  if (verb === 'confirm' && move?.state === 'purged') return; // and it could not say so any more
  const end: MoveRecord =
    verb === 'move' ? await trial.move({}, { writes: 'fenced' }) : await trial.confirm();
  expect(end.state).toBe(STATE[verb]);
}

async function verifiedAndRouted(): Promise<void> {
  await trial.move();
  await trial.route('shard1');
}

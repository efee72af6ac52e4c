import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { waitFor } from '@test/support';
import { codeOf, type LoadAnswer } from '../support/load.js';
import { seededRandom } from '../support/seeded-random.js';
import { ILL, NotesFleet, lostOrDoubled } from '../support/notes-fleet.js';

/** Wherever a connection is cut: what was acknowledged is there once, what is unavailable is not there (P2, P8). */
let fleet: NotesFleet;
let answers: LoadAnswer[];

beforeEach(async () => {
  fleet = await NotesFleet.start();
  answers = [];
});

afterEach(() => fleet.dispose());

async function write(path: string): Promise<void> {
  const text = `note ${answers.length}`;
  answers.push({ ...(await fleet.write(ILL, text, path)), tenant: ILL, text });
}

async function expectTruth(): Promise<void> {
  const rows = await fleet.texts();
  const stored = new Set(rows.map(({ text }) => text));
  expect(lostOrDoubled(answers, rows)).toEqual({ lost: [], doubled: [] });
  const failures = answers.filter(({ status }) => status !== 201);
  const known = ['shard_unavailable', 'commit_unknown'];
  expect(failures.filter((answer) => !known.includes(codeOf(answer)!))).toEqual([]);
  const unavailable = failures.filter((answer) => codeOf(answer) === 'shard_unavailable');
  expect(unavailable.filter(({ text }) => stored.has(text!))).toEqual([]);
}

describe.each(['notes', 'notes/saved'])('a write by /%s', (path) => {
  it('tells the truth at each of its statements, cut before and after', async () => {
    let planned = 0;
    for (let k = 1; k <= 6; k++) {
      for (const when of ['before', 'after'] as const) {
        fleet.proxy.cutAt(k, when);
        planned++;
        await waitFor(
          async () => {
            await write(path); // refused at once while the library spares a shard that has just failed
            return fleet.proxy.injections === planned;
          },
          { what: `cut ${planned}` },
        );
      }
    }
    expect(fleet.proxy.injections).toBe(planned);
    expect(answers.some(({ status }) => status !== 201)).toBe(true);
    await fleet.untilWell();
    await fleet.untilIdle();
    await expectTruth();
  });
});

const SEED = Number(process.env['FAULT_SEED'] ?? Date.now() % 1_000_000);

it(`concurrent writes tell the truth under 20 cuts at random (FAULT_SEED=${SEED})`, async () => {
  const random = seededRandom(SEED);
  const cuts = 20;
  let statements = 0;
  for (let cut = 0; cut < cuts; cut++) {
    statements += 1 + Math.floor(random() * 10);
    fleet.proxy.cutAt(statements, random() < 0.5 ? 'before' : 'after');
  }
  const paths = ['notes', 'notes/saved'];
  const deadline = performance.now() + 20_000;
  const lanes = Array.from({ length: 4 }, async () => {
    while (fleet.proxy.injections < cuts && performance.now() < deadline) {
      const text = `note ${Math.floor(random() * 2 ** 32)}`;
      const answer = await fleet.write(ILL, text, paths[Math.floor(random() * 2)]);
      answers.push({ ...answer, tenant: ILL, text });
    }
  });
  await Promise.all(lanes);
  expect(fleet.proxy.injections).toBe(cuts);
  await fleet.untilWell();
  await fleet.untilIdle();
  await expectTruth();
});

import { expect, it } from '@jest/globals';
import { LooksAhead } from './looks-ahead.js';
import type { MigrationTarget } from './migration-target.js';

const NAMES = Array.from({ length: 12 }, (_none, index) => `shard:${index}`);
const TARGETS = NAMES.map((name) => ({ name }) as MigrationTarget);

/** One target after the other, by what is seen there: `yes`, `no`, or `silent` for a look that fails. */
async function inTurn(seen: (name: string, look: number) => 'yes' | 'no' | 'silent', targets = TARGETS) {
  const looked: string[] = [];
  const turns: string[] = [];
  const looks = new LooksAhead(async ({ name }) => {
    looked.push(name);
    const answer = seen(name, looked.filter((one) => one === name).length);
    if (answer === 'silent') throw new Error(`${name} is silent`);
    return answer === 'yes';
  });
  for (const [index, target] of targets.entries()) {
    const before = looked.length;
    const done = await looks.isDone(target, targets.slice(index + 1)).catch((error: Error) => error.message);
    turns.push(`${target.name} ${done}, ${looked.length - before} looks`);
  }
  await looks.settled();
  return { looked, turns };
}

it('looks at each target once, at up to eight behind one that is up to date', async () => {
  const { looked, turns } = await inTurn(() => 'yes');
  expect(looked.toSorted()).toEqual(NAMES.toSorted());
  expect(turns.slice(0, 6)).toEqual([
    'shard:0 true, 1 looks',
    'shard:1 true, 8 looks', // itself, and the seven that follow
    'shard:2 true, 1 looks',
    'shard:3 true, 1 looks',
    'shard:4 true, 1 looks',
    'shard:5 true, 0 looks', // all are asked
  ]);
});

it('looks at nobody ahead behind one that has something to do', async () => {
  const { turns } = await inTurn(() => 'no');
  expect(turns).toEqual(NAMES.map((name) => `${name} false, 1 looks`));
});

it('finds the one that has something to do among others', async () => {
  const { looked, turns } = await inTurn((name) => (name === 'shard:4' ? 'no' : 'yes'));
  expect(looked.toSorted()).toEqual(NAMES.toSorted());
  expect(turns.filter((turn) => turn.includes('false'))).toEqual(['shard:4 false, 1 looks']);
});

it('asks again in its turn who gave no answer before it', async () => {
  const { turns } = await inTurn((name, look) => (name === 'shard:3' && look === 1 ? 'silent' : 'yes'));
  expect(turns[3]).toBe('shard:3 true, 2 looks');
});

it('fails in its turn, and not before it', async () => {
  const { turns } = await inTurn((name) => (name === 'shard:3' ? 'silent' : 'yes'));
  expect(turns.filter((turn) => turn.includes('silent'))).toEqual(['shard:3 shard:3 is silent, 2 looks']);
});

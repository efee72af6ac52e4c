import { expect, it } from '@jest/globals';
import { onTerminal } from '../../support/on-terminal.js';
import { Shardctl } from '../../support/shardctl.js';
import { Migrating, SHARD } from './migrating.js';

const at = Migrating.everyTest();
const { main } = Shardctl.attach();

const QUESTION = `the canary shard:shard1 has ${SHARD.length + 1} more; go on with the others? [y/N] `;

/** `migrate` on a terminal; types the answer when it is asked. */
function migrateOnTerminal(answer: string): Promise<{ code: number; said: string }> {
  const command = [process.execPath, main, 'migrate', '--canary', 'shard1', '--parallel', '2'];
  return onTerminal({ command, cwd: at.cwd, question: QUESTION, answer, timeoutMs: 40_000 });
}

/** The rows of the summary, without what depends on time. */
const summary = (said: string) =>
  said
    .split(/\r*\n/)
    .map((line) => /^(control|shard:\w+) +(done|not attempted) +(\d+) /.exec(line)?.slice(1).join(' '))
    .filter((row) => row !== undefined);

const all = SHARD.length + 1;

it('asks behind the canary, with a bar below, and goes on after a yes', async () => {
  const { code, said } = await migrateOnTerminal('y\n');
  expect(code).toBe(0);
  expect(said).toMatch(/\[=+ *\] 2\/4 targets/);
  expect(summary(said).slice(1)).toEqual([0, 1, 2].map((shard) => `shard:shard${shard} done ${all}`));
});

it.each([
  ['no', 'n\n', 1],
  ['an empty line', '\n', 1],
  ['the end of the input', '\x04', 1],
  ['an interrupt', '\x03', 130],
])('takes %s for no, and tells what is done', async (_what, answer, expected) => {
  const { code, said } = await migrateOnTerminal(answer);
  expect(code).toBe(expected);
  expect(summary(said).slice(1)).toEqual([
    'shard:shard0 not attempted 0',
    `shard:shard1 done ${all}`,
    'shard:shard2 not attempted 0',
  ]);
  expect(said).toContain('shardctl: stopped behind the canary: 2 not attempted; run again to go on');
});

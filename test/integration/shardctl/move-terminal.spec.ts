import { beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import { spawn } from 'node:child_process';
import { shellWord } from '../../../apps/shardctl/src/output/move-shell.js';
import { Shardctl } from '../../support/shardctl.js';
import { ACME, MoveFleet } from './move-fleet.js';

jest.setTimeout(120_000);

const shardctl = Shardctl.attach();
let at: MoveFleet;
beforeAll(async () => {
  at = await MoveFleet.create();
});
beforeEach(() => at.fill({ [ACME]: 3 }));

/** The verb on a terminal that util-linux makes; types the answer when it is asked. */
async function onTerminal(answer: string, ...args: string[]): Promise<{ code: number; said: string }> {
  const command = [process.execPath, shardctl.main, ...args].map(shellWord).join(' ');
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    cwd: await shardctl.workingDirectory(at.toml),
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], TERM: 'dumb', NO_COLOR: '1' },
    stdio: ['pipe', 'pipe', 'inherit'],
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
  let said = '';
  let answered = false;
  child.stdout.on('data', (text: Buffer) => {
    said += text.toString();
    if (answered || !said.includes('[y/N] ')) return;
    answered = true;
    child.stdin.write(answer);
  });
  const code = await new Promise<number>((done) => child.once('close', (status) => done(status ?? -1)));
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  return { code, said: said.replaceAll(/\u001b\[[?\d;]*[A-Za-z]/g, '').replaceAll('\r', '') };
}

it('move abort asks, and does it after a yes', async () => {
  const { id } = await at.move({ keys: [ACME] });
  const short = id.slice(0, 8);
  const question = `move ${short} of "${ACME}" is verified; delete its copy at shard1? The rows at shard0 stay [y/N] `;
  expect(await onTerminal('n\n', 'move', 'abort', id)).toEqual({
    code: 1,
    said: `${question}n\nshardctl: nothing was changed; to abort it say --yes\n`,
  });
  expect(await at.counts(ACME)).toEqual([3, 3]);
  expect(await onTerminal('yes\n', 'move', 'abort', id)).toEqual({
    code: 0,
    said: [
      `${question}yes`,
      `move ${short}: the copy is gone`,
      `move ${short}: aborted`,
      `aborted move ${short}: no copy of "${ACME}" is at shard1; the rows at shard0 were not touched`,
      '',
    ].join('\n'),
  });
  expect(await at.counts(ACME)).toEqual([3, 0]);
});

it('a copy that takes its time has a bar', async () => {
  await at.fill({ [ACME]: 30_000 });
  await at.fleet.query(0, 'analyze bookmarks');
  const { code, said } = await onTerminal(
    '',
    ...`move-slot --from shard0 --to shard1 --tenant ${ACME} --throttle 12000`.split(' '),
  );
  expect(code).toBe(0);
  expect(said).toMatch(
    /\[=+ +\] public\.bookmarks: [\d.]+ kB of about [\d.]+ MB, \d+ kB\/s, about [\d,]+ rows\/s, \d s left/,
  );
  expect(said).toMatch(/public\.bookmarks: copied 30,000 rows, [\d.]+ [kM]B in \d s \([\d,]+ rows\/s, /);
});

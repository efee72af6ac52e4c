import { beforeAll, beforeEach, expect, it } from '@jest/globals';
import { onTerminal } from '../../support/on-terminal.js';
import { Shardctl } from '../../support/shardctl.js';
import { Mapped, SHRUNK, TWO } from './mapped.js';

const shardctl = Shardctl.attach();
let maps: Mapped;
beforeAll(async () => {
  maps = await Mapped.create(shardctl);
});
beforeEach(() => maps.forget());

const QUESTION = 'record this as version 2? [y/N] ';

/** `map accept` on a terminal; types the answer when it is asked. */
async function acceptOnTerminal(answer: string, ...args: string[]): Promise<{ code: number; said: string }> {
  const { code, said } = await onTerminal({
    command: [process.execPath, shardctl.main, 'map', 'accept', ...args],
    cwd: await shardctl.workingDirectory(maps.toml(SHRUNK)),
    question: QUESTION,
    answer,
    timeoutMs: 25_000,
  });
  return { code, said: plain(said) };
}

/** Without what moves the cursor, and the echo of the terminal. */
function plain(said: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  return said.replaceAll(/\u001b\[[\d;]*[A-Za-z]/g, '').replaceAll('\r', '');
}

const SHOWN = `the configured slot map differs from version 1:
  slots 8001-8191 from shard0 to shard1, WITHOUT a verified move
`;

const RECORDED = ['1: shard0 0 0-8191', '1: shard1 1 8192-16383'];

it('asks on a terminal, and records after a yes', async () => {
  await maps.boot(TWO);
  expect(await acceptOnTerminal('y\n')).toEqual({
    code: 0,
    said: `${SHOWN}${QUESTION}y\nrecorded as version 2\n`,
  });
  expect(await maps.recorded()).toEqual([...RECORDED, '2: shard0 0 0-8000', '2: shard1 1 8001-16383']);
  expect(await acceptOnTerminal('')).toEqual({
    code: 0,
    said: 'version 2 is what is configured: nothing to accept\n',
  });
});

it.each([
  ['no', 'no\n', 1, 'no\nshardctl: nothing was recorded; to record it say --yes\n'],
  ['an empty line', '\n', 1, '\nshardctl: nothing was recorded; to record it say --yes\n'],
  ['the end of the input', '\x04', 1, 'shardctl: nothing was recorded; to record it say --yes\n'],
  ['an interrupt', '\x03', 130, '^C\n'],
])('takes %s for no', async (_what, answer, code, said) => {
  await maps.boot(TWO);
  expect(await acceptOnTerminal(answer)).toEqual({ code, said: `${SHOWN}${QUESTION}${said}` });
  expect(await maps.recorded()).toEqual(RECORDED);
});

import { expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { VERBS } from '../../../apps/shardctl/src/commands/index.js';
import { Shardctl } from '../../support/shardctl.js';
import { OFFLINE } from './deployed.js';

const shardctl = Shardctl.attach();
const ROWS = '--from shard0 --to shard1 --tenant acme';
const MOVE = '00000000-0000-4000-8000-000000000000';

/** A command line of each verb; those with `!` have no other answer where every database is down. */
const LINES = [
  'route acme',
  'slots',
  'topology',
  'map history !',
  'map accept --yes !',
  'pin acme shard0 !',
  'unpin acme !',
  'pins !',
  'place acme --group 0 !',
  'ping',
  'doctor',
  `query 'select 1'`,
  'migrate',
  'migrate status',
  'migrate down !',
  'schema diff',
  `move-slot ${ROWS} !`,
  'moves !',
  `move show ${MOVE} !`,
  `move resume ${MOVE} !`,
  `move abort ${MOVE} --yes !`,
  `purge ${MOVE} !`,
  `verify ${ROWS} !`,
  `certificate ${MOVE} !`,
  'audit !',
  'repair --yes !',
  'actions stuck !',
  'outbox status',
  'sagas',
  'init',
  'config',
];

interface Said {
  readonly line: string;
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** What each line says to `--json`: all of them in one process, one after the other. */
async function saidBy(lines: readonly string[], toml: string, ...more: string[]): Promise<Said[]> {
  const cwd = await shardctl.workingDirectory(toml);
  const program = join(cwd, 'lines.mjs');
  await writeFile(
    program,
    `import { runShardctl } from ${JSON.stringify(join(dirname(shardctl.main), 'run-shardctl.js'))};
    const print = process.stdout.write.bind(process.stdout);
    const all = [];
    for (const line of ${JSON.stringify(lines)}) {
      const said = { line, code: 0, out: '', err: '' };
      process.stdout.write = (text) => (said.out += text);
      process.stderr.write = (text) => (said.err += text);
      const args = [...line.matchAll(/'([^']*)'|[^ !]+/g)].map(([word, quoted]) => quoted ?? word);
      said.code = await runShardctl([...args, '--json', ...${JSON.stringify(more)}]);
      all.push(said);
    }
    print(JSON.stringify(all), () => process.exit());`,
  );
  const { stdout } = await promisify(execFile)(process.execPath, [program], { cwd, timeout: 25_000 });
  return JSON.parse(stdout) as Said[];
}

it('has a line for every verb', () => {
  expect([...new Set(LINES.map((line) => line.split(' ')[0]))]).toEqual(VERBS.map(({ name }) => name));
});

it('tells mistakes of the configuration in one form, whatever the verb', async () => {
  const without = LINES.filter((line) => line !== 'init' && line !== 'doctor');
  const error = {
    code: 'invalid_topology',
    message: 'the sharding configuration has problems: the configuration file nope.toml does not exist',
  };
  expect(await saidBy(without, OFFLINE, '--config', 'nope.toml')).toEqual(
    without.map((line) => ({ line, code: 1, out: '', err: `${JSON.stringify({ error })}\n` })),
  );
});

it('tells what has failed in one form, as the only answer or behind it', async () => {
  const all = await saidBy(LINES, OFFLINE);
  const down = all.filter(({ line }) => line.endsWith('!') || line === 'init');
  expect(down.map(({ code, out }) => [code, out])).toEqual(down.map(() => [1, '']));
  for (const { line, err } of down) {
    const error = { code: expect.stringMatching(/^\w+$/), message: expect.stringMatching(/^[^\n]+$/) };
    expect({ line, said: JSON.parse(err) as unknown }).toEqual({ line, said: { error } });
  }
  const answered = all.filter((said) => !down.includes(said));
  for (const { out } of answered) expect(JSON.parse(out)).toEqual(expect.any(Object));
  const lines = answered.flatMap(({ line, err }) =>
    err
      .split('\n')
      .filter(Boolean)
      .map((text) => [line, JSON.parse(text) as unknown]),
  );
  const refused =
    'the migrations of control failed; mend the cause and run again: targets before it are skipped';
  expect(lines).toEqual([
    [
      'migrate',
      { log: 'target=control failed (ECONNREFUSED): the control database cannot be reached (ECONNREFUSED)' },
    ],
    ['migrate', { log: 'target=shard:shard0 not attempted' }],
    ['migrate', { log: 'target=shard:shard1 not attempted' }],
    ['migrate', { error: { code: 'migration_failed', message: refused } }],
    ...['shard0', 'shard1'].map((shard) => [
      'outbox status',
      { note: `shard ${shard}: nothing listens there: is the server running? (ECONNREFUSED)` },
    ]),
    ...['shard0', 'shard1'].map((shard) => [
      'sagas',
      { note: `shard ${shard}: shard "${shard}" cannot be reached (ECONNREFUSED) (shard_unavailable)` },
    ]),
  ]);
});

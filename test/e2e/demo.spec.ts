import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { freePort, waitFor } from '@test/support';
import { isAlive } from '../support/processes.js';
import { isUpToDate } from '../support/up-to-date.js';
import { call } from '../support/bookmarks.js';

/** The demo as its user starts it: built, a process of its own, real servers. */
const MAIN = 'dist/apps/bookmarks/apps/bookmarks/src/demo.js';
const WALLETS = 'dist/apps/wallets/apps/wallets/src/demo.js';
let demo: ChildProcess;
let output = '';
let url: string;

/** What the builds read. */
const OPTIONS = [
  'package.json',
  'package-lock.json',
  'nest-cli.json',
  'tsconfig.json',
  'tsconfig.package.json',
];
const SOURCES = ['apps', 'libs', ...OPTIONS];

beforeAll(async () => {
  for (const [part, made] of [
    ['build:apps', MAIN],
    ['build:package', 'dist/package/apps/shardctl/src/main.js'],
  ] as const) {
    if (isUpToDate(made, SOURCES)) continue; // a check has just built it
    const build = spawnSync('npm', ['run', '--silent', part], { encoding: 'utf8' });
    if (build.status !== 0) throw new Error(build.stdout + build.stderr);
  }
  const port = await freePort();
  url = `http://localhost:${port}`;
  demo = spawn(process.execPath, [MAIN, '--port', String(port)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  demo.stdout?.on('data', (text: Buffer) => (output += text.toString()));
  demo.stderr?.on('data', (text: Buffer) => (output += text.toString()));
  await waitFor(async () => output.includes('start again with'), {
    what: 'the demo to be ready',
    timeoutMs: 60_000,
  });
}, 180_000);

afterAll(() => {
  demo.kill('SIGKILL');
});

const pidOf = (name: string) => Number(new RegExp(`^${name} pid (\\d+)$`, 'm').exec(output)?.[1]);
const down = async () => Object.keys(((await call(`${url}/health`)).body as { error: object }).error);

it('prints where it listens, a process id a server, and four requests', () => {
  expect(output).toContain(`\nready ${url}\n`);
  for (const name of ['control', 'shard0', 'shard1']) expect(isAlive(pidOf(name))).toBe(true);
  expect(output.match(/^curl .*$/gm)).toHaveLength(4);
});

it('serves acme from shard0 and globex from shard1', async () => {
  const shardOf = async (tenant: string) =>
    (await call(`${url}/api/bookmarks`, { tenant })).body as { shard: string };
  expect([(await shardOf('acme')).shard, (await shardOf('globex')).shard]).toEqual(['shard0', 'shard1']);
});

describe('the recipe of the README', () => {
  const [, recipe = ''] = /^```sh\n(CONTROL=[\s\S]*?)^```/m.exec(readFileSync('README.md', 'utf8')) ?? [];
  const lines = recipe.split('\n').filter((line) => line !== '');

  /** Runs a line as its reader would: in a shell, with what the demo has printed. */
  const run = (line: string) => {
    const [, control = ''] = /^control url (\S+)/m.exec(output) ?? [];
    const define = lines.filter((one) => one.startsWith('sql()')).join('\n');
    const script = `CONTROL='${control}'\n${define}\n${line.replace('localhost:3000', new URL(url).host)}`;
    const { status, stdout, stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
    if (status !== 0) throw new Error(`${line}\n${stderr}`);
    return stdout;
  };

  it('moves the next request of a tenant to the shard that it is pinned to, within a second', async () => {
    const steps = lines.filter((line) => /^(curl|sql ")/.test(line));
    expect(steps).toHaveLength(6);
    for (const step of steps) {
      const [, expected = ''] = / # (\{.*)$/.exec(step) ?? [];
      if (/ -d /.test(step) || expected === '') expect(run(step)).toContain(expected);
      else await waitFor(async () => run(step).startsWith(expected), { what: step, timeoutMs: 1000 });
    }
  });
});

const configuration = () => /^shardctl: --config (\S+)/m.exec(output)?.[1] ?? '';

describe('the command line, as the README shows it', () => {
  const [, recipe = ''] =
    /^```sh\n(npm run build:package[\s\S]*?)^```/m.exec(readFileSync('README.md', 'utf8')) ?? [];
  const [build = '', config = '', ...lines] = recipe.split('\n').filter((line) => line !== '');

  /** In a shell, with what the demo has printed. */
  const run = (verb: string) => {
    const line = lines.find((one) => one.startsWith(`npx shardctl ${verb}`)) ?? 'false';
    const script = `${config.replace('=FILE', `=${configuration()}`)}\n${line}`;
    const { status, stdout, stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
    return { status, stdout, stderr };
  };

  it('begins with what was built, and a file that others cannot read', () => {
    expect(build).toMatch(/^npm run build:package /);
    expect(config).toMatch(/^export SHARDING_CONFIG=FILE /);
    expect(lines).toHaveLength(5);
    expect(statSync(configuration()).mode & 0o777).toBe(0o600);
  });

  it('pings all databases', () => {
    const { status, stdout, stderr } = run('ping');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout.split('\n').map((line) => line.split(/ {2,}/).slice(0, 3).join(' '))).toEqual([
      'target role state',
      'control primary ok',
      'shard:shard0 primary ok',
      'shard:shard0 replica ok',
      'shard:shard1 primary ok',
      '',
    ]);
  });

  it('routes keys', () => {
    const { status, stdout } = run('route');
    const { directory, routes } = JSON.parse(stdout) as {
      directory: object;
      routes: Record<string, unknown>[];
    };
    expect({ status, directory }).toEqual({ status: 0, directory: { state: 'asked', error: null } });
    expect(routes.map(({ key, kind, shard }) => [key, kind, shard])).toEqual([
      ['acme', 'text', 'shard0'],
      ['globex', 'text', 'shard1'],
      ['42', 'text', expect.stringMatching(/^shard[01]$/)],
    ]);
  });

  it('has nothing to migrate', () => {
    const targets = ['control', 'shard:shard0', 'shard:shard1'];
    expect(run('migrate  ')).toMatchObject({
      status: 0,
      stderr: targets.map((target) => `target=${target} up to date\n`).join(''),
    });
  });

  it('knows the migrations', () => {
    const { status, stdout, stderr } = run('migrate status');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('CreateTagCounts1764460900000');
  });

  it('finds nothing wrong', () => {
    expect(run('doctor')).toEqual({
      status: 0,
      stdout: 'nothing found (20 checks, 4 databases)\n',
      stderr: '',
    });
  });
});

it('comes as a package whose command line works beside what it declares', () => {
  const place = mkdtempSync(join(tmpdir(), 'nestjs-sharding-package-'));
  const modules = join(place, 'node_modules');
  const home = join(modules, 'nestjs-sharding');
  const sh = (line: string, cwd = place) => execFileSync('bash', ['-euc', line], { cwd, encoding: 'utf8' });
  try {
    sh(`npm pack --silent --ignore-scripts --pack-destination '${place}'`, '.'); // it is built already
    sh(`mkdir -p '${home}' node_modules/.bin && tar -xzf *.tgz -C '${home}' --strip-components=1`);
    const { bin, dependencies, peerDependencies } = JSON.parse(
      readFileSync(join(home, 'package.json'), 'utf8'),
    ) as Record<'bin' | 'dependencies' | 'peerDependencies', Record<string, string>>;
    for (const name of Object.keys({ ...dependencies, ...peerDependencies })) {
      mkdirSync(dirname(join(modules, name)), { recursive: true });
      symlinkSync(resolve('node_modules', name), join(modules, name));
    }
    symlinkSync(`../nestjs-sharding/${bin['shardctl']}`, join(modules, '.bin/shardctl'));
    expect(sh('node_modules/.bin/shardctl --help')).toMatch(/^Usage: shardctl <verb> \[options\]\n/);
    sh('node_modules/.bin/shardctl init');
    const { routes } = JSON.parse(sh('node_modules/.bin/shardctl route acme globex 42 --json')) as {
      routes: Record<string, unknown>[];
    };
    expect(routes.map(({ key, slot, shard }) => [key, slot, shard])).toEqual([
      ['acme', 7695, 'shard0'],
      ['globex', 12846, 'shard1'],
      ['42', 4643, 'shard0'],
    ]);
  } finally {
    rmSync(place, { recursive: true });
  }
});

it('shows a killed shard, and starts it again at USR2', async () => {
  process.kill(pidOf('shard1'), 'SIGKILL');
  await waitFor(async () => (await down()).length > 0, { what: 'health to notice' });
  expect(await down()).toEqual(['db:shard:shard1']);
  expect(await call(`${url}/api/bookmarks`, { tenant: 'globex' })).toMatchObject({
    status: 503,
    body: { code: 'shard_unavailable' },
  });
  expect(await call(`${url}/api/stats`)).toMatchObject({
    body: { shard0: { bookmarks: 1 }, shard1: { bookmarks: null, error: 'shard_unavailable' } },
  });
  demo.kill('SIGUSR2');
  await waitFor(async () => (await call(`${url}/health`)).status === 200, {
    what: 'shard1 to be back',
    timeoutMs: 20_000,
  });
});

it('prints no escape codes where nobody reads them, warnings included', () => {
  expect(output).toContain('cannot be reached');
  expect(output).not.toContain('\u001b');
});

it.each([[['--port', 'abc']], [['--bogus']]])('explains itself when it is called with %j', (flags) => {
  const { status, stderr } = spawnSync(process.execPath, [MAIN, ...flags], { encoding: 'utf8' });
  expect(status).toBe(2);
  expect(stderr).toContain('npm run demo -- [options]');
  expect(stderr).not.toContain('    at ');
});

it('leaves nothing behind at SIGTERM', async () => {
  const pids = [...output.matchAll(/ pid (\d+)$/gm)].map(([, pid]) => Number(pid));
  const directories = pids
    .filter(isAlive)
    .map((pid) => spawnSync('readlink', [`/proc/${pid}/cwd`], { encoding: 'utf8' }).stdout.trim());
  const ended = new Promise<number | null>((resolve) => demo.once('exit', resolve));
  demo.kill('SIGTERM');
  expect(await ended).toBe(0);
  expect(pids.filter(isAlive)).toEqual([]);
  expect(configuration()).not.toBe('');
  expect(existsSync(configuration())).toBe(false);
  expect(directories.filter((directory) => directory !== '' && existsSync(directory))).toEqual([]);
});

it('the demonstration of wallets keeps the total while a shard is killed, and leaves no saga stuck', () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [WALLETS, '--transfers', '200', '--seed', '7', '--no-color'],
    { encoding: 'utf8', timeout: 120_000 },
  );
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout.split('\n')).toEqual(
    expect.arrayContaining([
      '30 wallets, total 300000',
      'mx-0 is killed: the other shards go on',
      'mx-0 runs again',
      '30 wallets, total 300000: unchanged',
      'no saga is stuck, compensating, running',
    ]),
  );
  const [, sent, within, across, refused] =
    /^sent (\d+): (\d+) within a shard, (\d+) between shards, refused (.*)$/m.exec(stdout) ?? [];
  const counts = (refused?.match(/\d+(?= )/g) ?? []).map(Number);
  expect(Number(sent)).toBe(200);
  expect([Number(within), Number(across), ...counts].reduce((sum, one) => sum + one)).toBe(200);
}, 150_000);

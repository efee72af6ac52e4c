import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse, stringify } from 'smol-toml';
import { slotOf } from '@app/routing';
import { DirectoryConnection, Shards } from '@app/sharding';
import { TestCluster } from '@test/support';
import { runOnce } from '../support/admin-query.js';
import { call } from '../support/bookmarks.js';
import { BookmarksProcess } from '../support/bookmarks-process.js';
import { compiledSources } from '../support/compiled-sources.js';
import { bootApp } from '../support/deployment.js';
import { MovingFleet } from '../support/moving-fleet.js';
import { Shardctl, type ShardctlEnd } from '../support/shardctl.js';
import type { INestApplication, Type } from '@nestjs/common';
import type { MoveRecord } from '@app/sharding';

/** What the README says about moving data, done as it is written. */
jest.setTimeout(300_000);

const [, chapter = ''] = /^## Moving data\n([\s\S]*?)^## /m.exec(readFileSync('README.md', 'utf8')) ?? [];
const [TENANT = '', RUNBOOK = ''] = chapter.split('### Adding a shard');

/** The words of each `shardctl` of a block. */
const commandsOf = (block: string) =>
  [...block.matchAll(/^shardctl ([^#\n]+)/gm)].map(([, words = '']) => words.trim().split(/\s+/));

const shardctl = Shardctl.attach();

describe('the runbook that adds a shard', () => {
  interface Table {
    readonly name: string;
    readonly slots: string[];
  }
  const NAMES = ['control', 'shard0', 'shard1', 'shard2'] as const;
  const urls: Record<string, string> = {};
  /** Before the runbook the split is automatic. */
  const shards = new Map<string, readonly string[] | undefined>([
    ['shard0', undefined],
    ['shard1', undefined],
  ]);
  const tenants = ['acme', 'globex', 'initech', 'hooli'];
  let cwd: string;
  let service: BookmarksProcess | undefined;

  afterEach(stop);

  /** One that is killed keeps its lease for half a minute, and movers wait for it. */
  async function stop(): Promise<void> {
    service?.terminate();
    await service?.ended;
  }

  /** Writes `sharding.toml`, and starts the service on it again. */
  async function deploy(): Promise<BookmarksProcess> {
    await stop();
    writeFileSync(
      join(cwd, 'sharding.toml'),
      stringify({
        database: {
          primary_url: urls['control'],
          slot_map_guard: 'strict',
          directory_shard_router: true,
          pool_size: 4,
          shards: [...shards].map(([name, slots]) => ({
            name,
            primary_url: urls[name],
            ...(slots && { slots }),
          })),
        },
        tenancy: { source: 'header' },
        migrations: { shards: [join(await compiledSources(), 'apps/bookmarks/src/*.migration.js')] },
      }),
    );
    const settings = { SHARDING_CONFIG: join(cwd, 'sharding.toml') };
    return (service = await BookmarksProcess.start({ control: urls['control']!, shards: [], settings }));
  }

  function edit(toml: string): void {
    const { database } = parse(toml) as unknown as { database: { shards: Table[] } };
    for (const { name, slots } of database.shards) shards.set(name, slots);
  }

  async function run(args: readonly string[]): Promise<ShardctlEnd> {
    const end = await shardctl.run(args, { cwd });
    if (end.code !== 0) throw new Error(`shardctl ${args.join(' ')}: ${end.err}${end.out}`);
    return end;
  }

  const bookmarks = (tenant: string, json?: object) =>
    call(`${service!.url}/api/bookmarks`, { tenant, ...(json && { json }) });

  const contents = async () => {
    const answers = await Promise.all(tenants.map((tenant) => bookmarks(tenant)));
    return answers.map(({ status, body }) => ({ status, body: { ...(body as object), shard: undefined } }));
  };

  const rowsOf = async (shard: string, tenant: string) => {
    const sql = 'select count(*)::int as rows from bookmarks where tenant_id = $1';
    return (await runOnce(urls[shard]!, sql, [tenant]))[0]?.['rows'];
  };

  it('moves one slot to a drained shard, and no row is lost or anywhere else', async () => {
    const cluster = TestCluster.attach();
    for (const label of NAMES) urls[label] = await cluster.createDatabase({ label });
    cwd = await shardctl.workingDirectory('');
    const steps = RUNBOOK.split(/^\*\*\d\. /m).slice(1);
    const said: Record<string, ShardctlEnd> = {};

    // as it was: two shards, an automatic split, four tenants
    await deploy().catch(() => undefined); // not migrated yet
    await run(['migrate']);
    await deploy();
    for (const tenant of tenants) {
      for (const title of ['one', 'two', 'three']) {
        expect((await bookmarks(tenant, { url: `https://${tenant}.test/${title}`, title })).status).toBe(201);
      }
    }
    const before = await contents();

    for (const [index, step] of steps.entries()) {
      const blocks = [...step.matchAll(/^```(sh|toml)\n([\s\S]*?)^```/gm)];
      for (const [, kind, block = ''] of blocks) {
        if (kind === 'toml') edit(block);
        // a new shard is migrated before the service starts on it
        if (kind === 'toml' && index === 1) writeDrained();
        else if (kind === 'toml') await deploy();
        else for (const words of commandsOf(block)) said[words.join(' ')] = await run(words);
      }
      if (index === 1) await deploy();
      expect(await contents()).toEqual(before);
      if (index === 2) {
        expect(await bookmarks('acme', { url: 'https://late.test', title: 'late' })).toMatchObject({
          status: 409,
          body: { code: 'shard_moved' },
        });
      }
    }

    const moved = said['move-slot --from shard0 --to shard2 --slot 7695 --fence --fence-seconds 900']!.out;
    expect(moved).toContain(
      '  # [[database.shards]] name = "shard0"\n  slots = ["0-7694", "7696-8191"]\n  # [[database.shards]] name = "shard2"\n  slots = ["7695"]\n',
    );
    expect(said['slots']!.out).toMatch(/shard0 .* 0-8191\nshard1 .* 8192-16383\n/);
    expect(said['verify --from shard0 --to shard2 --slot 7695']!.out).toMatch(
      /^public\.bookmarks +3 +3 +same$/m,
    );
    expect(said['map history']!.out).toContain('slots 7695 from shard0 to shard2, moved and verified');
    expect([await rowsOf('shard0', 'acme'), await rowsOf('shard2', 'acme')]).toEqual([0, 3]);
    expect((await bookmarks('acme', { url: 'https://new.test', title: 'new' })).status).toBe(201);
    expect(await rowsOf('shard2', 'acme')).toBe(4);
  });

  it('is left for another one by a tenant that a script moves', async () => {
    const script = join(await compiledSources(), 'apps/bookmarks/src/move-tenant.js');
    const runScript = async (...args: string[]) => {
      const child = spawn(process.execPath, [script, ...args], {
        cwd,
        env: { PATH: process.env['PATH'], NO_COLOR: '1' },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let out = '';
      let err = '';
      child.stdout.on('data', (text: Buffer) => (out += text.toString()));
      child.stderr.on('data', (text: Buffer) => (err += text.toString()));
      const code = await new Promise((done) => child.once('close', done));
      return {
        code,
        out: out
          .replace(/[0-9a-f-]{36}/, 'ID')
          .trimEnd()
          .split('\n'),
        err,
      };
    };
    const home = slotOf('hooli') < 8192 ? 'shard0' : 'shard1';
    expect(await runScript('hooli', home)).toEqual({
      code: 2,
      out: [''],
      err: 'usage: move-tenant TENANT FROM TO\n',
    });
    expect(await runScript('hooli', home, 'shard2')).toEqual({
      code: 0,
      out: ['copied to shard2 and verified by move ID', 'pinned to shard2', `purged at ${home}`],
      err: '',
    });
    expect([await rowsOf(home, 'hooli'), await rowsOf('shard2', 'hooli')]).toEqual([0, 3]);
    const again = await runScript('hooli', home, 'shard2');
    expect(again).toMatchObject({ code: 0, out: [`purged at ${home}`] });
  });

  /** The file alone. */
  function writeDrained(): void {
    const file = join(cwd, 'sharding.toml');
    const configuration = parse(readFileSync(file, 'utf8')) as unknown as { database: { shards: object[] } };
    configuration.database.shards.push({ name: 'shard2', primary_url: urls['shard2'], slots: [] });
    writeFileSync(file, stringify(configuration));
  }
});

describe('a tenant is moved', () => {
  const FOLDER = resolve('test/.tmp/readme-moving');
  let fleet: MovingFleet;
  let app: INestApplication | undefined;

  beforeAll(async () => {
    fleet = await MovingFleet.create();
    await fleet.query(
      0,
      `insert into bookmarks (tenant_id, url) select 'acme', n::text from generate_series(1, 5) n`,
    );
    mkdirSync(FOLDER, { recursive: true });
    const [, body = ''] = /^```ts\n\/\/ tenant-mover\.ts\n([\s\S]*?)^```/m.exec(TENANT) ?? [];
    writeFileSync(join(FOLDER, 'tenant-mover.ts'), body);
  });
  afterEach(() => app?.close());
  afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

  const counts = async () =>
    Promise.all(
      [0, 1].map(
        async (place) =>
          (await fleet.query(place, 'select count(*)::int as rows from bookmarks'))[0]?.['rows'],
      ),
    );

  const toml = () => {
    const shards = fleet.options.database?.shards?.map(({ name, primaryUrl, slots }) => ({
      name,
      primary_url: primaryUrl,
      slots,
    }));
    return stringify({
      database: { primary_url: fleet.control, directory_shard_router: true, shards },
      tenancy: { source: 'header' },
    });
  };

  it('by three commands', async () => {
    for (const words of commandsOf(TENANT)) {
      const { code, err } = await shardctl.run(words, { toml: toml() });
      expect({ words, code, err: code === 0 ? '' : err }).toEqual({ words, code: 0, err: '' });
    }
    expect(await counts()).toEqual([0, 5]);
  });

  it('by a service, back again', async () => {
    const { TenantMover } = (await import(join(FOLDER, 'tenant-mover.ts'))) as {
      TenantMover: Type<{ move(tenant: string, from: string, to: string): Promise<MoveRecord> }>;
    };
    const log = jest.spyOn(console, 'log').mockImplementation(() => undefined);
    app = await bootApp(fleet.options, { providers: [TenantMover] });
    expect(await app.get(TenantMover).move('acme', 'shard1', 'shard0')).toMatchObject({ state: 'purged' });
    expect(log.mock.calls.flat()).toContain('verified');
    log.mockRestore();
    expect(await counts()).toEqual([5, 0]);
    expect((await app.get(Shards).shardFor('acme')).name).toBe('shard0');
    expect(app.get(DirectoryConnection).opened).toHaveLength(1);
  });
});

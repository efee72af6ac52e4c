import { beforeEach, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { migrate, migrationStatus, resolveOptions } from '@app/sharding';
import { FaultProxy, TestCluster, expectNoConnections, waitFor } from '@test/support';
import { runOnce } from '../support/admin-query.js';
import { Shardctl } from '../support/shardctl.js';
import type { MigrationInterface, QueryRunner } from 'typeorm';

const cluster = TestCluster.attach();

describe('a migrator that is killed in the middle of target 2 of 5', () => {
  const ONE = 'CreateThings1700000000001';
  const TWO = 'FillThings1700000000002';
  const shardctl = Shardctl.attach();
  let urls: string[];
  let cwd: string;

  beforeEach(async () => {
    urls = [];
    for (const label of ['control', 'shard0', 'shard1', 'shard2', 'shard3'])
      urls.push(await cluster.createDatabase({ label }));
    const [control, ...shards] = urls;
    cwd = await shardctl.workingDirectory(
      [
        `[database]\nprimary_url = "${control}"`,
        ...shards.map((url, index) => `[[database.shards]]\nname = "shard${index}"\nprimary_url = "${url}"`),
        '[migrations]\nshards = ["migrations/*.mjs"]',
      ].join('\n'),
    );
    await mkdir(join(cwd, 'migrations'));
    await migration(ONE, 'create table things (id int)');
    await migration(
      TWO,
      `insert into things values (1)`,
      `select pg_sleep(case when to_regclass('slow') is null then 0 else 600 end)`,
    );
    await runOnce(urls[1]!, 'create table slow ()');
  });

  async function migration(name: string, ...statements: string[]): Promise<void> {
    const up = statements.map((sql) => `await r.query(${JSON.stringify(sql)});`).join(' ');
    await writeFile(
      join(cwd, 'migrations', `${name}.mjs`),
      `export class ${name} { async up(r) { ${up} } async down() {} }`,
    );
  }

  function begin(): ChildProcess {
    return spawn(process.execPath, [shardctl.main, 'migrate'], { cwd, stdio: 'ignore' });
  }

  const sessions = async () =>
    cluster.query(
      `select query from pg_stat_activity where datname = $1 and application_name like 'nestjs-sharding%'`,
      [new URL(urls[1]!).pathname.slice(1)],
    );

  it('leaves no lock and nothing half done, and the next one goes on', async () => {
    const killed = begin();
    const ended = new Promise((done) => killed.once('exit', done));
    const sleeping = async () => (await sessions()).some(({ query }) => String(query).includes('pg_sleep'));
    await waitFor(sleeping, { what: 'the second target', timeoutMs: 20_000 });
    killed.kill('SIGKILL');
    await ended;
    await waitFor(async () => (await sessions()).length === 0, {
      what: 'the server to notice',
      timeoutMs: 10_000,
    });
    expect(await runOnce(urls[1]!, 'select * from things')).toEqual([]);
    const { code, out } = await shardctl.run(['migrate', 'status', '--json'], { cwd });
    const { targets } = JSON.parse(out) as { targets: { ok: boolean; pending: string[] }[] };
    expect([
      code,
      targets.map(({ ok, pending }) => [ok, pending.filter((name) => name === TWO).length]),
    ]).toEqual([
      1,
      [
        [true, 0],
        [false, 1],
        [false, 1],
        [false, 1],
        [false, 1],
      ],
    ]);
    await runOnce(urls[1]!, 'drop table slow');
    const again = await shardctl.run(['migrate', '--wait', '5'], { cwd });
    expect(again.code).toBe(0);
    expect(again.err.split('\n').map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual([
      'target=control up',
      ...[0, 1, 2, 3].map((shard) => `target=shard:shard${shard} applied`),
      '',
    ]);
    expect(again.err).toContain(`target=shard:shard0 applied ${TWO}\n`);
    for (const url of urls.slice(1)) {
      expect(await runOnce(url, 'select * from things')).toEqual([{ id: 1 }]);
      await expectNoConnections(url);
    }
  }, 90_000);
});

describe('a target behind a network that cuts', () => {
  class CreateThings1700000000001 implements MigrationInterface {
    async up(runner: QueryRunner): Promise<void> {
      await runner.query('create table things (id bigint generated always as identity)');
      await runner.query('insert into things default values');
    }
    async down(): Promise<void> {}
  }
  class FillThings1700000000002 implements MigrationInterface {
    async up(runner: QueryRunner): Promise<void> {
      await runner.query('insert into things default values');
    }
    async down(): Promise<void> {}
  }

  /** Whether there was a k-th statement to cut. */
  async function isCut(k: number, when: 'before' | 'after'): Promise<boolean> {
    const url = await cluster.createDatabase({ label: 'cut' });
    const proxy = await FaultProxy.start({ port: Number(new URL(url).port) });
    try {
      const settingsBy = (primaryUrl: string) =>
        resolveOptions({
          database: { shards: [{ name: 'only', primaryUrl }] },
          migrations: { shards: [CreateThings1700000000001, FillThings1700000000002] },
        });
      const lines: string[] = [];
      const run = () => migrate(settingsBy(proxy.url(url)), (line) => lines.push(line), { waitMs: 5000 });
      proxy.cutAt(k, when);
      await run().catch(() => undefined);
      const happened = proxy.injections > 0;
      if (happened) await run();
      const residues = await runOnce(url, 'select (id % 1024)::int as residue from things');
      expect({ k, when, lines, residues }).toMatchObject({ residues: [{ residue: 1 }, { residue: 1 }] });
      expect((await migrationStatus(settingsBy(url))).map(({ ok }) => ok)).toEqual([true]);
      return happened;
    } finally {
      await proxy.dispose();
    }
  }

  it('is migrated by the next run, once, wherever it was cut', async () => {
    let cuts = 0;
    while (await isCut(3 * cuts + 1, cuts % 2 === 0 ? 'before' : 'after')) cuts++;
    expect(cuts).toBeGreaterThan(20);
  }, 120_000);
});

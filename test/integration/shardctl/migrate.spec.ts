import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { expectNoConnections } from '@test/support';
import { runOnce } from '../../support/admin-query.js';
import { CONTROL, Migrating, ONE, SHARD, TWO, steady, targets } from './migrating.js';

const at = Migrating.everyTest();

describe('migrate', () => {
  it('tells every target and a summary, and does nothing the second time', async () => {
    expect(steady(await at.run())).toEqual({
      code: 0,
      out: [
        'target  state  applied  time  problem',
        `control  done  ${CONTROL.length}  N ms  -`,
        `shard:shard0  done  ${SHARD.length + 1}  N ms  -`,
        `shard:shard1  done  ${SHARD.length + 1}  N ms  -`,
        `shard:shard2  done  ${SHARD.length + 1}  N ms  -`,
      ],
      err: [
        `target=control applied ${CONTROL.join(', ')}`,
        ...[0, 1, 2].map((shard) => `target=shard:shard${shard} applied ${[...SHARD, ONE].join(', ')}`),
      ],
    });
    expect(steady(await at.run())).toEqual({
      code: 0,
      out: [
        'target  state  applied  time  problem',
        'control  skipped  0  N ms  -',
        'shard:shard0  skipped  0  N ms  -',
        'shard:shard1  skipped  0  N ms  -',
        'shard:shard2  skipped  0  N ms  -',
      ],
      err: ['control', 'shard:shard0', 'shard:shard1', 'shard:shard2'].map(
        (target) => `target=${target} up to date`,
      ),
    });
    for (const url of at.urls) await expectNoConnections(url);
  });

  it('stops at a migration that fails on one shard, and goes on when the cause is mended', async () => {
    await runOnce(at.urls[2]!, 'create table notes (id int)');
    const { code, out, err } = await at.run('--json');
    const time = expect.any(Number) as unknown;
    expect({ code, out: targets(out) }).toEqual({
      code: 1,
      out: [
        { target: 'control', state: 'done', applied: CONTROL, interleaved: [], ms: time, error: null },
        {
          target: 'shard:shard0',
          state: 'done',
          applied: [...SHARD, ONE],
          interleaved: [],
          ms: time,
          error: null,
        },
        {
          target: 'shard:shard1',
          state: 'failed',
          applied: SHARD,
          interleaved: [],
          ms: time,
          error: { code: '42P07', message: 'relation "notes" already exists', migration: ONE },
        },
        { target: 'shard:shard2', state: 'not_attempted', applied: [], interleaved: [], ms: 0, error: null },
      ],
    });
    const refused =
      'the migrations of shard:shard1 failed; mend the cause and run again: targets before it are skipped';
    expect(
      err
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([
      { log: `target=control applied ${CONTROL.join(', ')}` },
      { log: `target=shard:shard0 applied ${[...SHARD, ONE].join(', ')}` },
      { log: `target=shard:shard1 applied ${SHARD.join(', ')}` },
      { log: `target=shard:shard1 failed in ${ONE} (42P07): relation "notes" already exists` },
      { log: 'target=shard:shard2 not attempted' },
      { error: { code: 'migration_failed', message: refused } },
    ]);
    await runOnce(at.urls[2]!, 'drop table notes');
    expect(steady(await at.run()).out.slice(2)).toEqual([
      'shard:shard0  skipped  0  N ms  -',
      'shard:shard1  done  1  N ms  -',
      `shard:shard2  done  ${SHARD.length + 1}  N ms  -`,
    ]);
  });

  it('does not hide a shard that is down', async () => {
    await at.run('--control-only'); // all shards are asked for the ordinals of their ids before one is given
    await at.cluster.dropDatabase(at.urls[2]!);
    expect(steady(await at.run())).toEqual({
      code: 1,
      out: [
        'target  state  applied  time  problem',
        'control  skipped  0  N ms  -',
        `shard:shard0  done  ${SHARD.length + 1}  N ms  -`,
        'shard:shard1  FAILED  0  N ms  there is no such database: check the URL of this target, or create it (3D000)',
        'shard:shard2  not attempted  0  -  -',
      ],
      err: [
        'target=control up to date',
        `target=shard:shard0 applied ${[...SHARD, ONE].join(', ')}`,
        'target=shard:shard1 failed (3D000): shard "shard1" cannot be reached (3D000)',
        'target=shard:shard2 not attempted',
        'shardctl: the migrations of shard:shard1 failed; mend the cause and run again: targets before it are skipped',
      ],
    });
  });

  it('takes one shard, or the control database', async () => {
    const named = async (...args: string[]) =>
      targets((await at.run(...args, '--json')).out).map(({ target }) => target);
    expect(await named('--control-only')).toEqual(['control']);
    expect(await named('--shard', 'shard1')).toEqual(['shard:shard1']);
  });

  it('refuses a command line that makes no sense, before anything is touched', async () => {
    const problem = async (...args: string[]) => {
      const { code, out, err } = await at.run(...args);
      return [code, out, err.trimEnd()];
    };
    const usage = (text: string) => [2, '', `shardctl: ${text} (see shardctl --help)`];
    expect(await problem('sideways')).toEqual([
      2,
      '',
      'shardctl: behind migrate stands nothing, status or down (see shardctl --help)',
    ]);
    expect(await problem('--to', ONE)).toEqual(usage('--to does not belong to migrate'));
    expect(await problem('status', '--parallel', '3')).toEqual(
      usage('--parallel does not belong to migrate status'),
    );
    expect(await problem('--canary', 'shard0')).toEqual(
      usage('--canary asks before it goes on, and nobody can answer here: say --yes'),
    );
    expect(await problem('--shard', 'shard9')).toEqual([
      1,
      '',
      'shardctl: unknown shard "shard9"; known shards: shard0, shard1, shard2',
    ]);
    await at.withoutFolder();
    expect(await problem()).toEqual([
      1,
      '',
      'shardctl: migrations.shards: migrations/*.mjs: no file matches, seen from the working directory',
    ]);
    expect(await runOnce(at.urls[0]!, `select to_regclass('_sharding_migrations') as table`)).toEqual([
      { table: null },
    ]);
  });

  it('waits for another migrator no longer than it is told', async () => {
    const other = new pg.Client({ connectionString: at.urls[0]! });
    await other.connect();
    await other.query(`select pg_advisory_lock(hashtextextended('nestjs-sharding.migrations', 0))`);
    const { code, err } = await at.run('--wait', '0.5');
    await other.end();
    expect(code).toBe(1);
    expect(
      err
        .replaceAll(/process \d+/g, 'process P')
        .split('\n')
        .slice(0, 2),
    ).toEqual([
      'target=control waiting for another migrator (process P of the server)',
      'target=control failed (deadline_exceeded): control is being migrated by another migrator (process P of the server), for longer than 0.5 s: wait for it, or end it',
    ]);
  });

  it('gives up a lock as early as it is told', async () => {
    await at.run();
    await at.migration(TWO, 'alter table notes add column name text');
    const reader = new pg.Client({ connectionString: at.urls[1]! });
    await reader.connect();
    await reader.query('begin');
    await reader.query('select * from notes'); // a long report
    const { code, err } = await at.run('--shard', 'shard0', '--lock-timeout', '50');
    await reader.end();
    expect([code, err.split('\n')[0], err.match(/got no lock/g)?.length]).toEqual([
      1,
      `target=shard:shard0 ${TWO} got no lock, attempt 1 of 6; tries again`,
      5,
    ]);
  });
});

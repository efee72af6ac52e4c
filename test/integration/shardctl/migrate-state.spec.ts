import { describe, expect, it } from '@jest/globals';
import { runOnce } from '../../support/admin-query.js';
import { CONTROL, Migrating, ONE, SHARD, TWO, steady, targets } from './migrating.js';

const at = Migrating.everyTest();

describe('migrate status', () => {
  it('is one table, a row for each target, with the names that matter below', async () => {
    await at.run();
    expect(steady(await at.run('status'))).toEqual({
      code: 0,
      out: [
        'target  state  applied  pending  unknown  last  invalid indexes  problem',
        `control  up to date  ${CONTROL.length}  0  0  ${CONTROL.at(-1)}  -  -`,
        ...[0, 1, 2].map(
          (shard) => `shard:shard${shard}  up to date  ${SHARD.length + 1}  0  0  ${ONE}  -  -`,
        ),
      ],
      err: [''],
    });
    await at.migration(
      TWO,
      'create unique index concurrently notes_id on notes (id)',
      'select 1',
      'transaction = false;',
    );
    await runOnce(
      at.urls[2]!,
      `insert into notes values (gen_random_uuid()), ('00000000-0000-8000-8000-000000000000')`,
    );
    await runOnce(at.urls[2]!, `update notes set id = '00000000-0000-8000-8000-000000000000'`);
    await at.run('--parallel', '1');
    await runOnce(
      at.urls[1]!,
      `insert into migrations (timestamp, name) values (1700000000009, 'Newer1700000000009')`,
    );
    await at.cluster.dropDatabase(at.urls[3]!);
    const count = SHARD.length + 1;
    expect(steady(await at.run('status'))).toEqual({
      code: 1,
      out: [
        'target  state  applied  pending  unknown  last  invalid indexes  problem',
        `control  up to date  ${CONTROL.length}  0  0  ${CONTROL.at(-1)}  -  -`,
        `shard:shard0  UNKNOWN  ${count + 2}  0  1  Newer1700000000009  -  -`,
        `shard:shard1  PENDING  ${count}  1  0  ${ONE}  public.notes_id  -`,
        'shard:shard2  UNREACHABLE  -  -  -  -  -  there is no such database: check the URL of this target, or create it (3D000)',
        'applied on shard:shard0 and not in the code: Newer1700000000009',
        `pending on shard:shard1: ${TWO}`,
      ],
      err: [''],
    });
  });

  it('has a stable shape in JSON, and writes nothing', async () => {
    const { code, out, err } = await at.run('status', '--json', '--shard', 'shard0');
    expect({ code, err, out: targets(out) }).toEqual({
      code: 1,
      err: '',
      out: [
        {
          target: 'shard:shard0',
          ok: false,
          applied: [],
          pending: [...SHARD, ONE],
          unknown: [],
          last: null,
          invalid_indexes: [],
          error: null,
        },
      ],
    });
    const relations = `select count(*)::int as count from pg_class where relnamespace = 'public'::regnamespace`;
    expect(await runOnce(at.urls[1]!, relations)).toEqual([{ count: 0 }]);
  });
});

describe('migrate down', () => {
  it('takes the last one back, shards first', async () => {
    await at.migration(TWO, 'create table more ()', 'drop table more');
    await at.run();
    expect(steady(await at.run('down'))).toEqual({
      code: 0,
      out: [
        'target  state  reverted  time  problem',
        'shard:shard2  done  1  N ms  -',
        'shard:shard1  done  1  N ms  -',
        'shard:shard0  done  1  N ms  -',
        'control  skipped  0  N ms  -',
      ],
      err: [
        ...[2, 1, 0].map((shard) => `target=shard:shard${shard} reverted ${TWO}`),
        'target=control nothing to revert',
      ],
    });
    await at.run();
    const { code, out, err } = await at.run('down', '--to', ONE, '--json');
    const shards = [2, 1, 0].map((shard) => `shard:shard${shard}`);
    expect({ code, out: targets(out), err: err.trimEnd().split('\n') }).toEqual({
      code: 0,
      out: shards.map((target) => ({
        target,
        state: 'done',
        reverted: [TWO],
        ms: expect.any(Number) as unknown,
        error: null,
      })),
      err: shards.map((target) => JSON.stringify({ log: `target=${target} reverted ${TWO}` })),
    });
  });

  it('refuses divergent shards, and production without a word more', async () => {
    await at.run();
    await at.migration(TWO, 'create table more ()', 'drop table more');
    await at.run('--shard', 'shard1');
    expect(await at.run('down')).toEqual({
      code: 1,
      out: '',
      err: `shardctl: nothing was reverted: the shards are not in the same state: shard:shard0, shard:shard2 would revert ${ONE}; shard:shard1 would revert ${TWO}; migrate them to one state first, or choose a shard\n`,
    });
    const production = ['down', '--shard', 'shard1', '--profile', 'production'];
    expect(await at.run(...production)).toEqual({
      code: 1,
      out: '',
      err: `shardctl: the profile is production: migrations are not taken back there unless that is confirmed (production: 'confirmed', --yes-i-mean-production)\n`,
    });
    expect((await at.run(...production, '--yes-i-mean-production')).code).toBe(0);
  });
});

import { describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expectNoConnections, waitFor } from '@test/support';
import { runOnce } from '../../support/admin-query.js';
import { CONTROL, Migrating, ONE, SHARD, TWO, steady } from './migrating.js';

const at = Migrating.everyTest();
const ALL = SHARD.length + 1;
const HEADINGS = 'target  state  applied  time  problem';
const inWorkingDirectory = (name: string) => join(at.cwd, name);
const applied = (shard: number, ...more: string[]) =>
  `target=shard:shard${shard} applied ${[...SHARD, ONE, ...more].join(', ')}`;

/** A migration of the shards that is more than SQL. */
const program = (name: string, head: string, up: string) =>
  writeFile(
    inWorkingDirectory(`migrations/${name}.mjs`),
    `import { existsSync, writeFileSync } from 'node:fs';
    import { setTimeout as pause } from 'node:timers/promises';
    ${head}
    export class ${name} { async up(r) { ${up} } async down() {} }`,
  );

/** It says that it runs, and goes on when it is told to. */
const WAITS = `writeFileSync('begun', ''); while (!existsSync('go')) await pause(10);`;
const begun = () =>
  waitFor(async () => existsSync(inWorkingDirectory('begun')), {
    what: 'the migration to run',
    timeoutMs: 20_000,
  });

describe('migrate', () => {
  it('takes the canary alone, and as many of the others at once as it is told', async () => {
    const meet = `if (++here > 1) { if (here === 3) all(); await Promise.race([met, pause(15_000, undefined, { ref: false }).then(alone)]); }`;
    const head = `let here = 0, all; const met = new Promise((done) => (all = done)); const alone = () => { throw new Error('alone'); };`;
    await program(TWO, head, meet);
    const end = steady(await at.run('--canary', 'shard2', '--yes', '--parallel', '2'));
    expect({ ...end, err: [...end.err.slice(0, 2), ...end.err.slice(2).toSorted()] }).toEqual({
      code: 0,
      out: [
        HEADINGS,
        `control  done  ${CONTROL.length}  N ms  -`,
        ...[0, 1, 2].map((shard) => `shard:shard${shard}  done  ${ALL + 1}  N ms  -`),
      ],
      err: [
        `target=control applied ${CONTROL.join(', ')}`,
        applied(2, TWO),
        applied(0, TWO),
        applied(1, TWO),
      ],
    });
  });

  it('waits for another migrator, says so, and finds everything done', async () => {
    await program(TWO, '', WAITS);
    const first = at.run();
    await begun();
    const second = await at.runAs({
      meanwhile: async (said) => {
        await waitFor(async () => said.err.includes('waiting'), {
          what: 'the second one to wait',
          timeoutMs: 20_000,
        });
        await writeFile(inWorkingDirectory('go'), '');
      },
    });
    const rows = (state: string, own: number, control: string) => [
      HEADINGS,
      control,
      ...[0, 1, 2].map((shard) => `shard:shard${shard}  ${state}  ${own}  N ms  -`),
    ];
    expect(steady(await first)).toEqual({
      code: 0,
      out: rows('done', ALL + 1, `control  done  ${CONTROL.length}  N ms  -`),
      err: [`target=control applied ${CONTROL.join(', ')}`, ...[0, 1, 2].map((one) => applied(one, TWO))],
    });
    const { out, err, code } = steady(second);
    expect({ code, control: out[1], out: out.slice(0, 3), err: err.slice(0, 3) }).toEqual({
      code: 0,
      control: 'control  skipped  0  N ms  -',
      out: [HEADINGS, out[1], 'shard:shard0  skipped  0  N ms  -'],
      err: [
        'target=control up to date',
        expect.stringMatching(
          /^target=shard:shard0 waiting for another migrator \(process \d+ of the server\)$/,
        ),
        'target=shard:shard0 up to date',
      ],
    });
    for (const url of at.urls) await expectNoConnections(url);
  });
});

describe('migrate that is interrupted', () => {
  const summary = (problem: string) => [
    HEADINGS,
    `control  done  ${CONTROL.length}  N ms  -`,
    `shard:shard0  done  ${ALL + 1}  N ms  -`,
    `shard:shard1  FAILED  ${ALL}  N ms  ${TWO}: ${problem} (aborted)`,
    'shard:shard2  not attempted  0  -  -',
  ];
  const lines = (problem: string) => [
    `target=control applied ${CONTROL.join(', ')}`,
    applied(0, TWO),
    applied(1),
    `target=shard:shard1 failed in ${TWO} (aborted): ${problem}`,
    'target=shard:shard2 not attempted',
  ];

  it('cancels what runs on the server, tells what is done, and is SIGTERM to who asks', async () => {
    await at.migration(TWO, `select pg_sleep(case when to_regclass('slow') is null then 0 else 600 end)`);
    await runOnce(at.urls[2]!, 'create table slow ()');
    const sleeping = `select 1 from pg_stat_activity where datname = current_database() and query like 'select pg_sleep%'`;
    const end = await at.runAs({
      signal: 'SIGTERM',
      interruptAfter: () =>
        waitFor(async () => (await runOnce(at.urls[2]!, sleeping)).length === 1, {
          what: 'the second shard',
          timeoutMs: 20_000,
        }),
    });
    const problem = 'interrupted; its transaction is rolled back: run again to go on';
    expect(steady(end)).toEqual({
      code: 143,
      out: summary(problem),
      err: [...lines(problem), 'shardctl: interrupted; what is done stays: run again to go on'],
    });
    await expectNoConnections(at.urls[2]!);
  });

  it('waits for nobody who does not hear of it', async () => {
    await program(TWO, 'let here = 0;', `if (++here === 2) { ${WAITS} }`);
    const end = await at.runAs({ interruptAfter: begun }, '--json');
    const problem = 'interrupted; what ran there has not ended in time: look at the status of the migrations';
    expect({ code: end.code, err: end.err.trimEnd().split('\n') }).toEqual({
      code: 130,
      err: [
        ...lines(problem).map((log) => JSON.stringify({ log })),
        JSON.stringify({ note: 'interrupted; what is done stays: run again to go on' }),
      ],
    });
    const { targets } = JSON.parse(end.out) as {
      targets: { target: string; state: string; error: object }[];
    };
    expect(targets.map(({ target, state, error }) => [target, state, error])).toEqual([
      ['control', 'done', null],
      ['shard:shard0', 'done', null],
      ['shard:shard1', 'failed', { code: 'aborted', message: problem, migration: TWO }],
      ['shard:shard2', 'not_attempted', null],
    ]);
    await expectNoConnections(at.urls[2]!);
  });
});

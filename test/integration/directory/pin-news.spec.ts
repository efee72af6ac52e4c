import { afterEach, expect, it } from '@jest/globals';
import { waitFor } from '@test/support';
import { Placed } from './placed.js';
import { RecordedLog } from './recorded-log.js';

/** Two processes, whose logs are one here: Nest has one for all applications of a process. */
let placed: Placed;

afterEach(() => placed.closeApps());

const REMOVE = `select set_config('sharding.allow_group_change', 'on', false);
  delete from _sharding_directory where routing_key = 'key"1'`;

it.each([
  [
    'all pins are in memory',
    1000,
    ['no row -> shard1', 'shard1 -> shard0 in group 0', 'shard0 in group 0 -> no row'],
    'all 200 were read',
  ],
  ['each key is looked up', 1, ['shard1', 'shard0 in group 0', 'no row'], 'each key is looked up anew'],
])(
  'each process says what changed by raw SQL, where %s',
  async (_where, directorySnapshotMax, news, reread) => {
    placed = await Placed.create();
    const log = new RecordedLog();
    const many = (rows: number) =>
      placed.control(
        `insert into _sharding_directory (routing_key, shard_name)
       select 'many-' || n, 'shard0' from generate_series(1, $1::int) n on conflict do nothing`,
        [rows],
      );
    await many(2);
    for (let process = 0; process < 2; process++) {
      await placed.boot(
        { database: { directoryShardRouter: true, directorySnapshotMax } },
        {},
        { logger: log },
      );
    }
    const lines = () => log.of('directory').filter((line) => line.startsWith('log: '));
    const said = (count: number) =>
      waitFor(async () => lines().length === 2 * count, { what: `${count} lines of each process` });
    const expected: string[] = [];
    for (const [at, change] of [
      `insert into _sharding_directory (routing_key, shard_name) values ('key"1', 'shard1')`,
      `update _sharding_directory set shard_name = 'shard0', group_id = 0 where routing_key = 'key"1'`,
      REMOVE,
    ].entries()) {
      await placed.control(change);
      await said(at + 1);
      const [row] = await placed.control('select revision from _sharding_revision');
      const line = `log: key "key\\"1": ${news[at]} (revision ${String(row!['revision'])})`;
      expected.push(line, line);
    }
    expect(lines()).toEqual(expected);
    if (directorySnapshotMax > 1) await placed.control(`update _sharding_directory set note = 'nothing new'`);
    await many(200);
    await said(4);
    expect(
      lines()
        .slice(6)
        .map((line) => line.replace(/ \(revision \d+\)/, '')),
    ).toEqual(Array(2).fill(`log: many pins changed: ${reread}`));
  },
);

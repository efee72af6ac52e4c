import { it } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SHARD_MIGRATIONS } from '@app/sharding';
import { Shardctl } from '../../support/shardctl.js';
import { Doctored, fleetToml } from './doctor-fleet.js';
import { expectDoctor, type Said } from './doctor-says.js';

const shardctl = Shardctl.attach();
const at = Doctored.everyTest();

const directory = () => fleetToml(at.fleet, { database: 'directory_shard_router = true' });

it('names the rows of the directory that cannot be obeyed', async () => {
  await at.fleet.sql(
    'control',
    `insert into _sharding_directory (routing_key, shard_name, group_id) values
      ('acme', 'shard1', null), ('whale', 'shard9', null), ('ghost', 'shard9', null), ('eu', null, 7)`,
  );
  await expectDoctor(shardctl, { toml: directory() }, [
    [
      'error control directory',
      '1 row names group 7, which has no shards: their requests are refused ("eu")',
      'pin the keys to a shard of their group, or take the rows away (shardctl pin, unpin)',
    ],
    [
      'error control directory',
      '2 rows name shard "shard9", which is not configured: their requests are refused ("ghost", "whale")',
      'pin the keys to a shard of their group, or take the rows away (shardctl pin, unpin)',
    ],
  ]);
  await expectDoctor(shardctl, { toml: at.fleet.toml }, [
    [
      'info control directory',
      'the directory has 4 rows, and directory_shard_router is off: nobody obeys them unless a router in code does',
      'set directory_shard_router = true, or take the rows away',
    ],
  ]);
});

it('names processes that are behind, and what keeps all of them from reading', async () => {
  await at.fleet.sql(
    'control',
    `insert into _sharding_directory (routing_key, shard_name) values ('acme', 'shard1');
     insert into _sharding_processes (process_id, name, revision, lease_until) values
       (gen_random_uuid(), 'web:1', 0, now() + interval '1 minute'), (gen_random_uuid(), 'web:2', 1, now() + interval '1 minute'),
       (gen_random_uuid(), 'gone:3', 0, now() - interval '1 second')`,
  );
  const behind: Said = [
    'warning control directory',
    'the process web:1 lives and routes by revision 0 of the directory, which was at 1 a second ago',
    'see its log and its way to the control database; it catches up by itself, else restart it',
  ];
  await expectDoctor(shardctl, { toml: directory() }, [behind]);
  await at.fleet.sql(
    'control',
    `alter table _sharding_directory disable trigger all; delete from _sharding_revision`,
  );
  const { out } = await shardctl.run(['doctor'], { toml: directory() });
  if (!/ is off: processes do not learn of changes\n/.test(out)) throw new Error(out);
  await at.fleet.sql('control', 'alter table _sharding_directory enable trigger all');
  await expectDoctor(shardctl, { toml: directory() }, [
    [
      'error control directory',
      'the row of _sharding_revision is missing: no process can read the directory',
      'insert into _sharding_revision (revision) values (a number above all that processes have seen)',
    ],
  ]);
});

it('misses the tables of the library where they are used', async () => {
  await at.fleet.sql('control', `delete from _sharding_migrations where name = 'SlotMapTables1796000000003'`);
  const pending = (severity: 'error' | 'warning', more: string): Said => [
    `${severity} control migrations`,
    `lacks migrations: SlotMapTables1796000000003${more}`,
    'run them: shardctl migrate',
  ];
  await expectDoctor(shardctl, { toml: at.fleet.toml }, [
    pending('error', '; the application does not boot'),
  ]);
  const toml = `${at.fleet.toml}\n[migrations]\npending_migrations = "warn"`;
  await expectDoctor(shardctl, { toml }, [pending('warning', '')]);
});

const library = SHARD_MIGRATIONS.map(({ name }) => name).join(', ');

it('compares the migrations of the application, and says when it does not know them', async () => {
  const cwd = await shardctl.workingDirectory();
  const files = `\n[migrations]\nshards = ["migrations/*.mjs"]`;
  const write = async (toml: string) => writeFile(join(cwd, 'sharding.toml'), toml);
  await write(at.fleet.toml + files);
  await expectDoctor(shardctl, { cwd }, [
    [
      'error configuration configuration',
      'migrations.shards: migrations/*.mjs: no file matches, seen from the working directory',
      'build the application, and see the globs under [migrations]; what is pending is not known',
    ],
  ]);
  for (const place of [0, 1] as const) {
    await at.fleet.sql(
      place,
      `create table migrations (id serial primary key, timestamp bigint not null, name varchar not null);
        insert into migrations (timestamp, name) values (1764460800000, 'Notes1764460800000'), (1764460800001, 'Old1764460800001')`,
    );
  }
  await write(at.fleet.toml);
  await expectDoctor(shardctl, { cwd }, [
    [
      'info shard:shard0,shard:shard1 migrations',
      'has 2 migrations of the application, of which this configuration names none: what is pending is not known',
      'name the compiled files under [migrations], control and shards',
    ],
  ]);
  await at.fleet.sql(0, `delete from migrations where name = 'Notes1764460800000'`);
  await writeFile(
    join(cwd, 'notes.mjs'),
    `export class Notes1764460800000 { async up() {} async down() {} }`,
  );
  await write(`${at.fleet.toml}${files.replace('migrations/*.mjs', '*.mjs')}`);
  await expectDoctor(shardctl, { cwd }, [
    [
      'error shard:shard0 migrations',
      `lacks migrations: ${library}, Notes1764460800000; the application does not boot`,
      'run them: shardctl migrate',
    ],
    [
      'error shard:shard1 migrations',
      `lacks migrations: ${library}; the application does not boot`,
      'run them: shardctl migrate',
    ],
    [
      'warning shard:shard0,shard:shard1 migrations',
      'has migrations that the code does not know: Old1764460800001',
      'deploy the code that they came with, or revert them with it (shardctl migrate down)',
    ],
  ]);
});

it('compares the slot map with the one that the control database remembers', async () => {
  const swapped = at.fleet.toml.replace('["0-8191"]', '["0-8000"]').replace('["8192-', '["8001-');
  await expectDoctor(shardctl, { toml: swapped }, [
    [
      'warning control slot-map',
      [
        'the slot map differs from version 1 on the control database: slots have other owners, and no verified move of them is recorded.',
        '  8001-8191 from shard0 to shard1',
        'Rows that were not moved are not found there: move the slots first, or give them back.',
      ].join('\n'),
      'do as the reason says before the next boot, which takes the new map for granted',
    ],
  ]);
  await at.fleet.sql('control', 'delete from _sharding_map');
  await expectDoctor(shardctl, { toml: at.fleet.toml }, [
    ['info control slot-map', 'remembers no slot map yet: the next boot records it as version 1', 'nothing'],
  ]);
});

it('misses somebody who remembers the automatic split', async () => {
  const toml = fleetToml(at.fleet)
    .replace(/^primary_url.*$/m, '')
    .replaceAll(/^slots.*$/gm, '');
  await expectDoctor(shardctl, { toml, targets: ['shard:shard0', 'shard:shard1'] }, [
    [
      'warning configuration slot-map',
      'the slots follow from the number and order of the shards, and without a control database nobody notices when these change',
      'declare the slots of each shard',
    ],
  ]);
});

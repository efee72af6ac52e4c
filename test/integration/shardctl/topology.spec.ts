import { describe, expect, it } from '@jest/globals';
import { Shardctl } from '../../support/shardctl.js';
import { OFFLINE } from './deployed.js';

const shardctl = Shardctl.attach();

describe('topology and slots', () => {
  const THREE = `${OFFLINE.replace('[tenancy]', '[[database.shards]]\nname = "eu0"\nprimary_url = "postgres://h/eu0"\ngroup = 1\nslots = []\n[[database.shards]]\nname = "eu1"\nprimary_url = "postgres://h/eu1"\nreplica_url = "postgres://r/eu1"\nslots = ["0-16383"]\ngroup = 1\n[tenancy]')}`;

  it('topology shows groups, members, slots and replicas', async () => {
    expect(await shardctl.run(['topology'], { toml: THREE })).toEqual({
      code: 0,
      err: '',
      out: [
        'control database: yes',
        'group 0: 2 shards, auto-split slots',
        'group 1: 2 shards, explicit slots',
        '',
        'shard   group  member  slots    replica',
        'shard0      0       0  8192     no',
        'shard1      0       1  8192     no',
        'eu0         1       0  drained  no',
        'eu1         1       1  16384    yes',
        '',
      ].join('\n'),
    });
  });

  it('topology says the same as JSON', async () => {
    const toml = `[database]\nprimary_url = "postgres://h/only"\nreplica_url = "postgres://r/only"\n`;
    const { code, out } = await shardctl.run(['topology', '--json'], { toml });
    expect({ code, out: JSON.parse(out) as unknown }).toEqual({
      code: 0,
      out: {
        unsharded: true,
        control: { configured: true, replica: true },
        groups: [{ group: 0, shards: 1, auto_split: true }],
        shards: [
          { shard: 'default', index: 0, group: 0, member: 0, slots: 16384, drained: false, replica: true },
        ],
      },
    });
  });

  it('slots shows who owns what', async () => {
    expect(await shardctl.run(['slots'], { toml: THREE })).toEqual({
      code: 0,
      err: '',
      out: [
        'shard   group  slots  share  ranges',
        'shard0      0   8192  50 %   0-8191',
        'shard1      0   8192  50 %   8192-16383',
        'eu0         1      0  0 %    drained',
        'eu1         1  16384  100 %  0-16383',
        '',
      ].join('\n'),
    });
  });

  it('slots says the same as JSON, of one shard too', async () => {
    const { code, out } = await shardctl.run(['slots', '--shard', 'eu0', '--json'], { toml: THREE });
    expect({ code, out: JSON.parse(out) as unknown }).toEqual({
      code: 0,
      out: { slot_count: 16384, shards: [{ shard: 'eu0', group: 1, slots: 0, percent: 0, ranges: [] }] },
    });
    expect(await shardctl.run(['slots', '--shard', 'x'], { toml: OFFLINE })).toEqual({
      code: 1,
      out: '',
      err: 'shardctl: unknown shard "x"; known shards: shard0, shard1\n',
    });
  });
});

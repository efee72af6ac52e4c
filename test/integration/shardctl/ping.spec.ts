import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FaultProxy, TestCluster, waitFor } from '@test/support';
import { ReplicatedDeployment } from '../../support/replicated.js';
import { Shardctl, type ShardctlEnd } from '../../support/shardctl.js';
import { deployed, tomlOf } from './deployed.js';

const shardctl = Shardctl.attach();

/** Times and versions are not the same twice. */
function steady({ code, out, err }: ShardctlEnd): ShardctlEnd {
  const text = out
    .replaceAll(/\d+(\.\d+)? ms/g, 'N ms')
    .replaceAll(/\b1[0-9]\.\d+\b/g, 'V')
    .replaceAll(/ {2,}/g, '  ');
  return { code, out: text, err };
}

const up = {
  ok: true,
  connect_ms: expect.any(Number) as unknown,
  latency_ms: expect.any(Number) as unknown,
  version: expect.stringMatching(/^\d+\.\d+/) as unknown,
  lag_ms: null,
  lag_bytes: null,
  problem: null,
};
const silent = {
  ok: false,
  connect_ms: null,
  latency_ms: null,
  version: null,
  lag_ms: null,
  lag_bytes: null,
};

describe('without replicas', () => {
  it('tells latency, version and role of every target', async () => {
    const { toml } = await deployed();
    expect(steady(await shardctl.run(['ping'], { toml }))).toEqual({
      code: 0,
      err: '',
      out: [
        'target  role  state  connect  latency  version  lag  problem',
        'control  primary  ok  N ms  N ms  V  -  -',
        'shard:shard0  primary  ok  N ms  N ms  V  -  -',
        'shard:shard1  primary  ok  N ms  N ms  V  -  -',
        '',
      ].join('\n'),
    });
  });

  it('lets no dead target hide the others', async () => {
    const { control, shards } = await deployed();
    const toml = tomlOf({ control, shards: ['postgres://app:hush@127.0.0.1:1/gone', shards[1] ?? ''] });
    const { code, out, err } = await shardctl.run(['ping', '--json'], { toml });
    expect({ code, err, out: JSON.parse(out) as unknown }).toEqual({
      code: 1,
      err: '',
      out: {
        targets: [
          { target: 'control', role: 'primary', ...up },
          {
            target: 'shard:shard0',
            role: 'primary',
            ...silent,
            problem: { code: 'ECONNREFUSED', message: 'nothing listens there: is the server running?' },
          },
          { target: 'shard:shard1', role: 'primary', ...up },
        ],
      },
    });
  });

  it('waits for a silent target no longer than it is told', async () => {
    const { control, shards } = await deployed(1);
    const proxy = await FaultProxy.start({ port: Number(new URL(control).port) });
    try {
      proxy.blackHole();
      const toml = tomlOf({ control: proxy.url(control), shards });
      const began = performance.now();
      expect(steady(await shardctl.run(['ping', '--timeout', '0.5'], { toml }))).toEqual({
        code: 1,
        err: '',
        out: [
          'target  role  state  connect  latency  version  lag  problem',
          'control  primary  FAILED  -  -  -  -  no answer within N ms (timeout)',
          'shard:shard0  primary  ok  N ms  N ms  V  -  -',
          '',
        ].join('\n'),
      });
      expect(performance.now() - began).toBeLessThan(15_000);
    } finally {
      await proxy.dispose();
    }
  });

  it('asks one shard alone, and works without a control database', async () => {
    const { shards } = await deployed();
    const toml = tomlOf({ shards });
    const { code, out } = await shardctl.run(['ping', '--shard', 'shard1', '--json'], { toml });
    expect({ code, out: JSON.parse(out) as unknown }).toEqual({
      code: 0,
      out: { targets: [{ target: 'shard:shard1', role: 'primary', ...up }] },
    });
    expect(await shardctl.run(['ping', '--shard', 'x'], { toml })).toEqual({
      code: 1,
      out: '',
      err: 'shardctl: unknown shard "x"; known shards: shard0, shard1\n',
    });
  });

  it('names a refused password without repeating it', async () => {
    const { shards } = await deployed(1);
    const wrong = new URL(shards[0] ?? '');
    wrong.username = 'nobody';
    wrong.password = 'hush-hush';
    const { code, out, err } = await shardctl.run(['ping', '--json', '--debug'], {
      toml: tomlOf({ shards: [wrong.href] }),
    });
    expect({ code, err }).toEqual({ code: 1, err: '' });
    expect(JSON.parse(out)).toMatchObject({
      targets: [{ ok: false, problem: { code: expect.stringMatching(/^28/) } }],
    });
    expect(out).not.toContain('hush-hush');
  });

  it('leaves no connection behind', async () => {
    const { toml, control } = await deployed(1);
    await shardctl.run(['ping'], { toml });
    await waitFor(async () => (await TestCluster.attach().connections(control)) === 0, { what: 'the end' });
  });
});

describe('with a replica', () => {
  let place: ReplicatedDeployment;
  beforeAll(async () => {
    place = await ReplicatedDeployment.start();
  }, 120_000);
  afterAll(() => place.dispose());

  const toml = (replica: string) =>
    `[database]\nreplica_fallback = "primary"\n[[database.shards]]\nname = "shard0"\nprimary_url = "${place.primary.url('shard0')}"\nreplica_url = "${replica}"\n`;

  it('tells its lag in time and bytes', async () => {
    await place.untilCaughtUp();
    const { code, out } = await shardctl.run(['ping', '--json'], { toml: toml(place.replica.url('shard0')) });
    expect({ code, out: JSON.parse(out) as unknown }).toEqual({
      code: 0,
      out: {
        targets: [
          { target: 'shard:shard0', role: 'primary', ...up },
          {
            target: 'shard:shard0',
            role: 'replica',
            ...up,
            lag_ms: expect.any(Number),
            lag_bytes: expect.any(Number),
          },
        ],
      },
    });
    await place.replica.query('select pg_wal_replay_pause()');
    try {
      await place.primary.query(
        `insert into notes (tenant_id, body) select 'a', repeat('x', 1000) from generate_series(1, 100)`,
        [],
        'shard0',
      );
      const paused = await shardctl.run(['ping', '--json'], { toml: toml(place.replica.url('shard0')) });
      const { targets } = JSON.parse(paused.out) as { targets: { lag_bytes: number }[] };
      expect(targets[1]?.lag_bytes).toBeGreaterThan(50_000);
    } finally {
      await place.replica.query('select pg_wal_replay_resume()');
    }
  });

  it('tells what is not what it is configured as', async () => {
    const swapped = `[[database.shards]]\nname = "shard0"\nprimary_url = "${place.replica.url('shard0')}"\nreplica_url = "${place.primary.url('shard0')}"\n`;
    expect(steady(await shardctl.run(['ping'], { toml: swapped }))).toEqual({
      code: 1,
      err: '',
      out: [
        'target  role  state  connect  latency  version  lag  problem',
        'shard:shard0  primary  FAILED  N ms  N ms  V  -  is a replica: a primary is configured here (wrong_role)',
        'shard:shard0  replica  FAILED  N ms  N ms  V  -  is no replica: it is not in recovery (wrong_role)',
        '',
      ].join('\n'),
    });
  });
});

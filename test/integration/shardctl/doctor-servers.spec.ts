import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { ReplicatedDeployment } from '../../support/replicated.js';
import { POOLERS } from '../../support/poolers.js';
import { Shardctl } from '../../support/shardctl.js';
import { FleetServer, fleetToml, type Fleet } from './doctor-fleet.js';
import { expectDoctor } from './doctor-says.js';
import type { TestPooler } from '../../support/transaction-pooler.js';

jest.setTimeout(60_000);

const shardctl = Shardctl.attach();

describe('with a replica', () => {
  let place: ReplicatedDeployment;
  beforeAll(async () => {
    place = await ReplicatedDeployment.start();
    const { primary } = place;
    await primary.query(
      'create index notes_tenant_id on notes (tenant_id); drop table migrations',
      [],
      'shard0',
    );
  }, 120_000);
  afterAll(() => place.dispose());

  const toml = (primary: string, replica: string, more = '') =>
    `[database]\nreplica_fallback = "primary"\n${more}\n[[database.shards]]\nname = "shard0"\nslots = ["0-16383"]\nprimary_url = "${primary}"\nreplica_url = "${replica}"\n`;
  const targets = ['shard:shard0', 'shard:shard0:replica'];

  it('finds nothing while it follows', async () => {
    await place.untilCaughtUp();
    const { primary, replica } = place;
    await expectDoctor(shardctl, { toml: toml(primary.url('shard0'), replica.url('shard0')), targets }, []);
  });

  it('tells when it is behind, and why', async () => {
    const { primary, replica } = place;
    await place.untilCaughtUp();
    await replica.pauseReplay();
    try {
      await primary.query(`insert into notes (tenant_id, body) values ('a', 'x')`, [], 'shard0');
      const late = toml(primary.url('shard0'), replica.url('shard0'), 'max_replica_lag_ms = 1');
      const { code, out } = await shardctl.run(['doctor'], { toml: late });
      expect({ code, out: out.replace(/\d+ bytes and \d+\.\d s/, 'N bytes and N s') }).toEqual({
        code: 1,
        out: [
          'warning  shard:shard0:replica: replica',
          '         applies nothing: its replay is paused',
          '         -> select pg_wal_replay_resume() on it',
          '',
          'warning  shard:shard0:replica: replica',
          '         is behind: N bytes and N s; max_replica_lag_ms is 1 ms',
          '         -> see its load, its disk and its network, and queries on it that hold up the replay',
          '',
          '2 warnings (20 checks, 2 databases)',
          '',
        ].join('\n'),
      });
    } finally {
      await replica.resumeReplay();
    }
  });

  it('tells what is not what it is configured as', async () => {
    const { primary, replica } = place;
    await place.untilCaughtUp();
    await expectDoctor(shardctl, { toml: toml(replica.url('shard0'), primary.url('shard0')), targets }, [
      [
        'error shard:shard0 role',
        'is configured as a primary and is a replica: every write fails',
        'point the URL at the primary; after a failover, promote this server',
      ],
      [
        'error shard:shard0:replica role',
        'is configured as a replica and is none: it takes writes of its own, and follows nobody',
        'point replica_url at a streaming replica, or build this one anew from its primary',
      ],
    ]);
  });

  it('tells a replica of another primary', async () => {
    const other = await place.primaryLikeShard0();
    try {
      await other.query(
        'create index notes_tenant_id on notes (tenant_id); drop table migrations',
        [],
        'shard0',
      );
      const { url } = { url: toml(other.url('shard0'), place.replica.url('shard0')) };
      await expectDoctor(shardctl, { toml: url, targets }, [
        [
          'error shard:shard0:replica replica',
          'follows another server than the primary that is configured beside it',
          'point replica_url at a replica of that primary, or build this one anew from it',
        ],
      ]);
    } finally {
      await other.dispose();
    }
  });
});

describe.each(POOLERS)('behind %s in transaction mode', (_name, start) => {
  let server: FleetServer;
  let fleet: Fleet;
  let pooler: TestPooler;
  beforeAll(async () => {
    server = await FleetServer.start();
    fleet = await server.fleet();
    pooler = await start({ serverUrl: server.server.url() });
  }, 60_000);
  afterAll(async () => {
    await pooler.dispose();
    await server.dispose();
  });

  const pooled = () => ({ urls: [fleet.shards[0], pooler.url(fleet.shards[1])] as const });

  it('tells that nobody has configured it', async () => {
    await expectDoctor(shardctl, { toml: fleetToml(fleet, pooled()) }, [
      [
        'error shard:shard1 pooler',
        'a pooler in transaction mode stands in between and pooler = "none" is configured: settings, LISTEN and locks of a session end up in sessions of others',
        'set pooler = "transaction", and maintenance_url to a direct connection',
      ],
    ]);
  });

  it('finds nothing where it is configured with a way around it', async () => {
    const shard = ['', `pooler = "transaction"\nmaintenance_url = "${fleet.shards[1]}"`] as const;
    await expectDoctor(shardctl, { toml: fleetToml(fleet, { ...pooled(), shard }) }, []);
  });

  it('misses a way around it, and one that leads through it too', async () => {
    await expectDoctor(
      shardctl,
      { toml: fleetToml(fleet, { ...pooled(), shard: ['', 'pooler = "transaction"'] }) },
      [
        [
          'warning shard:shard1 pooler',
          'is reached through a pooler only (pooler = "transaction", no maintenance_url): it cannot be migrated',
          'set maintenance_url to a direct connection',
        ],
      ],
    );
    const [, url] = pooled().urls;
    const shard = ['', `pooler = "transaction"\nmaintenance_url = "${url}"`] as const;
    await expectDoctor(shardctl, { toml: fleetToml(fleet, { ...pooled(), shard }) }, [
      [
        'error shard:shard1 pooler',
        'its maintenance_url leads through a pooler in transaction mode: LISTEN, locks and migrations fail',
        'set maintenance_url to a direct connection',
      ],
    ]);
  });

  it('says that there is none where one is configured', async () => {
    const shard = ['', `pooler = "transaction"\nmaintenance_url = "${fleet.shards[1]}"`] as const;
    await expectDoctor(shardctl, { toml: fleetToml(fleet, { shard }) }, [
      [
        'info shard:shard1 pooler',
        'pooler = "transaction" is configured and the connection is direct: sessions are used more carefully than they need to be',
        'point the URL at the pooler, or set pooler = "none"',
      ],
    ]);
  });
});

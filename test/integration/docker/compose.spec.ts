import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { printSlots } from '@app/routing';
import { loadShardingOptions, resolveOptions } from '@app/sharding';
import { composeProblems, readComposeFile } from './compose-file.js';
import type { ComposeFile, ComposeService } from './compose-file.js';

const DATABASES = ['control', 'shard0', 'shard0-replica', 'shard1'];
const WEB = ['web-a', 'web-b'];

let file: ComposeFile;

const service = (name: string): ComposeService => file.services[name]!;
const gates = (name: string) =>
  Object.entries(service(name).depends_on ?? {}).map(([on, { condition }]) => `${on} ${condition}`);

beforeAll(() => {
  file = readComposeFile() as ComposeFile;
});

describe('the compose schema', () => {
  it('accepts docker/compose.yaml', () => {
    expect(composeProblems(file)).toEqual([]);
  });

  it.each([
    ['an unknown key of a service', { services: { web: { image: 'x', port: ['3000'] } } }],
    ['an unknown condition', { services: { web: { depends_on: { db: { condition: 'ready' } } } } }],
    ['a duration without a unit', { services: { web: { healthcheck: { interval: '10' } } } }],
    ['a port that is none', { services: { web: { ports: ['localhost:http'] } } }],
    ['an unknown section', { service: {} }],
  ])('refuses %s', (_mistake, document) => {
    expect(composeProblems(document)).not.toEqual([]);
  });
});

describe('the services', () => {
  it('are four databases, the migrator, two web services and nginx', () => {
    expect(Object.keys(file.services).toSorted()).toEqual(
      [...DATABASES, ...WEB, 'migrate', 'nginx'].toSorted(),
    );
  });

  it('start in order: databases, migrator, web services, nginx', () => {
    expect(gates('shard0-replica')).toEqual(['shard0 service_healthy']);
    expect(gates('migrate')).toEqual([
      'control service_healthy',
      'shard0 service_healthy',
      'shard1 service_healthy',
    ]);
    for (const web of WEB) expect(gates(web)).toEqual(['migrate service_completed_successfully']);
    expect(gates('nginx')).toEqual(['web-a service_healthy', 'web-b service_healthy']);
  });

  it('that others wait for to be healthy say when they are', () => {
    // a web service has the health check of its image
    for (const name of DATABASES) expect(service(name).healthcheck?.['test']).toContain('pg_isready');
  });

  it('publish their ports on the loopback address only', () => {
    const ports = Object.entries(file.services).flatMap(([name, { ports: published }]) =>
      (published ?? []).map((port) => `${name} ${port}`),
    );
    expect(ports).toEqual([
      'control 127.0.0.1:5442:5432',
      'shard0 127.0.0.1:5443:5432',
      'shard1 127.0.0.1:5444:5432',
      'shard0-replica 127.0.0.1:5445:5432',
      'nginx 127.0.0.1:3000:3000',
    ]);
  });

  it('keep each database in a volume of its own, where PostgreSQL 18 has its data', () => {
    const data = DATABASES.map((name) => service(name).volumes?.[0]);
    expect(data).toEqual(DATABASES.map((name) => `${name}-data:/var/lib/postgresql`));
    expect(Object.keys(file.volumes).toSorted()).toEqual(DATABASES.map((name) => `${name}-data`));
  });

  it('mount and build from files that exist', () => {
    const mounted = Object.values(file.services)
      .flatMap(({ volumes }) => volumes ?? [])
      .filter((volume) => volume.startsWith('./'));
    expect(mounted).toHaveLength(3);
    for (const volume of mounted) expect(existsSync(join('docker', volume.split(':')[0]!))).toBe(true);
    const { context, dockerfile } = service('migrate').build!;
    expect(existsSync(join('docker', context, dockerfile))).toBe(true);
  });

  it('use one image for the migrator and the web services, built once', () => {
    for (const web of WEB) {
      expect(service(web).image).toBe(service('migrate').image);
      expect(service(web).build).toBeUndefined();
    }
  });
});

describe('the configuration by environment', () => {
  const loaded = (name: string) => loadShardingOptions({ environment: service(name).environment! });

  it.each(['migrate', ...WEB])('of %s is understood and resolves to the three databases', (name) => {
    const { control, shards, topology } = resolveOptions(loaded(name), 'toml');
    expect(
      topology.shards.map((shard) => [shard.name, printSlots(topology.slotsOfShard(shard.name))]),
    ).toEqual([
      ['shard0', '0-8191'],
      ['shard1', '8192-16383'],
    ]);
    expect([control!, ...shards.map(({ primary }) => primary)].map(({ url }) => url.reveal())).toEqual([
      'postgres://bookmarks:bookmarks@control:5432/bookmarks_control',
      'postgres://bookmarks:bookmarks@shard0:5432/bookmarks_shard0',
      'postgres://bookmarks:bookmarks@shard1:5432/bookmarks_shard1',
    ]);
  });

  it('names the replica of shard0, and none for shard1', () => {
    expect(loaded('web-a').database?.shards?.map(({ replicaUrl }) => replicaUrl)).toEqual([
      'postgres://bookmarks:bookmarks@shard0-replica:5432/bookmarks_shard0',
      undefined,
    ]);
  });

  it('has nothing but what the library reads', () => {
    const others = Object.keys(service('web-a').environment!).filter((name) => !name.startsWith('SHARDING_'));
    expect(others).toEqual([]);
  });

  it.each([
    ['the development password', {}, 'bookmarks'],
    ['a password of the user', { BOOKMARKS_PASSWORD: 's3cret' }, 's3cret'],
  ])('agrees with what the servers are given: %s', (_case, variables, password) => {
    const { services } = readComposeFile(variables) as ComposeFile;
    for (const name of ['control', 'shard0', 'shard1']) {
      const { POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB } = services[name]!.environment!;
      const url = `postgres://${POSTGRES_USER}:${POSTGRES_PASSWORD}@${name}:5432/${POSTGRES_DB}`;
      expect(Object.values(services['migrate']!.environment!)).toContain(url);
      expect(POSTGRES_PASSWORD).toBe(password);
    }
  });

  it('gives the replica the password of the replication role', () => {
    const { services } = readComposeFile({ REPLICATION_PASSWORD: 'r3plica' }) as ComposeFile;
    for (const name of ['shard0', 'shard0-replica']) {
      expect(services[name]!.environment!['REPLICATION_PASSWORD']).toBe('r3plica');
    }
  });

  it('is what sharding.toml says, seen from inside: the published ports are the ones of the file', () => {
    const { database } = loadShardingOptions({
      environment: { SHARDING_CONFIG: 'apps/bookmarks/sharding.toml' },
    });
    const outside = [database, ...(database?.shards ?? [])].map((each) => each?.primaryUrl);
    const published = ['control', 'shard0', 'shard1'].map((name) => {
      const { environment, ports } = service(name);
      const { POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB } = environment!;
      const port = ports![0]!.split(':')[1];
      return `postgres://${POSTGRES_USER}:${POSTGRES_PASSWORD}@localhost:${port}/${POSTGRES_DB}`;
    });
    expect(outside).toEqual(published);
  });
});

import { afterEach, expect, it } from '@jest/globals';
import { ConsoleLogger } from '@nestjs/common';
import { PostgresServer, freePort, waitFor } from '@test/support';
import { bootApp, deployment } from '../../support/deployment.js';
import type { INestApplication } from '@nestjs/common';

const warnings: string[] = [];

class Recorder extends ConsoleLogger {
  override log(): void {}
  override warn(message: unknown): void {
    warnings.push(String(message));
  }
}

let app: INestApplication | undefined;
afterEach(async () => {
  await app?.close();
  app = undefined;
  warnings.length = 0;
});

const boot = async (options: Parameters<typeof bootApp>[0]) => {
  app = await bootApp(options, {}, { logger: new Recorder() });
};
const budget = () => warnings.filter((line) => line.includes('this process may open'));

it('a server that takes fewer connections than the pools may open is named with both numbers', async () => {
  const full = await PostgresServer.start({
    name: 'small',
    maxConnections: 20,
    settings: { reserved_connections: '2' },
  });
  try {
    const shards = await Promise.all(['a', 'b', 'c'].map((name) => full.createDatabase(name)));
    const { control } = await deployment(1);
    await boot({
      database: {
        primaryUrl: control,
        poolSize: 5,
        maxConnectionsWarnThreshold: 0,
        shards: shards.map((primaryUrl, index) => ({ name: `shard${index}`, primaryUrl })),
      },
      tenancy: { source: 'header' },
    });
    await waitFor(async () => budget().length > 0, { what: 'the warning' });
    expect(budget()).toEqual([
      'this process may open 21 connections to the server of shard:shard0, shard:shard1, shard:shard2, which takes 15 (max_connections=20, 5 reserved): make the pools smaller, or put a pooler in between',
    ]);
  } finally {
    await app?.close();
    await full.dispose();
  }
});

it('pools that fit, servers that are down and databases behind a pooler are not warned of', async () => {
  const place = await deployment(2);
  const nobody = `postgres://postgres@127.0.0.1:${await freePort()}/none`;
  const [first = '', second = ''] = place.shards;
  await boot(
    place.options({
      poolSize: 2,
      maxConnectionsWarnThreshold: 0,
      shards: [
        { name: 'shard0', primaryUrl: first },
        { name: 'pooled', primaryUrl: second, primaryPoolSize: 5000, pooler: 'transaction' },
        { name: 'down', primaryUrl: nobody, primaryPoolSize: 5000 },
      ],
    }),
  );
  await app?.close(); // waits for the comparison
  expect(budget()).toEqual([]);
});

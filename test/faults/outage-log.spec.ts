import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ConsoleLogger } from '@nestjs/common';
import { Shards } from '@app/sharding';
import { PostgresServer, waitFor } from '@test/support';
import { bootApp, deployment, listen } from '../support/deployment.js';
import { call } from '../support/bookmarks.js';

/** What the operator reads: each outage once, with its reason, and each mistake of the server; no host, no user. */
let server: PostgresServer;
const lines: string[] = [];

class Recorder extends ConsoleLogger {
  override printMessages(messages: unknown[], context = '', level = 'log'): void {
    if (level !== 'log' || /reachable/.test(String(messages[0]))) {
      lines.push(
        ...messages.map((message) => `${level} ${context}: ${(message as Error).message ?? String(message)}`),
      );
    }
  }
}

beforeAll(async () => {
  server = await PostgresServer.start({ name: 'shard0' });
});

afterAll(() => server.dispose());

const boot = (primaryUrl: string) =>
  bootApp(
    {
      database: { shards: [{ name: 'shard0', primaryUrl, slots: ['0-16383'] }] },
      tenancy: { source: 'header' },
    },
    {},
    { logger: new Recorder() },
  );

it('an outage is told once when it begins and once when it ends', async () => {
  lines.length = 0;
  const app = await boot(await server.createDatabase('outage'));
  const shards = app.get(Shards);
  const ask = () => shards.each((db) => db.query('select 1'));
  await server.stop();
  for (let time = 0; time < 3; time++) await ask();
  await server.restart();
  await waitFor(async () => (await ask()).every(({ ok }) => ok), { what: 'the shard to be found again' });
  for (let time = 0; time < 3; time++) await ask();
  await app.close();
  expect(lines).toEqual([
    'warn shard:shard0: cannot be reached (ECONNREFUSED, nothing listens there)',
    'log shard:shard0: is reachable again',
  ]);
});

it('a refused password and a missing database are told in words', async () => {
  lines.length = 0;
  for (const url of [server.url('outage').replace(':secret@', ':wrong@'), server.url('nowhere')]) {
    const app = await boot(url);
    await app.get(Shards).each(() => undefined);
    await app.close();
  }
  expect(lines).toEqual([
    'warn shard:shard0: cannot be reached (28P01, the password was refused)',
    'warn shard:shard0: cannot be reached (3D000, no such database)',
  ]);
});

it('a mistake of the server is logged, a mistake of the client is not', async () => {
  lines.length = 0;
  const { options } = await deployment(1);
  const { Controller, Get, Inject } = await import('@nestjs/common');
  @Controller('broken')
  class BrokenController {
    constructor(@Inject(Shards) private readonly shards: Shards) {}
    @Get()
    async broken(): Promise<void> {
      await (
        await this.shards.current()
      ).tx(async (tx) => void (await tx.query('select 1/0').catch(() => undefined)));
    }
  }
  const app = await bootApp(options(), { controllers: [BrokenController] }, { logger: new Recorder() });
  const url = await listen(app);
  expect((await call(`${url}/broken`)).status).toBe(400);
  expect((await call(`${url}/broken`, { tenant: 'acme' })).status).toBe(500);
  await app.close();
  expect(lines).toEqual([
    expect.stringMatching(
      /^error ShardingExceptionFilter: a statement failed inside the transaction on shard "shard0"/,
    ),
  ]);
});

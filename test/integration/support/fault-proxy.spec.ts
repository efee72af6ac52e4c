import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { FaultProxy, TestCluster, expectNoConnections, freePort, waitFor } from '@test/support';
import { withClient } from '../../support/admin-query.js';

const cluster = TestCluster.attach();
let database: string;
let proxy: FaultProxy;
let clients: pg.Client[] = [];

beforeAll(async () => {
  database = await cluster.createDatabase({ label: 'proxy' });
});

beforeEach(async () => {
  proxy = await FaultProxy.start({ port: Number(new URL(database).port) });
});

afterEach(async () => {
  await proxy.dispose();
  await Promise.all(clients.splice(0).map((client) => client.end().catch(() => undefined)));
  await expectNoConnections(database);
});

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: proxy.url(database),
    connectionTimeoutMillis: 300,
    query_timeout: 5000,
  });
  client.on('error', () => undefined);
  clients.push(client);
  await client.connect();
  return client;
}

const one = async (client: pg.Client) =>
  (await client.query<{ one: number }>('select 1 as one')).rows[0]?.one;

describe('FaultProxy', () => {
  it('passes everything when nothing is wrong', async () => {
    const client = await connect();
    const { rows } = await client.query<{ size: number }>(
      `select length(repeat('x', 5000000)) as size, repeat('x', 5000000)`,
    );
    expect(rows[0]?.size).toBe(5_000_000);
    expect(proxy.connections).toBe(1);
    await client.end();
    await waitFor(async () => proxy.connections === 0, { what: 'the proxy to close both sides' });
  });

  it('refuses new connections, keeps the open ones, and accepts again on the same port', async () => {
    const { port } = proxy;
    const before = await connect();
    await proxy.refuse();
    await expect(connect()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect(await one(before)).toBe(1);
    await proxy.accept();
    expect(proxy.port).toBe(port);
    expect(await one(await connect())).toBe(1);
  });

  it('resets all connections on both sides', async () => {
    const sessions = [await connect(), await connect()];
    const failures = sessions.map((client) => new Promise((resolve) => client.once('error', resolve)));
    await proxy.dropAll();
    expect(await Promise.all(failures)).toEqual(
      Array(2).fill(expect.objectContaining({ code: 'ECONNRESET' })),
    );
    expect(proxy.connections).toBe(0);
    await expectNoConnections(database);
    expect(await one(await connect())).toBe(1);
  });

  it('lets queries and new connections hang in a black hole until it heals', async () => {
    const client = await connect();
    proxy.blackHole();
    await expect(connect()).rejects.toThrow('timeout');
    const late = client.query('select 1 as one');
    const answered = late.then(() => true);
    expect(await Promise.race([answered, new Promise((resolve) => setTimeout(resolve, 200, false))])).toBe(
      false,
    );
    proxy.heal();
    expect((await late).rows).toEqual([{ one: 1 }]);
    expect(await one(await connect())).toBe(1);
  });

  it('does not hold up the harness itself for long', async () => {
    const working = withClient(proxy.url(database), async () => proxy.blackHole());
    await expect(working).resolves.toBeUndefined();
  });

  it('delays each direction', async () => {
    const client = await connect();
    proxy.delay(100);
    const start = performance.now();
    await one(client);
    expect(performance.now() - start).toBeGreaterThan(195);
    proxy.heal();
  });

  it('resets clients when the server behind it is not there', async () => {
    const nowhere = await FaultProxy.start({ port: await freePort() });
    const client = new pg.Client(nowhere.url(database));
    await expect(client.connect()).rejects.toMatchObject({ code: 'ECONNRESET' });
    await nowhere.dispose();
    await nowhere.dispose();
  });
});

import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { FaultProxy, TestCluster, expectNoConnections, waitFor } from '@test/support';
import { MessageScanner, sqlOf } from '../../support/protocol-messages.js';

const cluster = TestCluster.attach();
let database: string;
let proxy: FaultProxy;
let clients: pg.Client[] = [];

beforeAll(async () => {
  database = await cluster.createDatabase({ label: 'cuts' });
  await cluster.query('create table written (id int)', [], nameOf(database));
});

beforeEach(async () => {
  await cluster.query('truncate written', [], nameOf(database));
  proxy = await FaultProxy.start({ port: Number(new URL(database).port) });
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.connection.stream.destroy();
  await proxy.dispose();
  await expectNoConnections(database);
});

const nameOf = (url: string) => new URL(url).pathname.slice(1);
const count = async () =>
  (await cluster.query('select count(*)::int from written', [], nameOf(database)))[0]?.['count'];

async function connect(queryTimeout = 5000): Promise<pg.Client & { connection: pg.Connection }> {
  const client = new pg.Client({ connectionString: proxy.url(database), query_timeout: queryTimeout });
  client.on('error', () => undefined);
  clients.push(client);
  await client.connect();
  return client;
}

describe('a cut at a statement', () => {
  it('before: the server never gets it', async () => {
    const client = await connect();
    proxy.cutOn(/^insert/i, 'before');
    await client.query('select 1');
    await expect(client.query('insert into written values (1)')).rejects.toMatchObject({
      code: 'ECONNRESET',
    });
    expect([proxy.injections, await count()]).toEqual([1, 0]);
  });

  it('after: the server has done it, the client never hears', async () => {
    const client = await connect();
    proxy.cutOn(/^insert/i, 'after');
    await expect(client.query('insert into written values ($1)', [1])).rejects.toMatchObject({
      code: 'ECONNRESET',
    });
    expect([proxy.injections, await count()]).toEqual([1, 1]);
  });

  it('after a commit: it is done; before: it is not, and the row goes with the session', async () => {
    for (const [when, rows] of [
      ['before', 0],
      ['after', 1],
    ] as const) {
      const client = await connect();
      await client.query('begin');
      await client.query('insert into written values (1)');
      proxy.cutOn(/COMMIT/i, when);
      await expect(client.query('COMMIT')).rejects.toMatchObject({ code: 'ECONNRESET' });
      await waitFor(async () => proxy.connections === 0, { what: 'both sides to be closed' });
      await expectNoConnections(database);
      expect(await count()).toBe(rows);
    }
    expect(proxy.injections).toBe(2);
  });

  it('happens once, at the first statement that matches, on whatever connection', async () => {
    const [one, other] = [await connect(), await connect()];
    proxy.cutOn(/written/, 'before');
    await one.query('select 1');
    await expect(other.query('select * from written')).rejects.toMatchObject({ code: 'ECONNRESET' });
    await expect(one.query('select * from written')).resolves.toMatchObject({ rows: [] });
    expect(proxy.injections).toBe(1);
  });

  it('is due at the k-th statement', async () => {
    proxy.cutAt(3, 'after');
    const client = await connect();
    await client.query('insert into written values (1)');
    await client.query('insert into written values (2)');
    await expect(client.query('insert into written values (3)')).rejects.toMatchObject({
      code: 'ECONNRESET',
    });
    expect([proxy.injections, await count()]).toEqual([1, 3]);
  });

  it('spares what does not match, and sees statements within large streams', async () => {
    const client = await connect();
    proxy.cutOn(/last/, 'after');
    const { rows } = await client.query<{ size: number }>(
      `select length($1::text) as size, repeat('x', 3000000) as text`,
      ['y'.repeat(3_000_000)],
    );
    expect([rows[0]?.size, proxy.injections]).toEqual([3_000_000, 0]);
    await expect(client.query('select 1 as last')).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(proxy.injections).toBe(1);
  });
});

describe('a line that goes silent', () => {
  it('in a statement: nobody is told, and new connections pass', async () => {
    const client = await connect(300);
    let told = false;
    client.once('end', () => (told = true));
    proxy.cutOn(/^insert/i, 'after', 'silent');
    await expect(client.query('insert into written values (1)')).rejects.toThrow('Query read timeout');
    expect([told, proxy.injections, await count()]).toEqual([false, 1, 1]);
    await expect((await connect()).query('select 1 as one')).resolves.toMatchObject({ rows: [{ one: 1 }] });
  });

  it('while idle: for ever, also after the weather heals; the server keeps the session', async () => {
    const client = await connect(300);
    expect(proxy.blackHoleOpen()).toBe(1);
    proxy.blackHole();
    proxy.heal();
    await expect(client.query('select 1')).rejects.toThrow('Query read timeout');
    client.connection.stream.destroy();
    expect(await cluster.connections(database)).toBe(1);
    expect(proxy.connections).toBe(1);
    await expect((await connect()).query('select 1 as one')).resolves.toMatchObject({ rows: [{ one: 1 }] });
  });
});

describe('MessageScanner', () => {
  const startup = Buffer.from([0, 0, 0, 8, 0, 3, 0, 0]);
  const query = Buffer.from([0x51, 0, 0, 0, 13, ...Buffer.from('select 1'), 0]);
  const parse = Buffer.from([0x50, 0, 0, 0, 16, ...Buffer.from('s\0select 2\0'), 0]);
  const terminate = Buffer.from([0x58, 0, 0, 0, 4]);
  const stream = Buffer.concat([startup, query, parse, terminate]);

  it.each([1, 2, 3, 5, 7, 64])('finds the messages in pieces of %i bytes', (size) => {
    const scanner = new MessageScanner('client', 'QP');
    const found: unknown[] = [];
    for (let from = 0; from < stream.length; from += size) {
      for (const message of scanner.push(stream.subarray(from, from + size)))
        found.push([message.type, sqlOf(message)]);
    }
    expect(found).toEqual([
      ['', undefined],
      ['Q', 'select 1'],
      ['P', 'select 2'],
      ['X', undefined],
    ]);
  });

  it('says where in the piece a message begins', () => {
    const scanner = new MessageScanner('client');
    expect(scanner.push(stream.subarray(0, 12)).map(({ start }) => start)).toEqual([0]);
    expect(scanner.push(stream.subarray(12)).map(({ start }) => start)).toEqual([0, 10, 27]);
  });
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import pg from 'pg';
import { PostgresServer } from '@test/support';

let server: PostgresServer;

beforeAll(async () => {
  server = await PostgresServer.start({ maxConnections: 20, settings: { work_mem: '5MB' } });
});

afterAll(() => server.dispose());

/** A connection that gives up soon, for servers that do not answer. */
async function connect(url = server.url()): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 300, query_timeout: 300 });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

describe('PostgresServer', () => {
  it('answers, with the settings it was given', async () => {
    const settings = await server.query(
      `select current_setting('max_connections') as connections, current_setting('work_mem') as memory,
        current_setting('server_encoding') as encoding, current_setting('unix_socket_directories') as sockets`,
    );
    expect(settings).toEqual([{ connections: '20', memory: '5MB', encoding: 'UTF8', sockets: '' }]);
  });

  it('refuses a wrong password', async () => {
    await expect(connect(server.url().replace('secret', 'guess'))).rejects.toMatchObject({ code: '28P01' });
  });

  it('creates and drops databases whose names need quoting', async () => {
    const name = `it's "quoted" é`;
    const client = await connect(await server.createDatabase(name));
    expect((await client.query('select current_database() as name')).rows).toEqual([{ name }]);
    await client.end();
    await server.dropDatabase(name);
    await expect(connect(server.url(name))).rejects.toMatchObject({ code: '3D000' });
  });

  it('keeps its port and its data when it is stopped and started again', async () => {
    const { port } = server;
    await server.query('create table kept (id int)');
    await server.stop();
    await expect(connect()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await expect(async () => server.pid).rejects.toThrow('not running; call restart() first');
    await server.restart();
    expect(server.port).toBe(port);
    expect(await server.query('select count(*)::int from kept')).toEqual([{ count: 0 }]);
  });

  it('comes back with every committed row after kill -9, again and again', async () => {
    await server.query('create table written (round int)');
    for (const round of [1, 2, 3]) {
      const busy = await connect();
      await busy.query('begin');
      await busy.query('insert into written values (-1)');
      await server.query('insert into written values ($1)', [round]);
      await server.kill();
      await server.restart();
    }
    expect(await server.query('select round from written order by 1')).toEqual(
      [1, 2, 3].map((round) => ({ round })),
    );
  });

  it('comes back after somebody else ended the postmaster', async () => {
    process.kill(server.pid, 'SIGKILL');
    await server.restart();
    expect(await server.query('select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('frozen, lets new connections hang while sessions go on', async () => {
    const session = await connect();
    server.freeze();
    await expect(connect()).rejects.toThrow('timeout');
    expect((await session.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    server.thaw();
    await (await connect()).end();
    await session.end();
  });

  it('frozen with its backends, lets sessions hang too, and goes on when thawed', async () => {
    const session = await connect();
    server.freeze({ backends: true });
    await expect(session.query('select 1')).rejects.toThrow('timeout');
    server.thaw();
    await (await connect()).end();
    await session.end();
  });

  it('can be stopped while it is frozen', async () => {
    server.freeze({ backends: true });
    await server.stop();
    await server.restart();
    expect(await server.query('select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('leaves no directory when it is disposed of, even twice', async () => {
    const other = await PostgresServer.start();
    const [row] = await other.query('show data_directory');
    await other.kill();
    await other.dispose();
    await other.dispose();
    expect(existsSync(String(row?.['data_directory']))).toBe(false);
  });

  it('says what is wrong when it cannot start', async () => {
    const impossible = PostgresServer.start({ settings: { shared_buffers: 'much' } });
    await expect(impossible).rejects.toThrow('invalid value for parameter "shared_buffers"');
  });
});

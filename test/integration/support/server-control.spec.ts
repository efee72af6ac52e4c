import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { PostgresServer, SmallDisk, expectNoConnections, waitFor } from '@test/support';

let server: PostgresServer;

beforeAll(async () => {
  server = await PostgresServer.start({ maxConnections: 12 });
  await server.query('create table written (id int)');
});

afterAll(() => server.dispose());

async function session(database: string): Promise<pg.Client> {
  const client = new pg.Client(server.url(database));
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

describe('PostgresServer under faults', () => {
  it('demoted, refuses writes of old and new sessions and answers reads, until it is promoted', async () => {
    const old = await session('postgres');
    await server.demote();
    await expect(server.query('insert into written values (1)')).rejects.toMatchObject({ code: '25006' });
    await waitFor(
      async () => old.query('insert into written values (1)').catch(({ code }) => code === '25006'),
      {
        what: 'the old session to follow',
      },
    );
    expect(await server.query('select 1 as one')).toEqual([{ one: 1 }]);
    await server.promote();
    await server.query('insert into written values (2)');
    await old.end();
  });

  it('ends all sessions of one database and no other', async () => {
    await server.createDatabase('ending');
    const [spared, ...doomed] = [await session('postgres'), await session('ending'), await session('ending')];
    const ends = doomed.map((client) => new Promise((resolve) => client!.once('error', resolve)));
    expect(await server.terminateAll('ending')).toBe(2);
    expect(await Promise.all(ends)).toEqual(Array(2).fill(expect.objectContaining({ code: '57P01' })));
    expect(await server.terminateAll('ending')).toBe(0);
    await expect(spared!.query('select 1 as one')).resolves.toMatchObject({ rows: [{ one: 1 }] });
    await spared!.end();
  });

  it('has no connection left while all are held, and all of them afterwards', async () => {
    await server.createDatabase('held');
    const some = await server.holdConnections(2);
    const rest = await server.holdConnections();
    expect([some.count, rest.count]).toEqual([2, 10]);
    await expect(session('held')).rejects.toMatchObject({ code: '53300' });
    await some.release();
    await rest.release();
    await rest.release();
    await (await session('held')).end();
    await expectNoConnections(server.url('held'));
  });
});

/** Inserts until the disk is full; returns the SQLSTATE and how many rows there are. */
async function fill(on: PostgresServer): Promise<{ code: unknown; rows: unknown }> {
  const insert = `insert into filling select repeat(md5(i::text), 60) from generate_series(1, 500) as i`;
  let code: unknown;
  for (let batch = 0; batch < 100 && code === undefined; batch++) {
    await on.query(insert).catch((error: { code: string }) => (code = error.code));
  }
  const [row] = await on.query('select count(*)::int as rows from filling');
  return { code, rows: row?.['rows'] };
}

describe('a full disk', () => {
  it('as a limit of the size of a file: writes fail, reads answer, and deleting makes room', async () => {
    const small = await PostgresServer.start({ maxFileBytes: 4 * 2 ** 20 });
    try {
      await small.query('create table filling (body text)');
      const { code, rows } = await fill(small);
      expect([code, Number(rows) % 500]).toEqual([expect.stringMatching(/^(53100|XX000)$/), 0]);
      expect(rows).toBeGreaterThan(0);
      await small.query('truncate filling');
      await small.query(`insert into filling values ('again')`);
    } finally {
      await small.dispose();
    }
  });

  it('as a tablespace on a small disk, where one can be mounted: 53100, and a larger disk makes room', async () => {
    if (!(await SmallDisk.isPossible())) return;
    const disk = await server.smallDisk('small', 4);
    await server.query(`create table filling (body text) tablespace ${disk.tablespace}`);
    const { code, rows } = await fill(server);
    expect([code, Number(rows) % 500]).toEqual(['53100', 0]);
    await disk.resize(16);
    await server.query(`insert into filling values ('again')`);
    expect(await server.query('select count(*)::int as rows from filling')).toEqual([
      { rows: Number(rows) + 1 },
    ]);
  });
});

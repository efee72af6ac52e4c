import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { TestCluster, expectNoConnections } from '@test/support';

const cluster = TestCluster.attach();

async function run(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

describe('TestCluster', () => {
  it('drops what earlier files of this process have left behind, and nothing else', async () => {
    const [earlier, other] = [`earlier_${process.pid}_01234567`, `other_${process.pid}0_01234567`];
    for (const name of [earlier, other]) await cluster.query(`create database ${name}`);
    const own = await cluster.createDatabase();
    await cluster.createDatabase();
    const found = await cluster.query('select datname from pg_database where datname = any($1) order by 1', [
      [earlier, other, new URL(own).pathname.slice(1)],
    ]);
    expect(found).toEqual([{ datname: other }, { datname: new URL(own).pathname.slice(1) }]);
  });

  it('gives every caller a database of its own', async () => {
    const urls = await Promise.all([1, 2].map(() => cluster.createDatabase({ label: 'Own one!' })));
    const names = urls.map((url) => new URL(url).pathname);
    expect(new Set(names).size).toBe(2);
    expect(names[0]).toMatch(/^\/own_one__\d+_[0-9a-f]{8}$/);
    expect(
      await run(String(urls[0]), 'select count(*)::int from pg_class where relnamespace = 2200'),
    ).toEqual([{ count: 0 }]);
  });

  it('prepares a template once, whoever asks first', async () => {
    let prepared = 0;
    const prepare = async (url: string) => {
      prepared++;
      await run(url, 'create table items as select generate_series(1, 3) as id');
    };
    const names = await Promise.all([1, 2, 3].map(() => cluster.template('items', prepare)));
    expect(prepared).toBe(1);
    const copy = await cluster.createDatabase({ template: String(names[0]) });
    expect(await run(copy, 'select id from items')).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
  });

  it('leaves nothing of a template whose preparation failed', async () => {
    const failing = cluster.template('broken', async (url) => void (await run(url, 'select broken')));
    await expect(failing).rejects.toMatchObject({ code: '42703' });
    await cluster.template('broken', async (url) => void (await run(url, 'create table whole ()')));
    const copy = await cluster.createDatabase({ template: 'template_broken' });
    expect(await run(copy, 'select from whole')).toEqual([]);
    expect(await cluster.query(`select datname from pg_database where datname like 'draft%'`)).toEqual([]);
  });

  it('counts the clients of a database and drops it under them', async () => {
    const url = await cluster.createDatabase();
    const client = new pg.Client({ connectionString: url, application_name: 'forgotten' });
    const ended = new Promise((resolve) => client.on('error', resolve));
    await client.connect();
    expect(await cluster.connections(url)).toBe(1);
    await cluster.dropDatabase(url);
    expect(await ended).toMatchObject({ code: '57P01' });
    expect(await cluster.connections(url)).toBe(0);
  });
});

describe('expectNoConnections', () => {
  it('is content when nobody is connected', async () => {
    await expectNoConnections(await cluster.createDatabase());
  });

  it('names the connection that stays', async () => {
    const url = await cluster.createDatabase();
    const client = new pg.Client({ connectionString: url, application_name: 'forgotten' });
    await client.connect();
    await expect(expectNoConnections(url, 200)).rejects.toThrow(
      /1 connection.* left open:\n.*"forgotten".*"idle"/,
    );
    await client.end();
    await expectNoConnections(url);
  });
});

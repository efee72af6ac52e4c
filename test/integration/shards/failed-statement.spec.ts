import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { inspect } from 'node:util';
import { Shards, type ShardDb } from '@app/sharding';
import { Note, bootApp, deployment, type Deployment } from '../../support/deployment.js';
import type { INestApplication } from '@nestjs/common';

/** A statement that fails is the caller's own error: it passes, but a logger prints nothing of the rows (threat S8). */
let databases: Deployment;
let app: INestApplication;
let db: ShardDb;

beforeAll(async () => {
  databases = await deployment(1);
  await databases.query(0, 'create unique index notes_body on notes (body)');
  app = await bootApp(databases.options());
  db = await app.get(Shards).dbOn('shard0');
});

afterAll(() => app.close());

async function failure(): Promise<Error & Record<string, unknown>> {
  const insert = () => db.getRepository(Note).insert({ tenantId: 'acme', body: 'private words' });
  await insert().catch(() => undefined);
  return insert().then(
    () => {
      throw new Error('the second insert must fail');
    },
    (error: Error & Record<string, unknown>) => error,
  );
}

it('is what TypeORM throws, with all of its facts', async () => {
  const error = await failure();
  expect([error.constructor.name, error['code'], error['constraint']]).toEqual([
    'QueryFailedError',
    '23505',
    'notes_body',
  ]);
  expect(error['parameters']).toContain('private words');
  expect(error['driverError']).toMatchObject({
    code: '23505',
    detail: 'Key (body)=(private words) already exists.',
  });
});

it('shows no row content when it is printed or serialised', async () => {
  const error = await failure();
  expect(inspect(error, { depth: 10 }) + JSON.stringify(error)).not.toContain('private words');
  expect(inspect(error)).toContain('notes_body');
});

it('inside a transaction is the same error', async () => {
  await failure();
  const work = db.tx((tx) => tx.getRepository(Note).insert({ tenantId: 'acme', body: 'private words' }));
  await expect(work).rejects.toMatchObject({ code: '23505', constraint: 'notes_body' });
});

it('as the cause of a library error is not printed either', async () => {
  const late = db.tx((tx) => tx.query('select pg_sleep(5), $1::text', ['private words']), { timeoutMs: 30 });
  const error: unknown = await late.catch((reason: unknown) => reason);
  expect(inspect(error, { depth: 10 })).not.toContain('private words');
});

it('that pg gave up is deadline_exceeded, and its connection is never used again', async () => {
  const impatient = await bootApp({
    ...databases.options({ poolSize: 1 }),
    typeorm: { extra: { query_timeout: 150 } },
  });
  const own = await impatient.get(Shards).dbOn('shard0');
  const pid = async () => (await own.query<{ pid: number }[]>('select pg_backend_pid() as pid'))[0]?.pid;
  const before = await pid();
  await expect(own.query('select pg_sleep(5)')).rejects.toMatchObject({ code: 'deadline_exceeded' });
  expect(await pid()).not.toBe(before);
  await impatient.close();
});

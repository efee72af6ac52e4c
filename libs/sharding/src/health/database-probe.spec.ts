import { expect, it } from '@jest/globals';
import { DatabaseProbe } from './database-probe.js';
import type { Database } from '../shards/database.js';

/** Counts the connections that a probe asks for; what a server answers is tested in `test/faults/health.spec.ts`. */
function counted(outcome: () => Promise<unknown>) {
  const asked: string[] = [];
  const probe = async (purpose: string) => {
    asked.push(purpose);
    return outcome();
  };
  return { asked, database: { probe } as unknown as Database };
}

it('concurrent questions share one connection, later ones ask again', async () => {
  const { asked, database } = counted(async () => ({ rows: [{ mode: 'off' }] }));
  const probe = new DatabaseProbe(700);
  const answers = await Promise.all(Array.from({ length: 20 }, () => probe.probe(database)));
  expect(answers).toEqual(Array.from({ length: 20 }, () => ({ ready: true, detail: 'answers' })));
  expect(asked).toEqual(['health']);
  await probe.probe(database);
  expect(asked).toEqual(['health', 'health']);
});

it('two databases are asked apart', async () => {
  const one = counted(async () => ({ rows: [{ mode: 'off' }] }));
  const other = counted(() =>
    Promise.reject(Object.assign(new Error('secret host'), { code: 'ECONNREFUSED' })),
  );
  const probe = new DatabaseProbe(700);
  expect(await Promise.all([probe.probe(one.database), probe.probe(other.database)])).toEqual([
    { ready: true, detail: 'answers' },
    { ready: false, detail: 'ECONNREFUSED' },
  ]);
});

it('a failure never rejects and never shows the text of the driver', async () => {
  const { database } = counted(() => Promise.reject(new Error('no route to db.internal for user app')));
  expect(await new DatabaseProbe(700).probe(database)).toEqual({ ready: false, detail: 'connection failed' });
});

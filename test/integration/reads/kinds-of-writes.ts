import { Note } from '../../support/deployment.js';
import { REPLICATED } from '../../support/replicated.js';
import type { ShardDb } from '@app/sharding';

export const tenantOf = (body: string) => ({ tenantId: REPLICATED, body });

/** Each leaves exactly one note with this body. */
export const WRITES: Record<string, (db: ShardDb, body: string) => Promise<unknown>> = {
  insert: (db, body) => db.getRepository(Note).insert(tenantOf(body)),
  save: (db, body) => db.getRepository(Note).save(tenantOf(body)),
  'raw SQL': (db, body) =>
    db.query('insert into notes (tenant_id, body) values ($1, $2)', [REPLICATED, body]),
  tx: (db, body) => db.tx((tx) => tx.getRepository(Note).insert(tenantOf(body))),
  'a savepoint': (db, body) =>
    db.tx((tx) => tx.tx((inner) => inner.getRepository(Note).insert(tenantOf(body)))),
  'a function': (db, body) => db.query('select add_note($1, $2)', [REPLICATED, body]),
  'a writing CTE': (db, body) =>
    db.query(
      'with x as (insert into notes (tenant_id, body) values ($1, $2) returning id) select count(*) from x',
      [REPLICATED, body],
    ),
  'the manager': (db, body) => db.manager.insert(Note, tenantOf(body)),
  'a runner of TypeORM': async (db, body) => {
    const runner = db.manager.dataSource.createQueryRunner();
    await runner.manager.insert(Note, tenantOf(body));
    await runner.release();
  },
  'a transaction of TypeORM': (db, body) =>
    db.manager.transaction(async (manager) => void (await manager.insert(Note, tenantOf(body)))),
  update: async (db, body) => {
    const { identifiers } = await db.getRepository(Note).insert(tenantOf('before'));
    await db.getRepository(Note).update(identifiers[0]!['id'] as string, { body });
  },
  delete: async (db, body) => {
    await db.getRepository(Note).insert([tenantOf(body), tenantOf(body)]);
    await db.query('delete from notes where id = (select max(id) from notes where body = $1)', [body]);
  },
};

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { expectNoConnections, TestCluster } from '@test/support';
import { ShardingModule, shardedRepositoryToken, type ShardedRepository } from '@app/sharding';
import { runOnce } from '../../support/admin-query.js';
import { bootApp } from '../../support/deployment.js';
import {
  Item,
  ItemSet,
  Label,
  Numbered,
  Shelf,
  SHELF_ENTITIES,
  SHELF_ROWS,
  SHELF_TABLES,
  Sign,
} from './shelf.js';
import type { INestApplication } from '@nestjs/common';

/** What a tenant's rows refer to is the tenant's own, and saving them with it harms nobody else's. */
let app: INestApplication;
let url: string;

beforeAll(async () => {
  url = await TestCluster.attach().createDatabase({ label: 'shelves' });
  await runOnce(url, SHELF_TABLES);
  app = await bootApp(
    {
      database: { poolSize: 2, shards: [{ name: 'shard0', primaryUrl: url }] },
      tenancy: { source: 'header' },
      entities: SHELF_ENTITIES,
    },
    { imports: [ShardingModule.forFeature([Numbered, Shelf, Sign, Item, ItemSet, Label])] },
  );
});
beforeEach(() => runOnce(url, SHELF_ROWS));
afterAll(async () => {
  await app.close();
  await expectNoConnections(url);
});

const of = <E extends object>(entity: new () => E, tenant = 'acme') =>
  app.get<ShardedRepository<E>>(shardedRepositoryToken(entity)).for(tenant);

/** Every row of every table, as text. */
async function everything(): Promise<unknown> {
  const tables = ['shelves', 'signs', 'items', 'labels', 'item_labels', 'makers'];
  const rows = tables.map((table) => `select '${table} ' || t::text as row from ${table} t`);
  return runOnce(url, `${rows.join(' union all ')} order by 1`);
}

const rowsOf = (sql: string) => runOnce(url, sql);

describe('another tenant’s row cannot be referred to', () => {
  const theirs = { id: 2 };
  it.each<[string, () => Promise<unknown>]>([
    ['by a saved object', () => of(Item).save({ id: 9, shelf: theirs })],
    ['by a saved object without an id', () => of(Item).save({ shelf: theirs } as never)],
    ['by a saved id', () => of(Item).save({ id: 9, shelfId: 2 })],
    ['by a relation that is an id', () => of(Item).save({ id: 9, shelf: 2 } as never)],
    ['by a saved id of a stored row', () => of(Item).save({ id: 1, shelfId: 2 })],
    ['by an inserted object', () => of(Item).insert({ id: 9, shelf: theirs })],
    ['by an inserted id', () => of(Item).insert([{ id: 8 }, { id: 9, shelfId: 2 }])],
    ['by an update', () => of(Item).update(1, { shelfId: 2 })],
    ['by an object of an update', () => of(Item).update(1, { shelf: theirs })],
    ['by an upsert', () => of(Item).upsert({ id: 1, shelfId: 2 }, ['id', 'tenantId'])],
    ['by the owner of a one-to-one', () => of(Sign).save({ id: 1, shelf: theirs })],
    ['by the other side of a one-to-one', () => of(Shelf).save({ id: 1, sign: theirs })],
    ['by many-to-many', () => of(Item).save({ id: 1, labels: [{ id: 1 }, theirs] })],
    ['by the other side of many-to-many', () => of(Label).save({ id: 1, items: [theirs] })],
    [
      'by an object that says whose it is',
      () => of(Item).save({ id: 9, shelf: { id: 7, tenantId: 'globex' } }),
    ],
    ['by the list of a one-to-many', () => of(Shelf).save({ id: 1, items: [{ id: 1 }, theirs] })],
    ['by the list of a new row', () => of(Shelf).save({ id: 9, items: [theirs] })],
    ['by the cascade of a child entity', () => of(ItemSet).save({ id: 9, first: { id: 2, name: 'mine' } })],
    [
      'by the cascade of a child entity, saved as its parent',
      () => of(Item).save(Object.assign(new ItemSet(), { id: 9, first: { id: 2, name: 'mine' } })),
    ],
    [
      'by the cascade of a cascade',
      () => of(ItemSet).save({ id: 9, first: Object.assign(new ItemSet(), { id: 8, first: { id: 2 } }) }),
    ],
  ])('%s', async (_name, write) => {
    const before = await everything();
    await expect((async () => write())()).rejects.toMatchObject({ code: 'cross_tenant', status: 403 });
    expect(await everything()).toEqual(before);
  });
});

describe('own rows', () => {
  it('are saved with their loaded list, changed, extended and shortened', async () => {
    const shelves = of(Shelf);
    const shelf = await shelves.findOneOrFail({ where: { id: 1 }, relations: { items: true, sign: true } });
    await shelves.save(shelf);
    expect(await rowsOf('select id from items where shelf_id = 1')).toEqual([{ id: 1 }]);
    const other = await of(Item).findOneByOrFail({ id: 4 });
    await shelves.save({ ...shelf, items: [...shelf.items, other] });
    expect(await rowsOf('select id from items where shelf_id = 1 order by id')).toEqual([
      { id: 1 },
      { id: 4 },
    ]);
    await shelves.save({ ...shelf, items: [other], sign: null });
    expect(await rowsOf('select id from items where shelf_id = 1')).toEqual([{ id: 4 }]);
    expect(await rowsOf('select shelf_id from signs where id = 1')).toEqual([{ shelf_id: null }]);
  });

  it('take no rows of another tenant away that refer to them', async () => {
    await rowsOf(`insert into items (id, tenant_id, shelf_id) values (3, 'globex', 1)`);
    const shelf = await of(Shelf).findOneOrFail({ where: { id: 1 }, relations: { items: true } });
    expect(shelf.items.map(({ id }) => id)).toEqual([1]);
    for (const items of [shelf.items, [], null as never]) {
      await expect(of(Shelf).save({ ...shelf, items })).rejects.toMatchObject({ code: 'cross_tenant' });
    }
    expect(await rowsOf('select id from items where shelf_id = 1 order by id')).toEqual([
      { id: 1 },
      { id: 3 },
    ]);
  });

  it('refer to own rows and to those of all tenants, by every kind of relation', async () => {
    await of(Item).save({ id: 6, shelfId: 1, labels: [{ id: 1 }] });
    await of(Item).update(4, { shelf: { id: 1 } });
    await of(ItemSet).save({ id: 7, first: { id: 1, name: 'renamed' } });
    await of(Item).insert({ id: 8, maker: { id: 1 } });
    expect(
      await rowsOf(
        `select id, name, tenant_id, shelf_id, first_id, maker_id, kind from items where id > 3 or id = 1 order by id`,
      ),
    ).toEqual([
      row(1, { name: 'renamed', shelf_id: 1 }),
      row(4, { shelf_id: 1 }),
      row(6, { shelf_id: 1 }),
      row(7, { first_id: 1, kind: 'set' }),
      row(8, { maker_id: 1 }),
    ]);
    const found = await of(Item).find({ where: { id: 6 }, relations: { labels: true, shelf: true } });
    expect(found).toMatchObject([{ labels: [{ id: 1 }], shelf: { id: 1 } }]);
  });

  it('change no stored row of all tenants by a cascade', async () => {
    await expect(of(Item).save({ id: 1, maker: { id: 1, name: 'mine' } })).rejects.toMatchObject({
      code: 'invalid_options',
    });
    expect(await rowsOf('select name from makers')).toEqual([{ name: 'of all' }]);
  });

  const row = (id: number, values: Record<string, unknown>) => ({
    id,
    name: '',
    tenant_id: 'acme',
    shelf_id: null,
    first_id: null,
    maker_id: null,
    kind: 'Item',
    ...values,
  });
});

describe('a child entity', () => {
  it('is stamped, filtered and changed within its tenant', async () => {
    await of(ItemSet).save([{ id: 9, first: { id: 10 } }]);
    await of(ItemSet, 'globex').save({ id: 19 });
    expect(await rowsOf(`select id, tenant_id, kind from items where id > 8 order by id`)).toEqual([
      { id: 9, tenant_id: 'acme', kind: 'set' },
      { id: 10, tenant_id: 'acme', kind: 'Item' },
      { id: 19, tenant_id: 'globex', kind: 'set' },
    ]);
    expect(await of(ItemSet).find({ relations: { first: true } })).toMatchObject([
      { id: 9, first: { id: 10 } },
    ]);
    expect((await of(ItemSet).delete(19)).affected).toBe(0);
    await expect(of(ItemSet).save({ id: 19, name: 'mine' })).rejects.toMatchObject({ code: 'cross_tenant' });
    await expect(of(Item).save({ id: 19, name: 'mine' })).rejects.toMatchObject({ code: 'cross_tenant' });
  });
});

describe('a tenant that is a number', () => {
  it('has one spelling: another routing key never means the same rows', async () => {
    await of(Numbered, '7').insert({ id: 1 });
    expect(await of(Numbered, '7').find()).toEqual([{ id: 1, tenantId: '7' }]);
    for (const key of ['07', ' 7', '+7', '7.0', '-0']) {
      await expect(of(Numbered, key).find()).rejects.toMatchObject({
        code: 'invalid_routing_key',
        status: 400,
      });
      await expect(of(Numbered, key).delete(1)).rejects.toMatchObject({ code: 'invalid_routing_key' });
    }
    expect(await of(Numbered, '8').find()).toEqual([]);
  });
});

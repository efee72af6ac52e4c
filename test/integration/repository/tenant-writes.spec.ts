import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { And, Like, Not, Raw } from 'typeorm';
import { TwoTenants } from './two-tenants.js';
import type { ShardedRepository } from '@app/sharding';
import type { Folder, Page } from './library.js';

let tenants: TwoTenants;
let pages: ShardedRepository<Page>;
let folders: ShardedRepository<Folder>;

beforeAll(async () => {
  tenants = await TwoTenants.start();
  ({ pages, folders } = tenants);
});
beforeEach(() => tenants.fill());
afterAll(() => tenants.stop());

const asAcme = <T>(work: () => Promise<T>) => tenants.asAcme(work);
const id = () => String(tenants.theirs['id']);
const theirFolder = () => String(tenants.theirs['folder_id']);
const theirsAreUnharmed = async () => expect(await tenants.theirsNow()).toEqual(tenants.theirs);

describe('a write', () => {
  it('stamps what it inserts', async () => {
    await asAcme(() => pages.insert([{ slug: 'a' }, { slug: 'b', tenantId: 'acme' }]));
    const saved = await asAcme(() => pages.save({ slug: 'c' }));
    expect(saved).toMatchObject({ slug: 'c', tenantId: 'acme', views: 0 });
    expect(await tenants.place.query('select tenant_id, slug from pages order by slug')).toEqual(
      ['a', 'b', 'c', 'home']
        .map((slug) => ({ tenant_id: 'acme', slug }))
        .concat({ tenant_id: 'globex', slug: 'secret' }),
    );
  });

  it.each<[string, () => Promise<unknown>]>([
    ['insert', () => pages.insert({ tenantId: 'globex', slug: 'x' })],
    ['save', () => pages.save({ tenantId: 'globex', slug: 'x' })],
    ['save of their id', () => pages.save({ id: id(), title: 'mine' })],
    ['save of their row', () => pages.save({ id: id(), tenantId: 'globex', title: 'mine' })],
    ['save of several', () => pages.save([{ slug: 'x' }, { id: id(), slug: 'taken' }])],
    ['save of a cascade', () => folders.save({ name: 'x', pages: [{ id: id(), slug: 'taken' }] })],
    [
      'save of a cascade of theirs',
      () => folders.save({ name: 'x', pages: [{ tenantId: 'globex', slug: 'y' }] }),
    ],
    ['update to another tenant', () => pages.update({ slug: 'home' }, { tenantId: 'globex' })],
    ['update where another tenant', () => pages.update({ tenantId: 'globex' }, { title: 'x' })],
    ['delete where another tenant', () => pages.delete({ tenantId: 'globex' })],
    ['upsert by id', () => pages.upsert({ id: id(), slug: 'x' }, ['id'])],
    [
      'upsert of another tenant',
      () => pages.upsert({ tenantId: 'globex', slug: 'secret', title: 'x' }, ['tenantId', 'slug']),
    ],
    ['save of rows of the other side', () => folders.save({ id: theirFolder(), pages: [] })],
    [
      'save of listed rows of the other side',
      () => folders.save({ id: theirFolder(), pages: [{ id: id() }] }),
    ],
    ['increment of the tenant', () => pages.increment({ slug: 'home' }, 'tenantId', 1)],
  ])('%s is cross_tenant and changes nothing', async (_name, write) => {
    const before = await tenants.place.query('select * from pages order by id');
    await expect(asAcme(async () => write())).rejects.toMatchObject({ code: 'cross_tenant', status: 403 });
    expect(await tenants.place.query('select * from pages order by id')).toEqual(before);
    expect(await tenants.place.query('select count(*)::int as n from folders')).toEqual([{ n: 1 }]);
  });

  it.each<[string, () => Promise<{ affected?: number | null | undefined }>]>([
    ['update by id', () => pages.update(id(), { title: 'mine' })],
    ['update by ids', () => pages.update([id()], { title: 'mine' })],
    ['update by condition', () => pages.update({ slug: 'secret' }, { title: 'mine' })],
    ['update by conditions', () => pages.update([{ slug: 'secret' }, { id: id() }], { title: 'mine' })],
    ['delete', () => pages.delete(id())],
    ['delete by ids', () => pages.delete([id()])],
    ['delete by condition', () => pages.delete({ slug: Like('sec%') })],
    ['softDelete', () => pages.softDelete(id())],
    ['restore', () => pages.restore({ id: id() })],
    ['increment', () => pages.increment({ id: id() }, 'views', 1)],
    ['decrement', () => pages.decrement({ slug: 'secret' }, 'views', 1)],
  ])('%s does not touch their row', async (_name, write) => {
    expect((await asAcme(write)).affected).toBe(0);
    await theirsAreUnharmed();
  });

  it('does its work on own rows', async () => {
    const mine = String(tenants.own['id']);
    await asAcme(async () => {
      expect((await pages.update(mine, { title: 'new' })).affected).toBe(1);
      await pages.increment({ id: mine }, 'views', 4);
      await pages.save({ id: mine, slug: 'start' });
      await pages.upsert({ slug: 'start', title: 'newer' }, ['tenantId', 'slug']);
      expect(await pages.findOneBy({ id: mine })).toMatchObject({ slug: 'start', title: 'newer', views: 5 });
      await pages.update(mine, { views: () => 'views + 1', title: () => `concat('a', 'b, c')` });
      expect(await pages.findOneBy({ id: mine })).toMatchObject({ title: 'ab, c', views: 6 });
      await pages.softDelete({ slug: 'start' });
      expect(await pages.count()).toBe(0);
      await pages.restore({ slug: 'start' });
      expect((await pages.delete([mine])).affected).toBe(1);
    });
    await theirsAreUnharmed();
  });

  it.each<[string, () => Promise<unknown>]>([
    ['delete', () => pages.delete({ id: Raw((alias) => `${alias} = 0 or true`) })],
    [
      'update',
      () =>
        pages.update(
          {
            slug: And(
              Raw(() => 'true'),
              Like('%'),
            ),
          },
          { title: 'x' },
        ),
    ],
    [
      'increment',
      () => pages.increment([{ slug: 'x' }, { slug: Not(Raw(() => 'false or true')) }], 'views', 1),
    ],
    [
      'update by a query',
      () => pages.update({ slug: 'home' }, { title: () => '(select max(title) from pages)' }),
    ],
    [
      'upsert with a condition that is SQL',
      () =>
        pages.upsert(
          { slug: 'home' },
          { conflictPaths: ['tenantId', 'slug'], indexPredicate: 'true) do nothing --' },
        ),
    ],
    [
      'update that returns SQL',
      () =>
        pages.update(
          { slug: 'home' },
          { views: 2 },
          { returning: '(select max(title) from pages)' as never },
        ),
    ],
    ['increment by SQL', () => pages.increment({ slug: 'home' }, 'views', ['1'] as never)],
    ['delete by no condition on a relation', () => pages.delete({ folder: {} })],
    [
      'update by SQL that writes more',
      () => pages.update({ slug: 'home' }, { title: () => `'x', tenant_id = 'globex'` }),
    ],
    [
      'update by SQL that has a condition',
      () => pages.update({ slug: 'home' }, { title: () => `'x' where true --` }),
    ],
    ['insert of SQL that is more rows', () => pages.insert({ slug: () => `'x'), ('globex', 'y'` })],
  ])('%s with what could reach past the tenant is refused', async (_name, write) => {
    const before = await tenants.place.query('select * from pages order by id');
    await expect(asAcme(async () => write())).rejects.toMatchObject({
      code: expect.stringMatching(/^(invalid_options|cross_tenant)$/) as never,
    });
    expect(await tenants.place.query('select * from pages order by id')).toEqual(before);
  });

  it('an id of one’s own is inserted, and a taken one is a conflict, never an overwrite', async () => {
    await asAcme(() => pages.save({ id: '4000', slug: 'far' }));
    expect(await tenants.place.query('select tenant_id from pages where id = 4000')).toEqual([
      { tenant_id: 'acme' },
    ]);
    await expect(asAcme(() => pages.insert({ id: id(), slug: 'taken' }))).rejects.toMatchObject({
      code: '23505',
    });
    await theirsAreUnharmed();
  });

  it.each([{}, [], [{}]])('criteria %j would be everything and are refused', async (criteria) => {
    await expect(asAcme(() => pages.delete(criteria as never))).rejects.toMatchObject({
      code: 'invalid_options',
    });
    await expect(asAcme(() => pages.update(criteria as never, { title: 'x' }))).rejects.toMatchObject({
      code: 'invalid_options',
    });
  });
});

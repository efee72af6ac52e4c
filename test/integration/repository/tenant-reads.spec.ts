import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Brackets, Equal, In, Like, MoreThan, Not, Raw } from 'typeorm';
import { Folder, Page, PageRepository } from './library.js';
import { TwoTenants } from './two-tenants.js';
import type { FindOptionsWhere } from 'typeorm';
import type { ShardedRepository } from '@app/sharding';

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

describe('a read', () => {
  const reads: [string, () => Promise<unknown>, unknown][] = [
    ['find', () => pages.find(), ['home']],
    ['find by id', () => pages.find({ where: { id: id() } }), []],
    ['find by ids', () => pages.find({ where: { id: In([id(), String(tenants.own['id'])]) } }), ['home']],
    ['find with or', () => pages.find({ where: [{ id: id() }, { slug: 'secret' }, { views: 1 }] }), ['home']],
    ['find with not', () => pages.findBy({ slug: Not('nothing') }), ['home']],
    ['find with like', () => pages.findBy({ slug: Like('%') }), ['home']],
    ['find with raw', () => pages.findBy({ slug: Raw((alias) => `${alias} is not null or true`) }), ['home']],
    ['find ordered and paged', () => pages.find({ order: { id: 'ASC' }, skip: 0, take: 10 }), ['home']],
    ['find with deleted', () => pages.find({ withDeleted: true }), ['home']],
    ['custom finder', () => tenants.place.app.get(PageRepository).popular(0), ['home']],
    [
      'a query builder with or',
      () =>
        pages
          .createQueryBuilder('p')
          .where('p.views = 1')
          .orWhere('1 = 1')
          .orWhere('p.id = :id', { id: id() })
          .getMany(),
      ['home'],
    ],
    [
      'a query builder with brackets',
      () =>
        pages
          .createQueryBuilder('p')
          .where(new Brackets((qb) => qb.where('true').orWhere('true')))
          .orWhere('true')
          .getMany(),
      ['home'],
    ],
    [
      'a query builder with a subquery of the entity',
      () =>
        pages
          .createQueryBuilder('p')
          .where((qb) => `p.views <= (${qb.subQuery().select('max(q.views)').from(Page, 'q').getQuery()})`)
          .orWhere('p.views >= 0')
          .getMany(),
      ['home'],
    ],
    ['a query builder of everything', () => pages.createQueryBuilder('p').getMany(), ['home']],
    ['a copied query builder', () => pages.createQueryBuilder('p').clone().getMany(), ['home']],
  ];
  it.each(reads)('%s gives own rows only', async (_name, read, slugs) => {
    const rows = (await asAcme(read)) as Page[];
    expect(rows.map(({ slug }) => slug)).toEqual(slugs);
  });

  const values: [string, () => Promise<unknown>, unknown][] = [
    ['findOne', () => pages.findOne({ where: { id: id() } }), null],
    ['findOneBy', () => pages.findOneBy({ slug: 'secret' }), null],
    ['count', () => pages.count(), 1],
    ['countBy', () => pages.countBy({ id: id() }), 0],
    ['exists', () => pages.existsBy({ id: id() }), false],
    ['sum', () => pages.sum('views'), 1],
    ['average', () => pages.average('views'), 1],
    ['minimum', () => pages.minimum('views'), 1],
    ['maximum', () => pages.maximum('views', [{ views: 1 }, { views: 7 }]), 1],
    ['findAndCount', async () => (await pages.findAndCount({ take: 1, order: { views: 'DESC' } }))[1], 1],
    ['count of a query builder', () => pages.createQueryBuilder('p').where('true or true').getCount(), 1],
    [
      'exists of a query builder',
      () => pages.createQueryBuilder('p').where('p.id = :id', { id: id() }).getExists(),
      false,
    ],
    ['raw rows', () => pages.createQueryBuilder('p').select('max(p.views)', 'most').getRawOne(), { most: 1 }],
    [
      'an added entity',
      async () => (await pages.createQueryBuilder('p').addFrom(Folder, 'f').getRawMany()).length,
      0,
    ],
  ];
  it.each(values)('%s tells of own rows only', async (_name, read, value) => {
    expect(await asAcme(read)).toEqual(value);
  });

  it('findOneOrFail does not find theirs', async () => {
    await expect(asAcme(() => pages.findOneByOrFail({ id: id() }))).rejects.toThrow(
      /Could not find any entity/,
    );
  });

  it('relations, joins and conditions on them stay inside the tenant', async () => {
    const [page] = await asAcme(() => pages.find({ relations: { folder: true } }));
    expect(page).toMatchObject({ slug: 'home', folder: null });
    expect(await asAcme(() => pages.find({ where: { folder: { name: 'f' } } }))).toEqual([]);
    const [split] = await asAcme(() =>
      pages.find({ relations: { folder: true }, relationLoadStrategy: 'query' }),
    );
    expect(split).toMatchObject({ slug: 'home', folder: null });
    const joined = await asAcme(() =>
      pages.createQueryBuilder('p').leftJoinAndSelect('p.folder', 'f', 'true or true').getMany(),
    );
    expect(joined).toMatchObject([{ slug: 'home', folder: null }]);
    expect(
      await asAcme(() => pages.createQueryBuilder('p').innerJoin(Folder, 'f', 'f.id = p.folder').getMany()),
    ).toEqual([]);
    expect(await asAcme(() => folders.find({ relations: { pages: true } }))).toEqual([]);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['a plain value', () => pages.findBy({ tenantId: 'globex' })],
    ['one of several', () => pages.findBy([{ slug: 'home' }, { tenantId: 'globex' }])],
    ['In', () => pages.findBy({ tenantId: In(['acme', 'globex']) })],
    ['Equal', () => pages.findBy({ tenantId: Equal('globex') })],
    ['Not', () => pages.findBy({ tenantId: Not('acme') })],
    ['Like', () => pages.findBy({ tenantId: Like('%') })],
    ['Raw', () => pages.findBy({ tenantId: Raw('true') })],
    ['a relation', () => pages.findBy({ folder: { tenantId: 'globex' } })],
    ['count', () => pages.countBy({ tenantId: 'globex' })],
    [
      'a query builder',
      () => pages.createQueryBuilder('p').where('p.tenantId = :t', { t: 'globex' }).getMany(),
    ],
    [
      'a query builder with a list',
      () =>
        pages
          .createQueryBuilder('p')
          .where('p.tenantId in (:...t)', { t: ['acme', 'globex'] })
          .getMany(),
    ],
    [
      'an object in a query builder',
      () => pages.createQueryBuilder('p').where({ tenantId: 'globex' }).getMany(),
    ],
    ['unbalanced SQL', () => pages.createQueryBuilder('p').where('1=1) or (1=1').getMany()],
    ['a comment', () => pages.createQueryBuilder('p').where('1=1) --').getMany()],
    ['an open comment', () => pages.createQueryBuilder('p').where('1=1 /*').getMany()],
    ['raw SQL that leaves its place', () => pages.findBy({ slug: Raw(() => '1=1) or (1=1') })],
  ])('another tenant in %s is cross_tenant', async (_name, read) => {
    await expect(asAcme(async () => read())).rejects.toMatchObject({ code: 'cross_tenant', status: 403 });
  });

  it('the own tenant may be named', async () => {
    expect(await asAcme(() => pages.countBy({ tenantId: 'acme' }))).toBe(1);
    expect(await asAcme(() => pages.countBy([{ tenantId: Equal('acme') }, { tenantId: In(['acme']) }]))).toBe(
      1,
    );
  });

  it.each<[string, FindOptionsWhere<Page> | FindOptionsWhere<Page>[]]>([
    ['undefined', { slug: undefined } as never],
    ['null', { slug: null } as never],
    ['undefined in a list', [{ slug: 'home' }, { id: undefined } as never]],
    ['undefined in a relation', { folder: { name: undefined } } as never],
    ['an operator over undefined', { slug: Equal(undefined as never) }],
    ['a negated undefined', { slug: Not(Equal(undefined as never)) }],
    ['a list with undefined', { slug: In(['a', undefined as never]) }],
  ])('%s in where is refused, not ignored', async (_name, where) => {
    await expect(asAcme(() => pages.findBy(where))).rejects.toMatchObject({ code: 'invalid_options' });
    await expect(asAcme(() => pages.delete(where))).rejects.toMatchObject({ code: 'invalid_options' });
  });

  it.each<[string, () => Promise<unknown>]>([
    ['a comment that ends itself', () => pages.find({ comment: '**// select 1 -- ' })],
    ['a cache by name', () => pages.find({ cache: { id: 'list', milliseconds: 1000 } })],
    ['a count of related rows', () => folders.find({ where: { pages: MoreThan(0) } as never })],
  ])('%s in find options is refused', async (_name, read) => {
    await expect(asAcme(read)).rejects.toMatchObject({ code: 'invalid_options' });
  });

  it.each<[string, () => unknown]>([
    ['update', () => pages.createQueryBuilder('p').update()],
    ['delete', () => pages.createQueryBuilder('p').delete()],
    ['insert', () => pages.createQueryBuilder('p').insert()],
    ['softDelete', () => pages.createQueryBuilder('p').softDelete()],
    ['relation', () => pages.createQueryBuilder('p').relation('folder')],
    ['a join of a table', () => pages.createQueryBuilder('p').leftJoin('pages_of_others', 'q', 'true')],
    ['a join of SQL', () => pages.createQueryBuilder('p').leftJoin('(select * from pages)', 'q', 'true')],
    ['its own parameter', () => pages.createQueryBuilder('p').setParameter('sharding_tenant', 'globex')],
  ])('%s of a query builder is refused', (_name, use) => {
    expect(use).toThrow(expect.objectContaining({ code: 'invalid_options' }) as never);
  });
});

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { In, Raw, type SelectQueryBuilder } from 'typeorm';
import { Folder, Page } from './library.js';
import { TwoTenants } from './two-tenants.js';
import type { ShardedRepository } from '@app/sharding';

/** What a caller may put into a query builder, and what would read past the tenant. */
let tenants: TwoTenants;
let pages: ShardedRepository<Page>;

beforeAll(async () => {
  tenants = await TwoTenants.start();
  ({ pages } = tenants);
});
beforeEach(() => tenants.fill());
afterAll(() => tenants.stop());

const asAcme = <T>(work: () => Promise<T>) => tenants.asAcme(work);
const of = () => pages.createQueryBuilder('p');
type Query = SelectQueryBuilder<Page>;
type Plain = SelectQueryBuilder<never>;

describe('a query builder refuses', () => {
  const all = '(select * from pages)';
  it.each<[string, () => Promise<unknown>]>([
    ['a table by its path', () => of().from('public.pages', 'q').getRawMany()],
    ['another table by its path', () => of().addFrom('public.pages', 'q').select('q.*').getRawMany()],
    [
      'a table as the source of a subquery',
      () =>
        of()
          .where((q) => `exists ${q.subQuery().select('1').from('public.pages', 'q').getQuery()}`)
          .getMany(),
    ],
    ['a subquery in a string', () => of().addFrom(all, 'q').select('q.*').getRawMany()],
    [
      'a subquery of SQL in from',
      () =>
        of()
          .from(all as never, 'q')
          .getRawMany(),
    ],
    [
      'a foreign builder in from',
      () =>
        of()
          .from(() => foreign(), 'q')
          .getRawMany(),
    ],
    ['a foreign builder in exists', () => of().whereExists(foreign()).getMany()],
    [
      'a table that is mapped as an entity',
      () =>
        of()
          .innerJoinAndMapOne('p.x', 'other_pages' as never, 'q', 'true', {}, Page)
          .getRawMany(),
    ],
    [
      'a subquery that is mapped as an entity',
      () =>
        of()
          .innerJoinAndMapOne('p.x', all as never, 'q', 'true', {}, Page)
          .getRawMany(),
    ],
    ['a common table expression', () => of().addCommonTableExpression('select * from pages', 'q').getMany()],
    ['unescaped names', () => of().disableEscaping().getMany()],
    ['a query in where', () => of().where('p.id in (select id from pages)').getMany()],
    ['a query in orWhere', () => of().orWhere('exists ( /* */ table pages)').getMany()],
    ['a query in Raw', () => pages.findBy({ id: Raw((id) => `${id} in (select id from pages)`) })],
    ['a query in select', () => of().select('(select max(views) from pages)', 'most').getRawMany()],
    ['a query in order by', () => of().orderBy('(select max(views) from pages)').getMany()],
    ['a query in group by', () => of().select('1').groupBy('(select max(views) from pages)').getRawMany()],
    [
      'a query in having',
      () => of().select('1').groupBy('p.id').having('exists (select 1 from pages)').getRawMany(),
    ],
    ['a query in distinct on', () => of().distinctOn(['(select max(views) from pages)']).getMany()],
    ['a query in a join', () => of().leftJoin('p.folder', 'f', 'exists (select 1 from pages)').getMany()],
    ['a union', () => of().select('p.id').having('true union select id from pages').getRawMany()],
    [
      'a query that a function runs',
      () => of().select(`query_to_xml('table pages', true, true, '')`).getRawMany(),
    ],
    ['an alias that is SQL', () => pages.createQueryBuilder('true or p').getMany()],
    ['an alias of a join that is SQL', () => of().leftJoin(Folder, 'f" on true --', 'true').getMany()],
    [
      'locks of what is SQL',
      () => of().setLock('pessimistic_write', undefined, ['p; select 1']).getRawMany(),
    ],
    [
      'the subquery of another builder',
      () =>
        of()
          .where(`p.id in (${pages.createQueryBuilder('q').select('q.id').getQuery()} or true)`)
          .getMany(),
    ],
    ['the tables of its connection', () => of().connection.getRepository(Page).find()],
    ['the manager of its connection', () => of().connection.manager.find(Page)],
    ['statements of its connection', () => of().connection.query('select * from pages')],
    [
      'builders of its connection',
      () => of().connection.createQueryBuilder().select('1').from(Page, 'q').getRawMany(),
    ],
  ])('%s', async (_name, read) => {
    await expect(asAcme(async () => read())).rejects.toMatchObject({ code: 'invalid_options' });
  });

  it.each<[string, () => Promise<unknown>]>([
    ['a source in select', () => of().select('q.* from pages q --').getRawMany()],
    ['a source without a comment', () => of().select('* from pages').getRawMany()],
    [
      'a foreign builder in select',
      () =>
        of()
          .addSelect(() => foreign(), 'x')
          .getRawMany(),
    ],
    ['a table to be made', () => of().select('* into copy').getRawMany()],
    ['a condition in group by', () => of().select('1').groupBy('p.id) --').getRawMany()],
    ['an end in order by', () => of().orderBy('p.id; select 1').getMany()],
    ['a comment in having', () => of().select('1').groupBy('p.id').having('true /*').getRawMany()],
    ['a literal with another tenant', () => of().where(`p.tenantId = 'globex'`).getMany()],
    ['the column with another tenant', () => of().where('p.tenant_id = :t', { t: 'globex' }).getMany()],
  ])('%s as cross_tenant', async (_name, read) => {
    await expect(asAcme(async () => read())).rejects.toMatchObject({ code: 'cross_tenant' });
  });

  it('and goes on refusing when the first refusal is caught', async () => {
    const query = of();
    for (const use of [
      () => query.addFrom('public.pages', 'q'),
      () => query.leftJoin('pages_of_others', 'r', 'true'),
    ]) {
      expect(use).toThrow(expect.objectContaining({ code: 'invalid_options' }) as never);
    }
    await expect(asAcme(() => query.getRawMany())).rejects.toMatchObject({ code: 'invalid_options' });
  });

  /** A builder that filters nothing. */
  function foreign(): Plain {
    return Object.assign(of().connection.createQueryBuilder(), {}).select('q.id').from(Page, 'q') as never;
  }
});

describe('a query builder takes', () => {
  const rows: [string, (query: Query) => SelectQueryBuilder<never> | Query, Record<string, unknown>[]][] = [
    [
      'a subquery as its source',
      (q) => q.select('s.slug', 'slug').from((s) => s.select('x.slug', 'slug').from(Page, 'x'), 's'),
      [{ slug: 'home' }],
    ],
    [
      'a subquery as another source',
      (q) => q.select('s.n', 'n').addFrom((s) => s.select('count(*)::int', 'n').from(Page, 'x'), 's'),
      [{ n: 1 }],
    ],
    [
      'a subquery as a column',
      (q) => q.select('p.slug', 'slug').addSelect((s) => s.select('max(x.views)').from(Page, 'x'), 'most'),
      [{ slug: 'home', most: 1 }],
    ],
    [
      'a subquery in a string',
      (q) =>
        q.select('p.slug', 'slug').where(`p.id in ${q.subQuery().select('x.id').from(Page, 'x').getQuery()}`),
      [{ slug: 'home' }],
    ],
    [
      'a query in exists',
      (q) => q.select('p.slug', 'slug').whereExists(pages.createQueryBuilder('x').where('x.views > p.views')),
      [],
    ],
    [
      'a case in order by',
      (q) => q.select('p.slug', 'slug').orderBy('case when p.views > 0 then 0 else 1 end'),
      [{ slug: 'home' }],
    ],
    [
      'aggregates with having',
      (q) =>
        q
          .select('count(*)::int', 'n')
          .groupBy('p.tenantId')
          .having('count(*) filter (where p.views > 0) > 0'),
      [{ n: 1 }],
    ],
    [
      'distinct from',
      (q) =>
        q.select('extract(year from now()) is distinct from 0', 'late').where('p.views is distinct from 7'),
      [{ late: true }],
    ],
  ];
  it.each(rows)('%s', async (_name, build, expected) => {
    expect(await asAcme(() => build(of()).getRawMany())).toEqual(expected);
  });

  it('pages of rows with their relations, counted', async () => {
    const found = await asAcme(() =>
      of().leftJoinAndSelect('p.folder', 'f').orderBy('p.id').skip(0).take(5).getManyAndCount(),
    );
    expect(found).toMatchObject([[{ slug: 'home', folder: null }], 1]);
    const options = { relations: { folder: true }, where: { views: In([1, 7]) }, take: 5 } as const;
    expect(await asAcme(() => pages.findAndCount(options))).toMatchObject([[{ slug: 'home' }], 1]);
  });
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MoreThanOrEqual } from 'typeorm';
import { scatterRepository, type CrossShardRepository } from '@app/sharding';
import { PlainOracle, orderOptions } from './plain-oracle.js';
import { NUMBERS, PROPERTIES, randomQuery, type RandomQuery } from './random-queries.js';
import { dataSet, load, type DataSet } from './random-samples.js';
import { Sample, bootSamples, sampleDatabase, type Samples } from './samples.js';

/** Every query on 1, 2, 3 and 8 shards gives what one database with all rows gives. Repeat a failure with SCATTER_SEED. */
const seed = Number(process.env['SCATTER_SEED'] ?? Date.now() % 2 ** 31);
const DATA_SETS = Number(process.env['SCATTER_DATA_SETS'] ?? 9);
const QUERIES = 60;

type Property = Extract<keyof Sample, string>;

let oracle: PlainOracle;
let oracleUrl: string;
const urls: string[] = [];

beforeAll(async () => {
  process.stderr.write(`scatter oracle: SCATTER_SEED=${seed}\n`);
  oracleUrl = await sampleDatabase('oracle');
  oracle = await PlainOracle.connect(oracleUrl);
  for (let shard = 0; shard < 8; shard++) urls.push(await sampleDatabase(`oracle_shard${shard}`));
});

afterAll(() => oracle.close());

describe.each([1, 2, 3, 8])('on %i shards', (count) => {
  let samples: Samples;
  let repo: CrossShardRepository<Sample>;

  beforeAll(async () => {
    samples = await bootSamples(urls.slice(0, count));
    repo = scatterRepository(Sample, { shards: samples.shards });
  });

  afterAll(() => samples.app.close());

  it(
    `answers ${DATA_SETS * QUERIES} random queries as one database does`,
    async () => {
      const queries = fc.array(randomQuery, { minLength: QUERIES, maxLength: QUERIES });
      const property = fc.asyncProperty(dataSet, queries, async (data, all) => {
        await spread(data, count);
        for (const query of all) await check(repo, query);
      });
      await fc.assert(property, { seed: seed + count, numRuns: DATA_SETS, endOnFailure: true });
    },
    30_000 + DATA_SETS * 10_000,
  );
});

async function spread(data: DataSet, count: number): Promise<void> {
  await Promise.all([
    load(oracleUrl, data, () => true),
    ...urls.slice(0, count).map((url, shard) => load(url, data, (place) => place % count === shard)),
  ]);
}

async function check(repo: CrossShardRepository<Sample>, query: RandomQuery): Promise<void> {
  const [answer, expected] = [await ask(repo, query), await askOracle(query)];
  try {
    expect(answer).toEqual(expected);
  } catch (cause) {
    throw new Error(`${description(query)}\n${(cause as Error).message}`, { cause });
  }
}

async function ask(repo: CrossShardRepository<Sample>, query: RandomQuery): Promise<unknown> {
  const { kind, take, skip, groups, having } = query;
  const where = query.where.map(
    (conditions) => Object.assign({}, ...conditions.map((one) => one.where)) as object,
  );
  const order = orderOptions(query.order);
  const property = PROPERTIES[query.column] as Property;
  const number = PROPERTIES[query.number] as Property;
  const window = { skip, ...(take !== undefined && { take }) };
  const ids = (rows: readonly Sample[]) => rows.map(({ id }) => id);
  switch (kind) {
    case 'find':
      return ids(await repo.find({ where, order, ...window, select: { id: true, body: true } }));
    case 'relations':
      return ids(await repo.find({ where, order, ...window, relations: { tags: true, author: true } }));
    case 'walk':
      return walk(repo, { where, order, take: (take ?? 5) + 1 });
    case 'stream': {
      const rows: Sample[] = [];
      for await (const row of repo.stream({ where, order, batchSize: skip + 1 })) rows.push(row);
      return ids(rows);
    }
    case 'first':
      return (await repo.findOneBy(where, { order }))?.id ?? null;
    case 'count':
      return repo.countBy(where);
    case 'exists':
      return repo.existsBy(where);
    case 'sum':
      return normal(query.number, await repo.sum(number, where));
    case 'average':
      return normal(query.number, await repo.average(number, where));
    case 'minimum':
      return normal(query.column, await repo.minimum(property, where));
    case 'maximum':
      return normal(query.column, await repo.maximum(property, where));
    case 'countDistinct':
      return repo.countDistinct(property, where);
    case 'groupBy': {
      const properties = groups.map((group) => PROPERTIES[group]!) as Property[];
      const rows = await repo.groupBy(
        properties,
        {
          n: { count: '*' },
          values: { countDistinct: property },
          mean: { average: number },
          most: { maximum: property },
        },
        {
          where,
          order: { n: 'DESC' },
          ...(take !== undefined && { take }),
          ...(having !== undefined && { having: { n: MoreThanOrEqual(having) } }),
        },
      );
      return rows.map((row) => [
        ...properties.map((name, index) => normal(groups[index]!, row[name])),
        row.n,
        row.values,
        normal(query.number, row.mean),
        normal(query.column, row.most),
      ]);
    }
  }
}

async function walk(
  repo: CrossShardRepository<Sample>,
  options: { where: object; order: object; take: number },
): Promise<string[]> {
  const ids: string[] = [];
  for (let after: string | null | undefined; after !== null;) {
    const page = await repo.page({ ...options, after });
    expect(page.rows.length).toBeLessThanOrEqual(options.take);
    ids.push(...page.rows.map(({ id }) => id));
    after = page.next;
  }
  return ids;
}

async function askOracle(query: RandomQuery): Promise<unknown> {
  const all = { take: undefined, skip: 0 };
  switch (query.kind) {
    case 'find':
    case 'relations':
      return oracle.ids(query, query);
    case 'walk':
    case 'stream':
      return oracle.ids(query, all);
    case 'first':
      return (await oracle.ids(query, { take: 1, skip: 0 }))[0] ?? null;
    case 'count':
      return oracle.count(query);
    case 'exists':
      return (await oracle.count(query)) > 0;
    case 'sum':
      return normal(query.number, await oracle.aggregate(query, `sum(s.${doubled(query.number)})`));
    case 'average':
      return normal(query.number, await oracle.aggregate(query, `avg(s.${doubled(query.number)})`));
    case 'minimum':
      return normal(query.column, await oracle.extreme(query, 'asc'));
    case 'maximum':
      return normal(query.column, await oracle.extreme(query, 'desc'));
    case 'countDistinct':
      return Number(await oracle.aggregate(query, `count(distinct s.${query.column})`));
    case 'groupBy': {
      const types = [...query.groups, '', '', query.number, query.column];
      return (await oracle.groups({ ...query, number: doubled(query.number) })).map((row) =>
        row.map((text, index) => (types[index] === '' ? Number(text) : normal(types[index]!, text))),
      );
    }
  }
}

/** The library sums reals as doubles. */
function doubled(column: string): string {
  return column === 'single' ? 'single::float8' : column;
}

const FLOATS = new Set(['single', 'ratio']);

/** A value that is the same for what PostgreSQL holds for equal; floats to twelve digits, as their sums are inexact. */
function normal(column: string, value: unknown): unknown {
  if (value === null || value === undefined) return null;
  if (FLOATS.has(column)) return Number(Number(value).toPrecision(12)) + 0;
  const text = Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : String(value);
  if (NUMBERS.includes(column)) return /\./.test(text) ? text.replace(/\.?0+$/, '') : text;
  return column === 'code' ? text.trimEnd() : text;
}

function description({ where, ...query }: RandomQuery): string {
  return JSON.stringify({ ...query, where: where.map((all) => all.map(({ sql }) => sql)) });
}

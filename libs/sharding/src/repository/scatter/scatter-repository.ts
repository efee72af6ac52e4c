import { callSite } from './call-site.js';
import { mergeSteps } from './explain.js';
import { assertWhole } from './fan-out-options.js';
import { countRequest, cursorBinding, rowsRequest, windowOf } from './find-options.js';
import { findRows } from './found-rows.js';
import { gather } from './gather.js';
import { askGroups, singleValue } from './groups/ask-groups.js';
import { withFreshLabels } from './labels.js';
import { ownRows } from './query.js';
import { refuseMethods } from './refused-methods.js';
import { planRows } from './rows.js';
import { Scatter } from './scatter.js';
import { readShard } from './shard-read.js';
import { streamRows } from './stream-rows.js';
import type { ObjectLiteral } from 'typeorm';
import type { EntityClass } from '../sharded-entity.js';
import type {
  CrossShardRepository,
  ScatterCountOptions,
  ScatterFindOptions,
  ScatterPageOptions,
  ScatterPlan,
  ScatterStreamOptions,
} from './cross-shard-repository.js';
import type { AllShards, ScatterLimits, SomeShards } from './fan-out-options.js';
import type { Scattered } from './find-options.js';
import type { GatherParts, PlacedShard } from './gather.js';
import type { GroupsCall } from './groups/ask-groups.js';
import type { Where } from './query.js';
import type { ScatterAnswer, ScatterParts, WholeScatter } from './scatter.js';

type Limits = AllShards | SomeShards;
type FindOptions<E extends ObjectLiteral> = ScatterFindOptions<E> & Limits;
type CountOptions<E extends ObjectLiteral> = ScatterCountOptions<E> & Limits;

const DEFAULT_PAGE = 100;
const DEFAULT_BATCH = 500;
const DEFAULT_IDLE_MS = 60_000;

/**
 * {@link CrossShardRepository} over the shards of `Shards`; it needs no tenant. What its methods give is told by the
 * interface.
 */
export class ScatterRepository<E extends ObjectLiteral> implements CrossShardRepository<E> {
  readonly #scatter: Scatter<E>;

  static {
    refuseMethods(this.prototype);
  }

  constructor(entity: EntityClass<E>, parts: ScatterParts) {
    this.#scatter = new Scatter(entity, parts);
  }

  find(options: FindOptions<E> = {}): Promise<never> {
    return this.#rows('find', options);
  }

  findBy(where: Where<E>, options: FindOptions<E> = {}): Promise<never> {
    return this.#rows('findBy', { ...options, where });
  }

  findOneBy(where: Where<E>, options: FindOptions<E> = {}): Promise<never> {
    return this.#scatter.run('findOneBy', options, async (parts, of) => {
      const request = rowsRequest(of, { ...options, where });
      const { rows, missing } = await findRows(parts, request, { skip: 0, take: 1 });
      return valueAnswer(rows[0] ?? null, rows.length, missing);
    });
  }

  count(options: CountOptions<E> = {}): Promise<never> {
    return this.#value('count', options, { count: '*' });
  }

  countBy(where: Where<E>, options: Limits = {}): Promise<never> {
    return this.#value('countBy', { ...options, where }, { count: '*' });
  }

  exists(options: CountOptions<E> = {}): Promise<never> {
    return this.#exists('exists', options);
  }

  existsBy(where: Where<E>, options: Limits = {}): Promise<never> {
    return this.#exists('existsBy', { ...options, where });
  }

  countDistinct(column: string, where?: Where<E>, options: Limits = {}): Promise<never> {
    return this.#value('countDistinct', optionsWith(where, options), { countDistinct: column });
  }

  sum(column: string, where?: Where<E>, options: Limits = {}): Promise<never> {
    return this.#value('sum', optionsWith(where, options), { sum: column });
  }

  average(column: string, where?: Where<E>, options: Limits = {}): Promise<never> {
    return this.#value('average', optionsWith(where, options), { average: column });
  }

  minimum(column: string, where?: Where<E>, options: Limits = {}): Promise<never> {
    return this.#value('minimum', optionsWith(where, options), { minimum: column });
  }

  maximum(column: string, where?: Where<E>, options: Limits = {}): Promise<never> {
    return this.#value('maximum', optionsWith(where, options), { maximum: column });
  }

  groupBy(
    columns: GroupsCall['columns'],
    aggregates: GroupsCall['aggregates'],
    options: GroupsCall['options'] & CountOptions<E> = {},
  ): Promise<never> {
    return this.#scatter.run('groupBy', options, async (parts, of) => {
      const request = countRequest(of, options);
      const { rows, missing } = await askGroups(parts, request, { columns, aggregates, options });
      return rowsAnswer(rows, missing);
    });
  }

  page(options: ScatterPageOptions<E> & Limits): Promise<never> {
    return this.#scatter.run('page', options, (parts, of) => this.#page({ ...parts, of }, options));
  }

  stream(
    options: ScatterStreamOptions<E> & Omit<ScatterLimits, 'width'> = {},
  ): AsyncGenerator<E, void, undefined> {
    return this.#stream(options, callSite());
  }

  async explain(options: FindOptions<E> = {}): Promise<ScatterPlan> {
    const window = windowOf(options);
    const { skip, take } = window;
    const limit = take === undefined ? undefined : skip + take;
    const { of, end } = await this.#scatter.whole();
    end(); // nothing is read
    const request = { ...rowsRequest(of, options), limit };
    const shards = [];
    let merge: string[] = [];
    for (const { shard, index } of this.#scatter.placed(options)) {
      const plan = await readShard(shard, { index, reads: this.#scatter.reads }, (read) =>
        withFreshLabels(read, () => planRows(read, request)),
      );
      plan.query.expressionMap.queryEntity = plan.load === 'joined';
      shards.push({ shard: shard.name, sql: plan.query.getQueryAndParameters()[0] });
      merge = mergeSteps(plan, window);
    }
    return { entity: this.#scatter.entity.name, shards, merge };
  }

  #rows(method: string, options: FindOptions<E>): Promise<never> {
    return this.#scatter.run(method, options, async (parts, of) => {
      const window = windowOf(options);
      const { rows, missing } = await findRows(parts, rowsRequest(of, options), window);
      return rowsAnswer(rows, missing);
    });
  }

  #value(method: string, options: CountOptions<E>, aggregate: Record<string, string>): Promise<never> {
    return this.#scatter.run(method, options, async (parts, of) => {
      const request = countRequest(of, options);
      const { value, missing } = await singleValue(parts, request, aggregate);
      return valueAnswer(value, 1, missing);
    });
  }

  #exists(method: string, options: CountOptions<E>): Promise<never> {
    return this.#scatter.run(method, options, async (parts, of) => {
      const request = countRequest(of, options);
      const { answers, missing } = await gather(parts, async (read) => {
        const query = ownRows(read, request, { loadEagerRelations: false });
        query.orderBy().setOption('disable-global-order').select('1', 'found').limit(1);
        return (await query.getRawMany()).length > 0;
      });
      return valueAnswer(
        answers.some(({ value }) => value),
        1,
        missing,
      );
    });
  }

  async #page(
    { of, ...parts }: GatherParts & { readonly of: Scattered<E> },
    options: ScatterPageOptions<E>,
  ): Promise<ScatterAnswer> {
    const { take = DEFAULT_PAGE, after } = options;
    assertWhole('take', take, { least: 1 });
    const request = rowsRequest(of, options);
    const { cursors } = this.#scatter;
    const binding = cursorBinding(request, parts.shards);
    const from = after === undefined || after === null ? undefined : cursors.read(after, binding);
    const found = await findRows(parts, request, {
      skip: 0,
      take,
      ...(from && {
        after: (shard: number) => ({ texts: from.texts, from: shard > from.shard ? 'at' : 'after' }),
      }),
    });
    const { rows, last, more, missing } = found;
    const next = last && more ? cursors.write(last, binding) : null;
    return { whole: { rows, next }, named: { rows, next }, rows: rows.length, missing };
  }

  async *#stream(
    options: ScatterStreamOptions<E> & ScatterLimits,
    site: string,
  ): AsyncGenerator<E, void, undefined> {
    const end = this.#scatter.begin('stream', site);
    let rows = 0;
    let shards: PlacedShard[] | undefined;
    let whole: WholeScatter<E> | undefined;
    let failure: { readonly error: unknown } | undefined;
    try {
      shards = this.#scatter.use(options);
      const { batchSize = DEFAULT_BATCH, idleMs = DEFAULT_IDLE_MS, deadlineMs, signal } = options;
      assertWhole('batchSize', batchSize, { least: 1 });
      assertWhole('idleMs', idleMs, { least: 1, most: 2 ** 31 - 1 });
      const { reads } = this.#scatter;
      whole = await this.#scatter.whole();
      const parts = { shards, reads, batchSize, idleMs, deadlineMs, signal, ended: whole.end };
      for await (const row of streamRows(parts, rowsRequest(whole.of, options))) {
        rows++;
        yield row;
      }
    } catch (error) {
      failure = { error };
      throw error;
    } finally {
      whole?.end();
      end({ rows, shards: shards?.length, ...failure });
    }
  }
}

/** A repository over all shards; it needs no tenant. */
export function scatterRepository<E extends ObjectLiteral>(
  entity: EntityClass<E>,
  parts: ScatterParts,
): CrossShardRepository<E> {
  return new ScatterRepository(entity, parts);
}

function optionsWith<E extends ObjectLiteral>(where: Where<E> | undefined, limits: Limits): CountOptions<E> {
  return where === undefined ? limits : { ...limits, where };
}

function rowsAnswer(rows: readonly unknown[], missing: ScatterAnswer['missing']): ScatterAnswer {
  return { whole: rows, named: { rows }, rows: rows.length, missing };
}

function valueAnswer(value: unknown, rows: number, missing: ScatterAnswer['missing']): ScatterAnswer {
  return { whole: value, named: { value }, rows, missing };
}

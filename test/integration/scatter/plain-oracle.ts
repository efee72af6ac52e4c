import pg from 'pg';
import { PROPERTIES, type OrderEntry, type RandomQuery } from './random-queries.js';

type Row = Record<string, string | null>;

/** What the one database that holds all rows says, asked in plain SQL: nothing of the library is in here. */
export class PlainOracle {
  private constructor(private readonly client: pg.Client) {}

  static async connect(url: string): Promise<PlainOracle> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(`set timezone = 'UTC'`);
    return new PlainOracle(client);
  }

  async close(): Promise<void> {
    await this.client.end();
  }

  /** The ids of the rows in order. */
  async ids(query: RandomQuery, { take, skip }: Pick<RandomQuery, 'take' | 'skip'>): Promise<string[]> {
    const limit = take === undefined ? '' : `limit ${take}`;
    const sql = `select s.id::text as id ${from(query)} order by ${orderSql(query.order)} ${limit} offset ${skip}`;
    return (await this.#rows(sql)).map(({ id }) => id!);
  }

  async count(query: RandomQuery): Promise<number> {
    return Number(await this.#value(`select count(*)::text as value ${from(query)}`));
  }

  /** An aggregate as text; null is NULL. */
  async aggregate(query: RandomQuery, expression: string): Promise<string | null> {
    return this.#value(`select (${expression})::text as value ${from(query)}`);
  }

  /** The least or the greatest value of a column. */
  async extreme(query: RandomQuery, direction: 'asc' | 'desc'): Promise<string | null> {
    const { column } = query;
    const kept = `${from(query)} and s.${column} is not null`;
    return this.#value(
      `select s.${column}::text as value ${kept} order by ${collated(column)} ${direction} limit 1`,
    );
  }

  /** Groups with a count, a sum and a greatest value, by count and then by the columns. */
  async groups(query: RandomQuery): Promise<(string | null)[][]> {
    const { groups, number, column, having, take } = query;
    const names = groups.map((group) => `s.${group}`);
    const most = `(array_agg(s.${column}::text order by ${collated(column)} desc) filter (where s.${column} is not null))[1]`;
    const selected = [
      ...names.map((name) => `(${name})::text`),
      'count(*)::text',
      `count(distinct s.${column})::text`,
      `avg(s.${number})::text`,
      most,
    ];
    const sql = `select ${selected.map((sql_, index) => `${sql_} as c${index}`).join(', ')} ${from(query)}
      ${names.length > 0 ? `group by ${names.join(', ')}` : ''} ${having === undefined ? '' : `having count(*) >= ${having}`}
      order by ${['count(*) desc', ...groups.map(collated)].join(', ')} ${take === undefined ? '' : `limit ${take}`}`;
    return (await this.#rows(sql)).map((row) => selected.map((_sql, index) => row[`c${index}`] ?? null));
  }

  async #value(sql: string): Promise<string | null> {
    return (await this.#rows(sql))[0]?.['value'] ?? null;
  }

  async #rows(sql: string): Promise<Row[]> {
    return (await this.client.query<Row>(sql)).rows;
  }
}

const TEXT = new Set(['body', 'code', 'tenant_id']);

function collated(column: string): string {
  return TEXT.has(column) ? `s.${column} collate "C"` : `s.${column}`;
}

function from({ where }: RandomQuery): string {
  const either = where.map((conditions) => `(${conditions.map(({ sql }) => sql).join(' and ')})`);
  const filter = either.length === 0 ? 'true' : `(${either.join(' or ')})`;
  return `from samples s left join authors a on a.id = s.author_id where ${filter}`;
}

function orderSql(order: readonly OrderEntry[]): string {
  const entries = order.map(({ column, direction, nulls }) => {
    const sql = column === 'author' ? 'a.name collate "C"' : column === 'id' ? 's.id' : collated(column);
    return `${sql} ${direction} ${nulls === undefined ? '' : `nulls ${nulls}`}`;
  });
  return [...entries, 's.id'].join(', ');
}

/** The order of a query for the library. */
export function orderOptions(order: readonly OrderEntry[]): object {
  const entries = order.map(({ column, direction, nulls }) => {
    const value = nulls === undefined ? direction : { direction, nulls };
    if (column === 'author') return ['author', { name: value }];
    return [column === 'id' ? 'id' : PROPERTIES[column]!, value];
  });
  return Object.fromEntries(entries);
}

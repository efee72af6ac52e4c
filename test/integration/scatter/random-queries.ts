import fc from 'fast-check';
import { Between, In, IsNull, LessThan, MoreThanOrEqual, Not, type FindOptionsWhere } from 'typeorm';
import { VALUES } from './random-samples.js';
import type { Sample } from './samples.js';

/** One condition, as TypeORM and as SQL over `samples s left join authors a`. */
export interface Condition {
  readonly where: FindOptionsWhere<Sample>;
  readonly sql: string;
}

export interface OrderEntry {
  readonly column: string;
  readonly direction: 'ASC' | 'DESC';
  readonly nulls?: 'first' | 'last' | undefined;
}

export interface RandomQuery {
  readonly kind:
    | 'find'
    | 'relations'
    | 'walk'
    | 'stream'
    | 'count'
    | 'exists'
    | 'first'
    | 'sum'
    | 'average'
    | 'minimum'
    | 'maximum'
    | 'countDistinct'
    | 'groupBy';
  /** Or-ed; each is and-ed. */
  readonly where: readonly (readonly Condition[])[];
  readonly order: readonly OrderEntry[];
  readonly take: number | undefined;
  readonly skip: number;
  readonly column: string;
  readonly number: string;
  readonly groups: readonly string[];
  readonly having: number | undefined;
}

/** Column -> property. */
export const PROPERTIES: Readonly<Record<string, string>> = {
  body: 'body',
  small: 'small',
  whole: 'whole',
  big: 'big',
  amount: 'amount',
  single: 'single',
  ratio: 'ratio',
  flag: 'flag',
  token: 'token',
  bytes: 'bytes',
  seen_at: 'seenAt',
  made_at: 'madeAt',
  day: 'day',
  clock: 'clock',
  mood: 'mood',
  code: 'code',
  tenant_id: 'tenantId',
};

export const ORDERABLE = Object.keys(PROPERTIES);
export const NUMBERS = ['small', 'whole', 'big', 'amount', 'single', 'ratio'];
const COMPARED = [
  'small',
  'whole',
  'big',
  'amount',
  'ratio',
  'seen_at',
  'made_at',
  'day',
  'clock',
  'body',
  'token',
];

const quote = (value: string) => `'${value.replaceAll("'", "''")}'`;

const comparison = fc.constantFrom(...COMPARED).chain((column) =>
  fc
    .record({
      operator: fc.constantFrom('=', '<>', '<', '>=', 'in', 'between'),
      a: VALUES[column]!,
      b: VALUES[column]!,
    })
    .map(({ operator, a, b }): Condition => {
      const property = PROPERTIES[column]!;
      const [left, right] = [quote(a), quote(b)];
      switch (operator) {
        case '<>':
          return { where: { [property]: Not(a) }, sql: `s.${column} <> ${left}` };
        case '<':
          return { where: { [property]: LessThan(a) }, sql: `s.${column} < ${left}` };
        case '>=':
          return { where: { [property]: MoreThanOrEqual(a) }, sql: `s.${column} >= ${left}` };
        case 'in':
          return { where: { [property]: In([a, b]) }, sql: `s.${column} in (${left}, ${right})` };
        case 'between':
          return { where: { [property]: Between(a, b) }, sql: `s.${column} between ${left} and ${right}` };
        default:
          return { where: { [property]: a }, sql: `s.${column} = ${left}` };
      }
    }),
);

const other: fc.Arbitrary<Condition> = fc.oneof(
  fc.constantFrom(...ORDERABLE).map((column) => ({
    where: { [PROPERTIES[column]!]: IsNull() },
    sql: `s.${column} is null`,
  })),
  fc.constantFrom(...ORDERABLE).map((column) => ({
    where: { [PROPERTIES[column]!]: Not(IsNull()) },
    sql: `s.${column} is not null`,
  })),
  fc
    .constantFrom('ann', '\u{1f600}')
    .map((name) => ({ where: { author: { name } }, sql: `a.name = ${quote(name)}` })),
  fc.constantFrom('x', 'y').map((name) => ({
    where: { tags: { name } },
    sql: `exists (select from tags t where t.sample_id = s.id and t.name = ${quote(name)})`,
  })),
  fc
    .constantFrom('t0', 't1')
    .map((tenantId) => ({ where: { tenantId }, sql: `s.tenant_id = ${quote(tenantId)}` })),
);

const condition = fc.oneof({ weight: 2, arbitrary: comparison }, other);
const propertyOf = ({ where }: Condition) => Object.keys(where)[0]!;

const order = fc.uniqueArray(
  fc.record({
    column: fc.constantFrom(...ORDERABLE, 'author', 'id'),
    direction: fc.constantFrom('ASC' as const, 'DESC' as const),
    nulls: fc.constantFrom(undefined, 'first' as const, 'last' as const),
  }),
  { selector: ({ column }) => column, maxLength: 3 },
);

export const randomQuery: fc.Arbitrary<RandomQuery> = fc.record({
  kind: fc.constantFrom(
    'find',
    'find',
    'find',
    'find',
    'relations',
    'walk',
    'stream',
    'count',
    'exists',
    'first',
    'sum',
    'average',
    'minimum',
    'maximum',
    'countDistinct',
    'groupBy',
    'groupBy',
    'groupBy',
  ),
  where: fc.oneof(
    fc.constant([]),
    fc.array(fc.uniqueArray(condition, { selector: propertyOf, minLength: 1, maxLength: 2 }), {
      maxLength: 2,
    }),
  ),
  order,
  take: fc.option(fc.integer({ min: 0, max: 25 }), { nil: undefined, freq: 3 }),
  skip: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 20 })),
  column: fc.constantFrom(...ORDERABLE),
  number: fc.constantFrom(...NUMBERS),
  groups: fc.uniqueArray(fc.constantFrom(...ORDERABLE), { maxLength: 2 }),
  having: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
});

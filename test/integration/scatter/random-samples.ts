import fc from 'fast-check';
import { runOnce } from '../../support/admin-query.js';
import { insertRows } from './samples.js';

/** A row of `samples` by column name, as texts that the server reads. */
export type SampleRow = Record<string, string | null>;

/** Rows, and the tags of each by its position. */
export interface DataSet {
  readonly rows: readonly SampleRow[];
  readonly tags: readonly (readonly string[])[];
  /** Which shard holds which row, as a number to be taken modulo the number of shards. */
  readonly places: readonly number[];
}

const TEXTS = [
  '',
  'a',
  'A',
  'b',
  'ab',
  'a b',
  'a-b',
  'Z',
  'ä',
  'ß',
  '\u00e9',
  'e\u0301',
  '\ue000',
  '\ufffd',
  '\u{1f600}',
  '\u{10000}',
];
const BIGS = [
  '-9223372036854775808',
  '9223372036854775807',
  '9007199254740993',
  '9007199254740992',
  '0',
  '-1',
  '7',
];
const AMOUNTS = [
  'NaN',
  'Infinity',
  '-Infinity',
  '0',
  '0.00',
  '1.1',
  '1.10',
  '-3.5',
  '0.000000000000000000000000000001',
  '123456789012345678901234567890.5',
  '123456789012345678901234567890.50',
];
const FLOATS = ['NaN', 'Infinity', '-Infinity', '0', '-0', '1.1', '-2.5', '1e-30', '16777217', '33554432'];
const UUIDS = [
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
];
const BYTES = ['\\x', '\\x00', '\\x0001', '\\x00ff', '\\x7f', '\\xff'];
const DATES = [
  'infinity',
  '-infinity',
  '2024-02-29',
  '1970-01-01',
  '1969-12-31',
  '0044-03-15 BC',
  '0001-01-01',
  '5874897-12-31',
];
const STAMPS = [
  'infinity',
  '-infinity',
  '2024-02-29 12:00:00',
  '2024-02-29 12:00:00.000001',
  '2024-02-29 12:00:00.000002',
  '2024-02-29 12:00:00.1',
  '1969-12-31 23:59:59.999999',
  '0044-03-15 00:00:00.5 BC',
  '294276-12-31 23:59:59.999999',
];
const CLOCKS = ['00:00:00', '24:00:00', '12:00:00.000001', '12:00:00.00001', '23:59:59.999999'];

const pick = (values: readonly string[]) => fc.constantFrom(...values);
const maybe = (values: fc.Arbitrary<string>) => fc.option(values, { nil: null, freq: 5 });
const whole = (min: number, max: number) => fc.integer({ min, max }).map(String);

/** Values by column: few enough to be equal often, with every special one. */
export const VALUES: Readonly<Record<string, fc.Arbitrary<string>>> = {
  body: fc.oneof(
    { weight: 4, arbitrary: pick(TEXTS) },
    fc.string({ unit: 'grapheme', maxLength: 4 }).filter((text) => !text.includes('\0')),
  ),
  small: whole(-2, 3),
  whole: fc.oneof(whole(-2, 3), pick(['2147483647', '-2147483648'])),
  big: fc.oneof(pick(BIGS), whole(-3, 3)),
  amount: fc.oneof(
    { weight: 3, arbitrary: pick(AMOUNTS.slice(3)) },
    pick(AMOUNTS),
    fc.tuple(whole(-99, 99), fc.integer({ min: 0, max: 999 })).map(([a, b]) => `${a}.${b}`),
  ),
  single: pick(FLOATS),
  ratio: pick(FLOATS),
  flag: pick(['true', 'false']),
  token: fc.oneof(pick(UUIDS), fc.uuid()),
  bytes: pick(BYTES),
  seen_at: pick(STAMPS),
  made_at: pick(
    STAMPS.map((stamp) =>
      stamp.endsWith(' BC')
        ? stamp.replace(' BC', '+00 BC')
        : stamp.startsWith('2') || stamp.startsWith('1')
          ? `${stamp}+00`
          : stamp,
    ),
  ),
  day: pick(DATES),
  clock: pick(CLOCKS),
  mood: pick(['sad', 'ok', 'happy']),
  code: pick(['a', 'a ', 'B', 'ab', 'zz']),
  author_id: whole(1, 5),
};

const row = fc.record(
  Object.fromEntries(Object.entries(VALUES).map(([name, values]) => [name, maybe(values)])),
);

export const dataSet: fc.Arbitrary<DataSet> = fc
  .array(
    fc.record({
      row,
      tags: fc.uniqueArray(pick(['x', 'y', 'z']), { maxLength: 3 }),
      place: fc.nat(999),
    }),
    { maxLength: 60, size: 'max' },
  )
  .map((all) => ({
    rows: all.map(({ row: values }, index) => ({
      id: String((index * 37) % 1000),
      tenant_id: `t${index % 3}`,
      ...values,
    })),
    tags: all.map(({ tags }) => tags),
    places: all.map(({ place }) => place),
  }));

/** Author 4 has no name, author 5 does not exist. */
const AUTHORS = [
  { id: '1', name: 'ann' },
  { id: '2', name: '\u{1f600}' },
  { id: '3', name: '\ue000' },
  { id: '4', name: null },
];

/** Fills one database with the rows that `of` lets through, and with all authors. */
export async function load(url: string, data: DataSet, of: (place: number) => boolean): Promise<void> {
  const kept = data.rows.map((_row, index) => index).filter((index) => of(data.places[index]!));
  await runOnce(url, 'truncate samples, tags, authors');
  await insertRows(url, 'authors', AUTHORS);
  await insertRows(
    url,
    'samples',
    kept.map((index) => data.rows[index]!),
  );
  const tags = kept.flatMap((index) =>
    data.tags[index]!.map((name) => ({ sample_id: data.rows[index]!['id']!, name })),
  );
  await insertRows(url, 'tags', tags);
}

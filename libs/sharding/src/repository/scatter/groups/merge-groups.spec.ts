import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { mergeGroups, type Group, type GroupForm } from './merge-groups.js';
import type { Aggregate } from './aggregates.js';
import type { KeyType } from '../values/key-type.js';

const NUMERIC: KeyType = { kind: 'numeric', sql: 'numeric' };
const of = { sql: 'amount', type: NUMERIC };
const aggregates: Aggregate[] = [
  { name: 'count' },
  { name: 'sum', of },
  { name: 'average', of },
  { name: 'minimum', of },
  { name: 'maximum', of },
];
const form: GroupForm = { columns: [NUMERIC], aggregates };

interface Row {
  readonly key: string | null;
  readonly amount: number | null;
}

/** What a database says of its rows, by other means than the merge. */
function grouped(rows: readonly Row[]): Group[] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) groups.set(String(row.key), [...(groups.get(String(row.key)) ?? []), row]);
  return [...groups.values()].map((members) => {
    const amounts = members.flatMap(({ amount }) => amount ?? []);
    const text = (value: number) => (amounts.length === 0 ? null : String(value));
    const sum = text(amounts.reduce((total, amount) => total + amount, 0));
    const partials = [
      [String(members.length)],
      [sum],
      [sum, String(amounts.length)],
      [text(Math.min(...amounts))],
      [text(Math.max(...amounts))],
    ];
    return { key: [members[0]!.key], partials };
  });
}

it('makes of the groups of shards the groups of all rows', () => {
  const row = fc.record({
    key: fc.constantFrom('1', '2', null),
    amount: fc.option(fc.integer({ min: -50, max: 50 }), { nil: null }),
  });
  fc.assert(
    fc.property(fc.array(fc.array(row), { maxLength: 5 }), (shards) => {
      const merged = mergeGroups(form, shards.map(grouped));
      const whole = mergeGroups(form, [grouped(shards.flat())]);
      expect(Object.fromEntries(merged)).toEqual(Object.fromEntries(whole));
    }),
  );
});

it('puts equal keys into one group, and null into one of its own', () => {
  const group = (key: string | null): Group => ({ key: [key], partials: [['1']] });
  const counts = (type: KeyType, keys: readonly (string | null)[]) =>
    [
      ...mergeGroups(
        { columns: [type], aggregates: [{ name: 'count' }] },
        keys.map((key) => [group(key)]),
      ).values(),
    ].map(({ partials }) => partials[0]![0]);
  expect(counts(NUMERIC, ['1.0', '1.00', null, '1', null])).toEqual(['3', '2']);
  expect(counts({ kind: 'float', sql: 'real' }, ['0', '-0', 'NaN', 'NaN'])).toEqual(['2', '2']);
  expect(counts({ kind: 'text', sql: 'text' }, ['null', null, 'a', 'A'])).toEqual(['1', '1', '1', '1']);
});

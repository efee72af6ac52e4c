import { describe, expect, it, test } from '@jest/globals';
import { differencesOf, schemaDifferences } from './schema-differences.js';
import type { Fact, SchemaObject, ShardSchema } from './schema-object.js';

type Facts = SchemaObject['facts'];
interface Relations {
  readonly within?: readonly string[];
  readonly inherits?: string;
}

const object = (
  kind: SchemaObject['kind'],
  name: string,
  { within = [], inherits, ...facts }: Relations & { [fact: string]: Fact | undefined } = {},
): SchemaObject => ({ kind, name, within, inherits: inherits ?? null, facts: facts as Facts });
const table = (name: string, facts: Relations & Record<string, Fact> = {}) => object('table', name, facts);

/** Shards a, b, c ... by what each has. */
function shards(...schemas: readonly (readonly SchemaObject[])[]): ShardSchema[] {
  return schemas.map((objects, index) => ({ shard: String.fromCharCode(97 + index), objects }));
}

/** `table t: missing [b] (else true [a, c])`, in a form that is short to compare. */
function told(...schemas: readonly (readonly SchemaObject[])[]): string[] {
  return schemaDifferences(shards(...schemas)).map(({ kind, name, property, odd, majority }) => {
    const words = odd.map(({ value, shards: on }) => `${JSON.stringify(value)} on ${on.join('')}`);
    const usual = majority ? `; most ${JSON.stringify(majority.value)} on ${majority.shards.join('')}` : '';
    return `${kind} ${name} ${property}: ${words.join(', ')}${usual}`;
  });
}

describe('the odd ones', () => {
  const t = (type: Fact) => [table('t', { type })];
  test.each<[string, SchemaObject[][], string[]]>([
    ['none without shards', [], []],
    ['none of one shard', [t('x')], []],
    ['none where all are the same', [t('x'), t('x'), t('x')], []],
    ['one of two: nobody is usual', [t('x'), t('y')], ['table t type: "x" on a, "y" on b']],
    ['the first', [t('y'), t('x'), t('x')], ['table t type: "y" on a; most "x" on bc']],
    ['two by two', [t('x'), t('y'), t('x'), t('y')], ['table t type: "x" on ac, "y" on bd']],
    ['exactly half is not most', [t('x'), t('x'), t('y'), t('z')], ['table t type: "x" on ab, "y" on c, "z" on d']],
    ['all', [t('x'), t('y'), t('z')], ['table t type: "x" on a, "y" on b, "z" on c']],
    ['null is a value', [t(null), t('x'), t(null)], ['table t type: "x" on b; most null on ac']],
    ['and is not its text', [t(null), t('null'), t(null)], ['table t type: "null" on b; most null on ac']],
    ['false is not null', [t(false), t(null), t(false)], ['table t type: null on b; most false on ac']],
    ['missing', [t('x'), [], t('x')], ['table t exists: false on b; most true on ac']],
    ['only there', [[], t('x'), []], ['table t exists: true on b; most false on ac']],
    [
      'missing, and another value elsewhere',
      [t('x'), [], t('y'), t('x')],
      ['table t exists: false on b; most true on acd', 'table t type: "y" on c; most "x" on ad'],
    ],
  ])('%s', (_what, schemas, lines) => expect(told(...schemas)).toEqual(lines)); // prettier-ignore
});

test('a property that is not told is null', () => {
  expect(told([table('t', { old: 'x' })], [table('t', {})], [table('t', {})])).toEqual([
    'table t old: "x" on a; most null on bc',
  ]);
});

test('kinds come in their order, names in theirs', () => {
  const some = [object('index', 'a'), table('z'), table('b'), object('enum', 'y')];
  expect(told(some, []).map((line) => line.split(' exists')[0])).toEqual([
    'enum y',
    'table b',
    'table z',
    'index a',
  ]);
});

test('objects of one name in two kinds are two', () => {
  expect(told([table('x')], [object('view', 'x')])).toHaveLength(2);
});

describe('an object within others', () => {
  const column = (name: string, type = 'int') =>
    object('column', `t.${name}`, { within: ['table t', 'schema s'], type });
  const outer = [table('t'), object('schema', 's')];

  it('is missed where they are', () => {
    expect(told([...outer, column('x')], outer, [...outer, column('x')])).toEqual([
      'column t.x exists: false on b; most true on ac',
    ]);
  });

  it('is not missed where one of them is missing', () => {
    expect(told([...outer, column('x')], [table('t')], [...outer, column('x')])).toEqual([
      'schema s exists: false on b; most true on ac',
    ]);
  });

  it('is compared between those that have it', () => {
    expect(told([...outer, column('x')], [], [...outer, column('x', 'text')])).toEqual([
      'schema s exists: false on b; most true on ac',
      'table t exists: false on b; most true on ac',
      'column t.x type: "int" on a, "text" on c',
    ]);
  });
});

describe('what a partition has from its parent', () => {
  const parent = (facts: Facts) => object('index', 'p', facts);
  const child = (facts: Facts) =>
    object('index', 'c', { ...facts, within: ['table c'], inherits: 'index p' });
  const c = table('c');

  test.each<[string, SchemaObject[][], string[]]>([
    ['is not repeated', [[c, parent({}), child({})], [c], [c]], ['index p exists: true on a; most false on bc']],
    [
      'is not repeated where the partition is missing on another shard',
      [[c, parent({}), child({})], [c], [c, parent({}), child({})], [parent({})]],
      ['table c exists: false on d; most true on abc', 'index p exists: false on b; most true on acd'],
    ],
    [
      'is told where other shards lack it',
      [[c, parent({}), child({})], [c, parent({})], [c]],
      ['index c exists: true on a; most false on bc', 'index p exists: false on c; most true on ab'],
    ],
    [
      'is told where it is another value',
      [[parent({ n: '1' }), child({ n: '2' })], [parent({ n: '0' }), child({ n: '0' })]],
      ['index c n: "2" on a, "0" on b', 'index p n: "1" on a, "0" on b'],
    ],
    [
      'is told where the parent has no such difference',
      [[parent({ n: '0' }), child({ n: '2' })], [parent({ n: '0' }), child({ n: '0' })]],
      ['index c n: "2" on a, "0" on b'],
    ],
    [
      'is not repeated where the definitions name their tables',
      [
        [parent({ definition: 'on p (x)' }), child({ definition: 'on c (x)' })],
        [parent({ definition: 'on p (y)' }), child({ definition: 'on c (y)' })],
      ],
      ['index p definition: "on p (x)" on a, "on p (y)" on b'],
    ],
  ])('%s', (_what, schemas, lines) => expect(told(...schemas)).toEqual(lines)); // prettier-ignore
});

describe('an order of parts', () => {
  const order = (...parts: string[]) => [table('t', { order: parts })];
  test.each<[string, SchemaObject[][], string[]]>([
    ['of other parts is the same order', [order('a', 'b', 'c'), order('a', 'c'), order('a', 'd', 'b', 'c')], []],
    [
      'of the same parts may be another',
      [order('a', 'b', 'c'), order('c', 'a', 'x'), order('a', 'c')],
      ['table t order: ["c","a"] on b; most ["a","c"] on ac'],
    ],
    ['of nothing in common is none', [order('a'), order('b')], []],
  ])('%s', (_what, schemas, lines) => expect(told(...schemas)).toEqual(lines)); // prettier-ignore
});

test('one shard is told what it has otherwise than most, and what nobody agrees on', () => {
  const all = schemaDifferences(
    shards(
      [table('x'), table('v', { n: '1' })],
      [table('y'), table('v', { n: '2' })],
      [table('v', { n: '3' })],
    ),
  );
  const names = (shard: string) => differencesOf(shard, all).map(({ name }) => name);
  expect([names('a'), names('b'), names('c')]).toEqual([['v', 'x'], ['v', 'y'], ['v']]);
});

import { expect, test } from '@jest/globals';
import { sameTypes } from './types.js';
import type { TypeFacts } from '../facts/read-types.js';
import type { Facts } from './facts.js';

const enumOf = (...parts: string[]): TypeFacts => ({ name: 'mood', kind: 'enum', parts });
const told = (here: TypeFacts, there: TypeFacts[]) =>
  sameTypes({
    names: { source: 'a', destination: 'b' },
    source: { types: [here] },
    destination: { types: there },
  } as unknown as Facts).map(({ message }) => message);

test.each<[string, TypeFacts, TypeFacts[], string[]]>([
  ['the same', enumOf('x', 'y'), [enumOf('x', 'y')], []],
  ['missing: columns tell', enumOf('x'), [], []],
  ['fewer', enumOf('x', 'y'), [enumOf('x')], ['the enum mood lacks y on b: make both the same']],
  ['more', enumOf('x'), [enumOf('x', 'y')], ['the enum mood lacks y on a: make both the same']],
  [
    'another kind',
    enumOf('x'),
    [{ ...enumOf('x'), kind: 'domain' }],
    ['the enum mood is a domain on b: make both the same'],
  ],
  [
    'another order',
    enumOf('x', 'y'),
    [enumOf('y', 'x')],
    [
      'the enum mood has its labels in another order on b, so that its values compare differently: make both the same',
    ],
  ],
  [
    'many',
    enumOf(...Array.from({ length: 10 }, (_none, index) => `l${index}`)),
    [enumOf()],
    ['the enum mood lacks l0, l1, l2, l3, l4, l5, l6, l7 and 2 more on b: make both the same'],
  ],
])('%s', (_what, here, there, messages) => expect(told(here, there)).toEqual(messages));

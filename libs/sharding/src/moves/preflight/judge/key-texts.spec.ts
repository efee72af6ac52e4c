import { describe, expect, test } from '@jest/globals';
import { isKeyType, isTextOf } from './key-texts.js';

test.each([
  ['text', true],
  ['varchar', true],
  ['uuid', true],
  ['int2', true],
  ['int4', true],
  ['int8', true],
  ['bpchar', false],
  ['citext', false],
  ['numeric', false],
  ['float8', false],
  ['bytea', false],
  ['_text', false],
  ['name', false],
])('equal values of %s have equal texts: %s', (name, same) =>
  expect(isKeyType({ name, type: name })).toBe(same),
);

describe('a key is the text of a value', () => {
  test.each([
    ['text', 'text', '', true],
    ['text', 'text', ' Ä\n', true],
    ['text', 'text', 'a\0', false],
    ['text', 'text', '\uDC00', false],
    ['varchar', 'character varying(4)', 'acme', true],
    ['varchar', 'character varying(4)', 'acme1', false],
    ['varchar', 'character varying(4)', '😀😀😀😀', true],
    ['varchar', 'character varying', 'x'.repeat(9999), true],
    ['uuid', 'uuid', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', true],
    ['uuid', 'uuid', 'A0EEBC99-9c0b-4ef8-bb6d-6bb9bd380a11', false],
    ['uuid', 'uuid', '{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}', false],
    ['uuid', 'uuid', 'a0eebc999c0b4ef8bb6d6bb9bd380a11', false],
    ['uuid', 'uuid', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\n', false],
    ['int4', 'integer', '0', true],
    ['int4', 'integer', '-0', false],
    ['int4', 'integer', '007', false],
    ['int4', 'integer', '+7', false],
    ['int4', 'integer', '7 ', false],
    ['int4', 'integer', '2147483647', true],
    ['int4', 'integer', '2147483648', false],
    ['int4', 'integer', '-2147483648', true],
    ['int2', 'smallint', '32768', false],
    ['int8', 'bigint', '9223372036854775807', true],
    ['int8', 'bigint', '9223372036854775808', false],
    ['int8', 'bigint', 'x', false],
  ])('%s (%s) %j: %s', (name, type, key, is) => expect(isTextOf(key, { name, type })).toBe(is));
});

import { describe, expect, it } from '@jest/globals';
import { createTopology } from '@app/routing';
import { judgePin, refusedPin } from '@app/sharding/operator';
import { askedKeys } from './asked-keys.js';
import { placeId, placeKey, type AskedKey } from './placement.js';
import type { KeyAnswer } from './directory-answers.js';

const topology = createTopology([{ name: 'a' }, { name: 'b' }, { name: 'eu', group: 1 }]);
const acme: AskedKey = { text: 'acme', kind: 'text', value: 'acme' }; // slot 7695, of shard a

/** The answer for a row of the directory, written as `shard/group`. */
function row(text: string, stated: number | undefined): KeyAnswer {
  if (text === '') return { row: undefined, refusal: undefined };
  const [shard, group] = text.split('/');
  const pin = { shard: shard || undefined, group: group ? Number(group) : undefined };
  const verdict = judgePin(pin, stated, topology);
  return { row: { pin, verdict }, refusal: refusedPin('acme', pin, verdict) };
}

describe('a key', () => {
  it.each([
    // row, --group, group, shard, reason, note
    ['', undefined, 0, 'a', 'hash', null],
    ['', 1, 1, 'eu', 'hash', null],
    ['b/', undefined, 0, 'b', 'pin', null],
    ['b/0', undefined, 0, 'b', 'pin', null],
    ['b/0', 0, 0, 'b', 'pin', null],
    ['eu/1', undefined, 1, 'eu', 'pin', null],
    ['eu/', 1, 1, 'eu', 'pin', null],
    ['/1', undefined, 1, 'eu', 'placed', null],
    ['/0', undefined, 0, 'a', 'placed', null],
    ['eu/', undefined, 0, 'a', 'hash', 'its pin to eu leaves group 0 and is ignored'],
    ['eu/0', undefined, 0, 'a', 'hash', 'its pin to eu leaves group 0 and is ignored'],
    ['b/0', 1, 1, 'eu', 'hash', 'its directory row says group 0, which is ignored'],
    ['/1', 0, 0, 'a', 'hash', 'its directory row says group 1, which is ignored'],
  ])('with row %j and group %s lives in %i on %s (%s)', (text, group, wanted, shard, reason, note) => {
    expect(placeKey(acme, { topology, group }, row(text, group))).toMatchObject({
      slot: 7695,
      group: wanted,
      shard,
      reason,
      note,
      error: null,
    });
  });

  it.each([
    ['ghost/', undefined, 'invalid_pin'],
    ['ghost/0', 0, 'invalid_pin'],
    ['a/7', undefined, 'invalid_pin'],
    ['/7', undefined, 'invalid_pin'],
    ['', 7, 'out_of_topology'],
  ])('with row %j and group %s has no shard (%s)', (text, group, code) => {
    expect(placeKey(acme, { topology, group }, row(text, group))).toMatchObject({
      shard: null,
      error: { code },
    });
  });

  it('has its own slot as an integer', () => {
    const [text, integer] = [askedKeys(['42'], 'text')[0], askedKeys(['42'], 'integer')[0]];
    expect([
      text && placeKey(text, { topology }).slot,
      integer && placeKey(integer, { topology }).slot,
    ]).toEqual([4643, 11925]);
  });
});

describe('an id', () => {
  const [slotted] = askedKeys(['01890a5d-ac96-8000-9e0f-000000000000'], 'uuid');

  it('with a slot leads to its owner, and to the pins of the slot in its group', () => {
    const pinned = () => ['a', 'b', 'eu', 'ghost'];
    expect(slotted && placeId(slotted, { topology }, pinned)).toMatchObject({
      kind: 'slot_uuid',
      slot: 7695,
      group: 0,
      shard: 'a',
      also: ['b'],
    });
  });
});

describe('what is no key', () => {
  it.each([
    ['9223372036854775808', 'integer'],
    ['1.5', 'integer'],
    ['', 'integer'],
    ['01890a5d-ac96-774b-c000-000000000000', 'uuid'], // another variant
    ['a\0b', 'text'],
  ] as const)('%j as %s', (text, form) => {
    expect(() => askedKeys([text], form)).toThrow(expect.objectContaining({ name: 'UsageError' }));
  });
});

import { beforeEach, describe, expect, it } from '@jest/globals';
import { createTopology } from '@app/routing';
import { PinProblems } from './pin-problems.js';

const topology = createTopology([{ name: 'shard0' }, { name: 'eu', group: 1 }]);
const pin = (shard?: string, group?: number) => ({ shard, group });

let errors: string[];
let problems: PinProblems;

beforeEach(() => {
  errors = [];
  problems = new PinProblems({ topology }, (line) => errors.push(line));
});

const counts = () => [problems.count('unknown_shard'), problems.count('outside_group')];

it('names a row that cannot be obeyed once, and counts it until it is corrected', () => {
  problems.restart([
    ['acme', pin('nowhere')],
    ['globex', pin('eu')],
    ['good', pin('shard0')],
  ]);
  problems.restart([
    ['acme', pin('nowhere')],
    ['globex', pin('eu')],
  ]);
  expect(errors).toHaveLength(2);
  expect(counts()).toEqual([1, 1]);
  problems.changed([
    ['acme', pin('shard0')],
    ['globex', undefined],
  ]);
  expect(counts()).toEqual([0, 0]);
});

it('a flood of bad rows is named in part and counted in full', () => {
  problems.restart(Array.from({ length: 500 }, (_, n) => [`key-${n}`, pin('nowhere')] as const));
  expect(errors).toHaveLength(21);
  expect(counts()).toEqual([500, 0]);
});

describe('where rows are looked up one by one', () => {
  it('each is named when it is first seen, and forgotten when it is well', () => {
    for (let again = 0; again < 3; again++) problems.saw('acme', pin('nowhere'));
    problems.saw('good', pin('shard0'));
    problems.saw('none', undefined);
    expect([errors.length, ...counts()]).toEqual([1, 1, 0]);
    problems.saw('acme', pin('eu'));
    expect([errors.length, ...counts()]).toEqual([2, 0, 1]);
    problems.saw('acme', undefined);
    expect(counts()).toEqual([0, 0]);
  });

  it('a bounded number is remembered', () => {
    for (let n = 0; n < 5000; n++) problems.saw(`key-${n}`, pin('nowhere'));
    expect(counts()).toEqual([1000, 0]);
    expect(errors).toHaveLength(1000);
  });
});

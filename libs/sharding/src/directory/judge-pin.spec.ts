import { expect, it } from '@jest/globals';
import { createTopology } from '@app/routing';
import { judgePin, refusedPin } from './judge-pin.js';

const topology = createTopology([{ name: 'a' }, { name: 'b' }, { name: 'eu', group: 1 }]);

it.each([
  // the row's shard and group, the stated group; the key's group, its shard, the problem
  ['b', undefined, undefined, 0, 'b', undefined],
  ['b', 0, 0, 0, 'b', undefined],
  ['eu', 1, undefined, 1, 'eu', undefined],
  ['eu', undefined, 1, 1, 'eu', undefined],
  [undefined, 1, undefined, 1, undefined, undefined],
  [undefined, 1, 0, 0, undefined, 'outside_group'],
  ['b', 0, 1, 1, undefined, 'outside_group'],
  ['eu', undefined, undefined, 0, undefined, 'outside_group'],
  ['eu', 0, undefined, 0, undefined, 'outside_group'],
  ['ghost', undefined, undefined, 0, undefined, 'unknown_shard'],
  ['ghost', 0, 1, 1, undefined, 'outside_group'],
  ['a', 7, undefined, 7, undefined, 'unknown_group'],
  [undefined, 7, 7, 7, undefined, 'unknown_group'],
  [undefined, 7, 0, 0, undefined, 'outside_group'],
])('a row of %s and group %s, with %s stated: group %s, shard %s, %s', (...row) => {
  const [shard, group, stated, wanted, place, problem] = row;
  const verdict = judgePin({ shard, group }, stated, topology);
  expect([verdict.group, verdict.shard?.name, verdict.problem]).toEqual([wanted, place, problem]);
});

it.each([
  [{ shard: 'ghost', group: undefined }, 'names shard "ghost", which is not configured: correct the row'],
  [{ shard: 'a', group: 7 }, 'names group 7, which has no shards: correct the row'],
  [{ shard: 'eu', group: undefined }, undefined],
  [{ shard: 'a', group: undefined }, undefined],
])('refuses the key of %j: %s', (pin, says) => {
  expect(refusedPin('k', pin, judgePin(pin, undefined, topology))?.message).toBe(
    says && `the directory's row of routing key "k" ${says}`,
  );
});

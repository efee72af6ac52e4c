import { expect, test } from '@jest/globals';
import { createTopology } from '@app/routing';
import { repairPlan } from './repair-plan.js';
import type { AuditFinding } from './audit-finding.js';

const topology = createTopology([{ name: 'a' }, { name: 'b' }, { name: 'c' }, { name: 'eu', group: 1 }]);
/** Without what is given as undefined. */
type Parts = { readonly [Field in keyof AuditFinding]?: AuditFinding[Field] | undefined };

const finding = (parts: Parts): AuditFinding => ({
  kind: 'misplaced',
  severity: 'error',
  shard: 'a',
  table: 't',
  key: 'k',
  routedTo: 'b',
  message: '',
  remedy: '',
  ...(parts as Partial<AuditFinding>),
});
const plan = (...parts: Parts[]) =>
  repairPlan(parts.map(finding), topology).map((task) =>
    task.what === 'look'
      ? `look ${task.finding.kind}`
      : `${task.what} ${task.shard}${'to' in task ? `>${task.to}` : ''}`,
  );
const homes = (...shards: string[]) => shards.map((shard) => ({ shard, rows: 1 }));
const leftover = { kind: 'leftover', key: undefined, routedTo: undefined } as const;

test.each<[string, string[], ...Parts[]]>([
  ['on one shard alone', ['move a>b'], {}],
  ['in several tables', ['move a>b'], {}, { table: 'u' }],
  ['on a shard of another group', ['look misplaced'], { routedTo: 'eu' }],
  ['where not every shard could be asked', ['look misplaced'], { unasked: ['c'] }],
  ['at home too', ['delete-duplicate a>b'], { kind: 'two_homes', homes: homes('b') }],
  ['at home and elsewhere', ['delete-duplicate a>b'], { kind: 'two_homes', homes: homes('b', 'c') }],
  ['on two wrong shards', ['look two_homes'], { kind: 'two_homes', homes: homes('c') }],
  ['that nobody can route', ['look unroutable'], { kind: 'unroutable', routedTo: undefined }],
  ['that refer to nothing', ['look orphan'], { kind: 'orphan', routedTo: undefined }],
  ['on their way', [], { kind: 'moving', routedTo: undefined }],
])('rows %s', (_what, tasks, ...parts) => expect(plan(...parts)).toEqual(tasks));

test.each<[string, string[], ...Parts[]]>([
  [
    'once a shard',
    ['clean a'],
    { ...leftover, leftover: 'move', move: '1' },
    { ...leftover, leftover: 'triggers' },
  ],
  [
    'of each shard',
    ['clean a', 'clean b'],
    { ...leftover, leftover: 'move' },
    { ...leftover, shard: 'b', leftover: 'move' },
  ],
  [
    'but for keys that are refused, which are admitted',
    ['admit a'],
    { ...leftover, leftover: 'refused-pin', key: 'k' },
    { ...leftover, leftover: 'refused-pin', key: 'l' },
  ],
  ['but for open moves', ['look leftover'], { ...leftover, leftover: 'open-move', move: '1' }],
  ['but for repairs, which are gone on with', [], { ...leftover, leftover: 'open-move', repair: true }],
  ['but for tombstones at home', ['look leftover'], { ...leftover, leftover: 'own-tombstone', key: 'k' }],
])('leftovers are removed %s', (_what, tasks, ...parts) => expect(plan(...parts)).toEqual(tasks));

import { expect, test } from '@jest/globals';
import { rowMode } from './row-modes.js';
import type { HookFacts } from '../facts/read-hooks.js';

const trigger = (fires: HookFacts['fires'], event = 'delete') => ({
  kind: 'trigger' as const,
  fires,
  events: [event],
});

test.each([
  ['no trigger', [], false, 'origin'],
  ['one of another event', [trigger('always', 'update')], false, 'origin'],
  ['one of replicas', [trigger('replica')], false, 'origin'],
  ['one of the origin', [trigger('origin')], false, undefined],
  ['one of the origin, and the right', [trigger('origin')], true, 'replica'],
  ['one that always fires', [trigger('always')], true, undefined],
  ['one of each', [trigger('origin'), trigger('replica')], true, undefined],
  ['a rule', [{ ...trigger('origin'), kind: 'rule' as const }], false, 'origin'],
] as const)('%s', (_what, hooks, mayBeReplica, mode) =>
  expect(rowMode(hooks, { events: ['insert', 'delete'], mayBeReplica })).toBe(mode),
);

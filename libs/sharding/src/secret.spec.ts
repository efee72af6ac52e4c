import { expect, it } from '@jest/globals';
import { inspect } from 'node:util';
import { Secret } from './secret.js';

it('gives its value only to who asks for it', () => {
  const secret = new Secret('hunter2');
  expect(secret.reveal()).toBe('hunter2');
  const printed = [
    String(secret),
    secret + '',
    JSON.stringify({ secret }),
    inspect(secret),
    inspect({ secret }, { showHidden: true, depth: null, customInspect: false }),
    Object.values(secret).join(),
    JSON.stringify(structuredClone(secret)),
  ];
  expect(printed).toEqual([
    '[secret]',
    '[secret]',
    '{"secret":"[secret]"}',
    '[secret]',
    '{ secret: Secret {} }',
    '',
    '{}',
  ]);
});

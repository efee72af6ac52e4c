import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { camelCase, keyAs, snakeCase } from './key-style.js';
import { optionTypes, SECTIONS, SHARD_SECTION } from './option-schema.js';

const word = fc.stringMatching(/^[a-z][a-z0-9]{0,7}$/);
const snakeKey = fc
  .array(word, { minLength: 1, maxLength: 5 })
  .map((words) => words.join('_'))
  .filter((key) => !/_\d/.test(key));

describe('key styles', () => {
  it('turn every snake_case key into camelCase and back', () => {
    fc.assert(fc.property(snakeKey, (key) => expect(snakeCase(camelCase(key))).toBe(key)));
  });

  it('turn every option of the library into snake_case and back', () => {
    const keys = [...SECTIONS.values(), SHARD_SECTION].flatMap((section) => [...optionTypes(section).keys()]);
    expect(keys.length).toBeGreaterThan(30);
    for (const key of keys) expect(camelCase(snakeCase(key))).toBe(key);
  });

  it('name a key as its author wrote it', () => {
    expect([keyAs('toml', 'primaryPoolSize'), keyAs('code', 'primaryPoolSize')]).toEqual([
      'primary_pool_size',
      'primaryPoolSize',
    ]);
  });
});

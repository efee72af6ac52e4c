import { describe, expect, it } from '@jest/globals';
import { MAX_GROUP, MAX_MEMBER, ShardIdentifier } from './index.js';

describe('ShardIdentifier', () => {
  it('is (0,0) by default', () => {
    expect(String(ShardIdentifier.DEFAULT)).toBe('(0,0)');
    expect(ShardIdentifier.DEFAULT.equals(ShardIdentifier.of(0, 0))).toBe(true);
  });

  it('holds every group 0..255 and member 0..63', () => {
    const texts = new Set<string>();
    for (let group = 0; group <= MAX_GROUP; group++) {
      for (let member = 0; member <= MAX_MEMBER; member++)
        texts.add(String(ShardIdentifier.of(group, member)));
    }
    expect(texts.size).toBe(256 * 64);
    expect(texts).toContain('(255,63)');
  });

  it.each<[unknown, unknown, string]>([
    [256, 0, 'group must be an integer in 0..255, not 256'],
    [-1, 0, 'group must be an integer in 0..255, not -1'],
    [1.5, 0, 'group must be an integer in 0..255, not 1.5'],
    ['1', 0, 'group must be an integer in 0..255, not "1"'],
    [0, 64, 'member must be an integer in 0..63, not 64'],
    [0, -1, 'member must be an integer in 0..63, not -1'],
    [0, NaN, 'member must be an integer in 0..63, not NaN'],
    [0, undefined, 'member must be an integer in 0..63, not undefined'],
  ])('refuses (%p, %p)', (group, member, message) => {
    expect(() => ShardIdentifier.of(group as number, member as number)).toThrow(
      expect.objectContaining({ code: 'invalid_topology', message }),
    );
  });

  it('compares both parts and is frozen', () => {
    const identifier = ShardIdentifier.of(2, 5);
    expect(identifier.equals(ShardIdentifier.of(2, 5))).toBe(true);
    expect(identifier.equals(ShardIdentifier.of(2, 4))).toBe(false);
    expect(identifier.equals(ShardIdentifier.of(1, 5))).toBe(false);
    expect(Object.isFrozen(identifier)).toBe(true);
  });
});

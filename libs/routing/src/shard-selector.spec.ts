import { describe, expect, it } from '@jest/globals';
import { ShardIdentifier, ShardSelector } from './index.js';

interface Attributes {
  readonly country: string;
}

class ByCountry extends ShardSelector<Attributes> {
  groupOf({ country }: Attributes): number {
    return country === 'CH' ? 1 : 0;
  }
}

class ByContract extends ByCountry {
  override async identifierOf(attributes: Attributes): Promise<ShardIdentifier> {
    return ShardIdentifier.of(this.groupOf(attributes), 3);
  }
}

describe('ShardSelector', () => {
  it('names the group of a new customer, and a shard only where a subclass says one', async () => {
    const byCountry: ShardSelector<Attributes> = new ByCountry();
    expect([byCountry.groupOf({ country: 'CH' }), byCountry.groupOf({ country: 'MX' })]).toEqual([1, 0]);
    expect(byCountry.identifierOf).toBeUndefined();
    const byContract: ShardSelector<Attributes> = new ByContract();
    expect(await byContract.identifierOf?.({ country: 'CH' })).toEqual(ShardIdentifier.of(1, 3));
  });
});

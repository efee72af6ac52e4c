import { ShardIdentifier, ShardedUuid, SlotUuid } from '@app/routing';
import { v7 } from 'uuid';
import { compare, type Side, type SideResult } from '../support/bench.js';

const IDS = 200_000;

function side(name: string, make: () => string): Side {
  const run = () => {
    let last = '';
    const start = performance.now();
    for (let index = 0; index < IDS; index++) last = make();
    if (last.length !== 36) throw new Error('an id has 36 characters');
    return (IDS * 1000) / (performance.now() - start);
  };
  return { name, run };
}

/** `uuid` v7, `ShardedUuid` and `SlotUuid`, in that order. */
export function compareIds(rounds: number): Promise<SideResult[]> {
  const identifier = ShardIdentifier.of(3, 5);
  const place = { group: 1, slot: 7695 };
  return compare(
    [
      side('uuid v7', () => v7()),
      side('ShardedUuid', () => ShardedUuid.generate(identifier)),
      side('SlotUuid', () => SlotUuid.generate(place)),
    ],
    { rounds, warmup: 3 },
  );
}

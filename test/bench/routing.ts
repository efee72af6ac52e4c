import { randomUUID } from 'node:crypto';
import { slotOf, type RoutingKey } from '@app/routing';
import calculateSlot from 'cluster-key-slot';
import { compare, printTable, ratio, writeResults, type Side } from './support/bench.js';

const KEYS = 10_000;
const PASSES = 40;
const ROUNDS = 31;

const uuids = Array.from({ length: KEYS }, () => randomUUID());
const tenants = Array.from({ length: KEYS }, (_, n) => `tenant-${n}`);
const accented = Array.from({ length: KEYS }, (_, n) => `münchen-${n}`);
const integers = Array.from({ length: KEYS }, (_, n) => n * 7919 - 1_000_000);
const bigints = integers.map(BigInt);
const integerTexts = integers.map(String);

/** Keys per second. The sum keeps the optimiser from dropping the work. */
function perSecond<K>(keys: readonly K[], slot: (key: K) => number): number {
  let sum = 0;
  const start = performance.now();
  for (let pass = 0; pass < PASSES; pass++) for (const key of keys) sum += slot(key);
  const seconds = (performance.now() - start) / 1000;
  if (sum <= 0) throw new Error('the slots of so many keys cannot all be 0');
  return (keys.length * PASSES) / seconds;
}

function side<K>(name: string, keys: readonly K[], slot: (key: K) => number): Side {
  return { name, run: () => perSecond(keys, slot) };
}

async function against(
  title: string,
  keys: readonly RoutingKey[],
  texts: readonly string[],
): Promise<number> {
  const [ours, theirs] = await compare(
    [side('slotOf', keys, slotOf), side('cluster-key-slot', texts, calculateSlot)],
    {
      rounds: ROUNDS,
      warmup: 5,
    },
  );
  if (ours === undefined || theirs === undefined) throw new Error('two sides have two results');
  printTable([ours, theirs], { title, unit: 'keys/s' });
  return ratio(ours, theirs);
}

writeResults('routing', {
  uuid_speedup: await against('UUID strings', uuids, uuids),
  short_speedup: await against('short tenants', tenants, tenants),
  accented_speedup: await against('non-ASCII tenants', accented, accented),
  integer_speedup: await against('integers', integers, integerTexts),
  bigint_speedup: await against('bigints', bigints, integerTexts),
});

import { sequenceFacts, type SequenceFacts } from '../catalog/sequence-facts.js';
import { tableFacts } from '../catalog/table-facts.js';
import { check } from '../check.js';
import { shardedNames } from '../sharded-tables.js';
import type { Verdict } from '../finding.js';

export interface ShardSequences {
  readonly target: string;
  /** Those of sharded tables. */
  readonly sequences: readonly SequenceFacts[];
}

/** Generated ids of two shards are never the same: rows can then be moved with their ids. */
export const sequences = check<SequenceFacts[]>({
  name: 'sequences',
  scope: 'deployment',
  read: (place, look, { rules }) =>
    place.role === 'primary' && place.shard !== undefined
      ? look.read(tableFacts).then(async (tables) => {
          const sharded = shardedNames(tables, rules.tenantColumn);
          return (await look.read(sequenceFacts)).filter(({ table }) => sharded.has(table));
        })
      : undefined,
  judge: (found, { settings }) =>
    sequenceVerdicts(
      found.map(({ place, facts }) => ({ target: place.label, sequences: facts })),
      settings.migrations,
    ),
});

interface Interleaving {
  /** False: the deployment has said that ids may be the same. */
  readonly interleaveIdentities: boolean;
  readonly identityStride: number;
}

/** Each sequence is told once, with the first shard that it can collide with. */
export function sequenceVerdicts(
  shards: readonly ShardSequences[],
  { interleaveIdentities, identityStride }: Interleaving,
): Verdict[] {
  return shards.flatMap(({ target, sequences: own }, index) =>
    own.flatMap((sequence): Verdict[] => {
      const other = shards
        .slice(0, index)
        .find(({ sequences: theirs }) => theirs.some((one) => canCollide(sequence, one)));
      if (!other) return [];
      return [
        {
          severity: interleaveIdentities ? 'warning' : 'info',
          target,
          reason: `the sequence ${sequence.name} (${sequence.table}.${sequence.column}) gives out ids that it gives out on ${other.target} too, so that rows cannot be moved with their ids`,
          remedy: `give it the same increment on every shard (${identityStride}), and on each shard another start modulo that increment, above the ids that are there`,
        },
      ];
    }),
  );
}

/** The same sequence of two shards: whether a number exists that both can give out. */
export function canCollide(a: SequenceFacts, b: SequenceFacts): boolean {
  if (a.table !== b.table || a.column !== b.column) return false;
  if (a.most < b.least || b.most < a.least) return false;
  return (a.at - b.at) % commonDivisor(a.increment, b.increment) === 0n;
}

function commonDivisor(a: bigint, b: bigint): bigint {
  return b === 0n ? (a < 0n ? -a : a) : commonDivisor(b, a % b);
}

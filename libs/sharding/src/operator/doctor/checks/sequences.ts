import { ordinalFacts, type OrdinalFacts } from '../catalog/ordinal-facts.js';
import { sequenceFacts, type SequenceFacts } from '../catalog/sequence-facts.js';
import { tableFacts } from '../catalog/table-facts.js';
import { check } from '../check.js';
import { shardedNames } from '../sharded-tables.js';
import type { Verdict } from '../finding.js';
import type { Look } from '../look.js';
import type { Place } from '../../place.js';

export interface ShardSequences {
  readonly target: string;
  /** Undefined for the control database, which has ordinals alone. */
  readonly shard: string | undefined;
  /** Those of sharded tables. */
  readonly sequences: readonly SequenceFacts[];
  readonly ordinals: readonly OrdinalFacts[];
}

/** Generated ids of two shards are never the same: rows can then be moved with their ids. */
export const sequences = check<Omit<ShardSequences, 'target' | 'shard'>>({
  name: 'sequences',
  scope: 'deployment',
  read: (place, look, { rules }) =>
    place.role === 'primary' ? readSequences(place, look, rules.tenantColumn) : undefined,
  judge: (found, { settings }) =>
    sequenceVerdicts(
      found.map(({ place: { label, shard }, facts }) => ({ target: label, shard, ...facts })),
      settings.migrations,
    ),
});

async function readSequences({ shard }: Place, look: Look, tenantColumn: string) {
  const ordinals = await look.read(ordinalFacts);
  if (shard === undefined) return { sequences: [], ordinals };
  const sharded = shardedNames(await look.read(tableFacts), tenantColumn);
  const own = await look.read(sequenceFacts);
  return { sequences: own.filter(({ table }) => sharded.has(table)), ordinals };
}

interface Interleaving {
  /** False: the deployment has said that ids may be the same. */
  readonly interleaveIdentities: boolean;
  readonly identityStride: number;
}

/** Each sequence is told once: with the first shard that it can collide with, else when it is not where it belongs. */
export function sequenceVerdicts(databases: readonly ShardSequences[], options: Interleaving): Verdict[] {
  const ordinals = databases.flatMap((one) => one.ordinals);
  const severity = options.interleaveIdentities ? 'warning' : 'info';
  return databases.flatMap(({ target, shard, sequences: own }, index) => {
    const ordinal = options.interleaveIdentities ? ordinals.find((one) => one.shard === shard) : undefined;
    return own.flatMap((sequence): Verdict[] => {
      const other = databases
        .slice(0, index)
        .find(({ sequences: theirs }) => theirs.some((one) => canCollide(sequence, one)));
      const problem = other ? collision(other.target) : ordinal && misplaced(sequence, ordinal);
      if (problem === undefined) return [];
      const name = `the sequence ${sequence.name} (${sequence.table}.${sequence.column})`;
      return [{ severity, target, reason: `${name} ${problem}`, remedy: remedy(options) }];
    });
  });
}

const collision = (target: string) =>
  `gives out ids that it gives out on ${target} too, so that rows cannot be moved with their ids`;

/** Another shard can have that place, now or later. */
function misplaced({ at, increment }: SequenceFacts, { ordinal, stride }: OrdinalFacts): string | undefined {
  const aligned = increment === BigInt(stride) && (at - BigInt(ordinal + 1)) % increment === 0n;
  return aligned
    ? undefined
    : `does not give out the ids of its shard, ${ordinal + 1} modulo ${stride}, so that those of another shard can be the same`;
}

function remedy({ interleaveIdentities, identityStride }: Interleaving): string {
  return `${interleaveIdentities ? '' : 'set interleave_identities = true, and '}run shardctl migrate, which gives each shard a place of its own modulo ${identityStride}; a column that is no bigint, or counts down, has to be changed before`;
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

import { ShardingError } from '@app/routing';

/** Which generated ids a shard may use: `ordinal + 1`, then every `stride`-th. */
export interface IdentityPlan {
  readonly ordinal: number;
  readonly stride: number;
}

/** One row of `_sharding_identities`. */
export interface RecordedOrdinal extends IdentityPlan {
  readonly name: string;
}

/** What was recorded when somebody looked. */
export interface Records {
  /** On the control database; empty without one. */
  readonly control: readonly RecordedOrdinal[];
  /** On each shard that could be asked: its own row, as a rule. */
  readonly shards: ReadonlyMap<string, readonly RecordedOrdinal[]>;
}

/** Which shard has which ordinal. */
export interface Numbering {
  /** Of the shards of the configuration. Those whose ids are numbered already keep theirs. */
  readonly known: readonly RecordedOrdinal[];
  /** Shards without one that could not be asked: while there are any, none is given. */
  readonly silent: readonly string[];
}

/** @throws ShardingError `invalid_options` */
export function assertStride(shard: string, recorded: number, stride: number): void {
  if (recorded === stride) return;
  throw new ShardingError(
    'invalid_options',
    `identity_stride is ${stride}, and the ids of shard "${shard}" were given in steps of ${recorded}: it cannot be changed any more, set it back`,
  );
}

/**
 * Gives the shards that have no ordinal yet the next ones, in declaration order. What a shard has recorded itself is what its
 * ids are, also when it has another name now, or when the control database came later. One that was given once is never
 * given again, as far as anybody who was asked knows.
 *
 * @throws ShardingError `invalid_options` when the recorded stride is another one, or no ordinal is left; `migration_failed`
 * when two databases contradict each other
 */
export function numberShards(shards: readonly string[], records: Records, stride: number): Numbering {
  const recorded = [...records.control, ...[...records.shards.values()].flat()];
  for (const row of recorded) assertStride(row.name, row.stride, stride);
  const own = shards.flatMap((name) => ownOrdinal(name, records.shards.get(name) ?? [], shards) ?? []);
  assertNoContradiction(own, records.control);
  const known: RecordedOrdinal[] = [...own];
  for (const row of records.control) {
    if (shards.includes(row.name) && !known.some(({ name }) => name === row.name)) known.push(row);
  }
  const without = shards.filter((shard) => !known.some(({ name }) => name === shard));
  const silent = without.filter((shard) => !records.shards.has(shard));
  return { known: silent.length > 0 ? known : [...known, ...newOrdinals(without, recorded, stride)], silent };
}

interface OwnOrdinal extends RecordedOrdinal {
  /** The name under which the shard has recorded it. */
  readonly as: string;
}

/**
 * What a shard has recorded. A single row with a name that no shard has now is its own, of before it was renamed; one with
 * the name of another shard has come with a copy of that.
 */
function ownOrdinal(
  shard: string,
  rows: readonly RecordedOrdinal[],
  shards: readonly string[],
): OwnOrdinal | undefined {
  const [first] = rows;
  const former = rows.length === 1 && first && !shards.includes(first.name) ? first : undefined;
  const row = rows.find(({ name }) => name === shard) ?? former;
  return row && { ...row, name: shard, as: row.name };
}

function assertNoContradiction(own: readonly OwnOrdinal[], control: readonly RecordedOrdinal[]): void {
  for (const [index, { name, ordinal, as }] of own.entries()) {
    const twin = own.slice(0, index).find((one) => one.ordinal === ordinal);
    if (twin) {
      contradiction(
        `shards "${twin.name}" and "${name}" have both recorded ordinal ${ordinal}: they give the same ids. Delete that row of _sharding_identities on one of them, on the copy if it is one`,
      );
    }
    const noted = control.find((row) => row.name === name);
    if (noted && noted.ordinal !== ordinal) {
      contradiction(
        `shard "${name}" gives the ids of ordinal ${ordinal}, as it has recorded, and the control database has ordinal ${noted.ordinal} for it. Set the row of _sharding_identities on the control database to ${ordinal}`,
      );
    }
    const holder = control.find((row) => row.ordinal === ordinal);
    if (holder && holder.name !== name && holder.name !== as) {
      contradiction(
        `shard "${name}" gives the ids of ordinal ${ordinal}, as it has recorded, and the control database has given that to "${holder.name}". Where that is the former name of the shard, rename the row of _sharding_identities on the control database; else delete the row on the shard`,
      );
    }
  }
}

function contradiction(problem: string): never {
  throw new ShardingError('migration_failed', `${problem}, and migrate again`);
}

/** @param recorded all that is taken, whoever has it */
function newOrdinals(
  shards: readonly string[],
  recorded: readonly RecordedOrdinal[],
  stride: number,
): RecordedOrdinal[] {
  const first = Math.max(-1, ...recorded.map(({ ordinal }) => ordinal)) + 1;
  const fresh = shards.map((name, index) => ({ name, ordinal: first + index, stride }));
  const beyond = fresh.find(({ ordinal }) => ordinal >= stride);
  if (!beyond) return fresh;
  throw new ShardingError(
    'invalid_options',
    `shard "${beyond.name}" would be number ${beyond.ordinal + 1} in the life of this deployment, and identity_stride = ${stride} has room for ${stride}; set interleave_identities = false, and take other ids`,
  );
}

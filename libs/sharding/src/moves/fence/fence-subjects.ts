import { ShardingError } from '@app/routing';
import { quoted } from '../quoted.js';
import type { GuardedTable } from './guarded-table.js';
import type { MovedRows } from '../scope-filter.js';
import type { MoveSession } from '../move-session.js';

/** What rows of `_sharding_fence` are about. */
export interface FenceSubjects {
  /** Of what: all of one kind. */
  readonly form: 'key' | 'slot';
  /** `key:acme`, `slot:7695`. */
  readonly subjects: readonly string[];
  /** The slot of each. */
  readonly slots: readonly number[];
  /** The keys of the slots that stay where they are. */
  readonly kept: { readonly subjects: readonly string[]; readonly slots: readonly number[] };
}

interface Subject {
  readonly subject: string;
  readonly slot: number;
}

/** Keys are spelled as the tables spell them: a uuid in small letters, a number without zeros before it. */
export async function fenceSubjects(
  session: MoveSession,
  { scope, kept }: MovedRows,
  tables: readonly GuardedTable[],
): Promise<FenceSubjects> {
  const stay = 'slots' in scope ? await subjectsOf(session, kept, tables) : [];
  const moved =
    'slots' in scope
      ? scope.slots.map((slot) => ({ subject: `slot:${slot}`, slot }))
      : await subjectsOf(session, scope.keys, tables);
  return { form: 'slots' in scope ? 'slot' : 'key', ...columns(moved), kept: columns(stay) };
}

function columns(subjects: readonly Subject[]) {
  return { subjects: subjects.map(({ subject }) => subject), slots: subjects.map(({ slot }) => slot) };
}

async function subjectsOf(
  session: MoveSession,
  keys: readonly string[],
  tables: readonly GuardedTable[],
): Promise<Subject[]> {
  if (keys.length === 0) return [];
  const types = new Map(tables.map(({ keyType, keyKind }) => [keyType, keyKind]));
  const found = new Map<string, Subject>();
  for (const [keyType, keyKind] of types) {
    const spelled = await spelledAs(session, keys, { keyType, keyKind });
    for (const subject of spelled) found.set(subject.subject, subject);
  }
  return [...found.values()];
}

/** Invalid text, number out of range. */
const NO_VALUE = new Set(['22P02', '22003']);

async function spelledAs(
  { client, schema }: MoveSession,
  keys: readonly string[],
  { keyType, keyKind }: Pick<GuardedTable, 'keyType' | 'keyKind'>,
): Promise<Subject[]> {
  const hashed = keyKind === 'integer' ? 'bigint' : 'text';
  try {
    const { rows } = await client.query<Subject>(
      `select distinct 'key:' || spelled.key as subject, ${quoted(schema)}._sharding_slot(spelled.key::${hashed}) as slot
      from (select given.key::${keyType}::text as key from unnest($1::text[]) as given (key)) spelled`,
      [keys],
    );
    return rows;
  } catch (cause) {
    const code = typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : '';
    if (!NO_VALUE.has(code)) throw cause;
    throw new ShardingError('move_refused', `no fence: a key is no ${keyType}, which the key column is`, {
      cause,
    });
  }
}

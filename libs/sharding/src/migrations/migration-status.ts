import { fanOut } from '../shards/fan-out.js';
import { asking } from './asking.js';
import { migrationTargets, type MigrationTarget, type TargetChoice } from './migration-target.js';
import { differenceOf, migrationsTable, readApplied, readOnly, type Applied } from './read-applied.js';
import { targetFailure, type TargetFailure } from './target-result.js';
import type pg from 'pg';
import type { ShardingSettings } from '../sharding.settings.js';

/** How one database stands to the code. */
export interface TargetStatus {
  /** `control` or `shard:<name>`. */
  readonly target: string;
  /** Nothing is pending, unknown or invalid, and it answers. */
  readonly ok: boolean;
  /** Names in the order in which they were applied, the framework's first. */
  readonly applied: readonly string[];
  /** In the code, and not applied there. */
  readonly pending: readonly string[];
  /** Applied there, and not in the code. */
  readonly unknown: readonly string[];
  /** The application's last one, else the framework's. */
  readonly last: string | undefined;
  /** Indexes that a concurrent build has left unfinished, and that nobody builds now. */
  readonly invalidIndexes: readonly string[];
  /** Why it could not be asked. */
  readonly failure?: TargetFailure;
}

/** Databases asked at a time. */
const WIDTH = 16;
const STATEMENT_LIMIT_MS = 5000;

/**
 * How every target stands to the code. Reads only, in read-only transactions; all targets at once, each bounded by twice its
 * `connect_timeout_ms` and 5 s a statement. One that cannot be asked hides no other.
 *
 * @returns in the order of the targets
 * @throws ShardingError `invalid_options` for lists of migrations that cannot be loaded, `unknown_shard`
 */
export async function migrationStatus(
  settings: ShardingSettings,
  choice: TargetChoice = {},
): Promise<readonly TargetStatus[]> {
  const targets = await migrationTargets(settings, choice);
  const outcomes = await fanOut(targets, WIDTH, (target) => statusOf(settings, target));
  return outcomes.map((outcome) =>
    outcome.ok ? outcome.value : failedStatus(outcome.shard, targetFailure(outcome.error, undefined)),
  );
}

function statusOf(settings: ShardingSettings, target: MigrationTarget): Promise<TargetStatus> {
  const read = async (client: pg.Client) => {
    await client.query(`select set_config('statement_timeout', $1, true)`, [`${STATEMENT_LIMIT_MS}ms`]);
    const applied = await readApplied(client, migrationsTable(settings));
    return described(target, applied, await invalidIndexes(client));
  };
  return asking(settings, target.settings, {
    limitMs: 2 * target.settings.connectTimeoutMs + STATEMENT_LIMIT_MS,
    work: (client) => readOnly(client, () => read(client)),
  });
}

function described(target: MigrationTarget, found: Applied, indexes: readonly string[]): TargetStatus {
  const { pending, unknown } = differenceOf(target, found);
  const applied = [...(found.framework ?? []), ...found.own];
  return {
    target: target.name,
    ok: pending.length + unknown.length + indexes.length === 0,
    applied,
    pending,
    unknown,
    last: applied.at(-1),
    invalidIndexes: indexes,
  };
}

function failedStatus({ name }: MigrationTarget, failure: TargetFailure): TargetStatus {
  return {
    target: name,
    ok: false,
    applied: [],
    pending: [],
    unknown: [],
    last: undefined,
    invalidIndexes: [],
    failure,
  };
}

/** The parent of a partitioned index is invalid until all partitions have theirs: no build was left unfinished there. */
async function invalidIndexes(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name
      from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
      where not i.indisvalid and c.relkind = 'i' and n.nspname !~ '^pg_'
        and not exists (select from pg_stat_progress_create_index p where p.index_relid = i.indexrelid)
      order by 1`,
  );
  return rows.map(({ name }) => name);
}

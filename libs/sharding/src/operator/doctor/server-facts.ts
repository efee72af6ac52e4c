import { RESERVED } from '../../shards/connection-budget.js';
import type { Read } from './look.js';

/** What a server says of itself and of one database. */
export interface ServerFacts {
  readonly version: string;
  /** `180001` */
  readonly versionNumber: number;
  readonly recovering: boolean;
  readonly readOnly: boolean;
  /** When it was started: the same for all databases of one server, another one for its replica. */
  readonly started: string;
  /** The oid of the database. */
  readonly database: string;
  /** The same for a primary and its replicas; undefined where the role may not ask. */
  readonly system: string | undefined;
  readonly encoding: string;
  readonly collate: string | null;
  readonly ctype: string | null;
  /** `libc`, `icu`, `builtin` and the locale, where the version knows them. */
  readonly provider: string;
  readonly locale: string | null;
  /** Of the collations that the database uses, as the server has them now, by name. */
  readonly collations: Readonly<Record<string, string>>;
  /** Those that were recorded under another version. */
  readonly outdated: readonly string[];
  readonly maxConnections: number;
  /** For superusers and the like. */
  readonly reserved: number;
  /** Clients of all databases now. */
  readonly used: number;
  /** Replayed by a replica, written by a primary. */
  readonly lsn: string | null;
  /** Of the last transaction that a replica has replayed. */
  readonly ageMs: number | null;
  readonly receiving: boolean;
  readonly paused: boolean;
}

/** @param run runs a question in a transaction of its own */
export async function readServer(run: <T>(read: Read<T>) => Promise<T>): Promise<ServerFacts> {
  const facts = await run(serverRow);
  const system = await run(systemIdentifier).catch(() => undefined); // not every provider allows it
  const versions = await run(collationVersions(facts.versionNumber)).catch(() => NO_VERSIONS); // of a provider that is gone
  return { ...facts, system, ...versions };
}

const NO_VERSIONS = { collations: {}, outdated: [] };

type Row = Omit<ServerFacts, 'system' | 'collations' | 'outdated'>;

/** Newer columns of `pg_database` are read by name from JSON: older servers do not have them. */
const serverRow: Read<Row> = async (client) => {
  const { rows } = await client.query<Row>(`
    select current_setting('server_version') as version, current_setting('server_version_num')::int as "versionNumber",
      pg_is_in_recovery() as recovering, current_setting('default_transaction_read_only')::boolean as "readOnly",
      pg_postmaster_start_time()::text as started, d.oid::text as database,
      pg_encoding_to_char(d.encoding) as encoding, d.datcollate::text as collate, d.datctype::text as ctype,
      case d.fields ->> 'datlocprovider' when 'i' then 'icu' when 'b' then 'builtin' else 'libc' end as provider,
      coalesce(d.fields ->> 'datlocale', d.fields ->> 'daticulocale') as locale,
      current_setting('max_connections')::int as "maxConnections",
      ${RESERVED} as reserved,
      (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as used,
      (case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end)::text as lsn,
      (extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000)::float8 as "ageMs",
      exists (select from pg_stat_wal_receiver) as receiving,
      case when pg_is_in_recovery() then pg_is_wal_replay_paused() else false end as paused
    from (select *, to_jsonb(pg_database) as fields from pg_database where datname = current_database()) d`);
  const [row] = rows;
  if (!row) throw new Error('the server answered with no row');
  return row;
};

const systemIdentifier: Read<string | undefined> = async (client) => {
  const { rows } = await client.query<{ system: string }>(
    'select system_identifier::text as system from pg_control_system()',
  );
  return rows[0]?.system;
};

/** The database's own collation has a version since PostgreSQL 15. */
const OF_DATABASE = `union all select '(database)', datcollversion, pg_database_collation_actual_version(oid)
  from pg_database where datname = current_database()`;

function collationVersions(version: number): Read<Pick<ServerFacts, 'collations' | 'outdated'>> {
  return async (client) => {
    const { rows } = await client.query<{ name: string; recorded: string | null; actual: string }>(`
      select name, recorded, actual from (
        select distinct c.collname::text as name, c.collversion as recorded, pg_collation_actual_version(c.oid) as actual
        from pg_attribute a join pg_class t on t.oid = a.attrelid join pg_namespace n on n.oid = t.relnamespace
          join pg_collation c on c.oid = a.attcollation
        where t.relkind in ('r', 'p') and n.nspname !~ '^(pg_|information_schema$)' and c.collname <> 'default'
        ${version >= 150_000 ? OF_DATABASE : ''}) versions
      where actual is not null order by name`);
    return {
      collations: Object.fromEntries(rows.map(({ name, actual }) => [name, actual])),
      outdated: rows
        .filter(({ recorded, actual }) => recorded !== null && recorded !== actual)
        .map(({ name }) => name),
    };
  };
}

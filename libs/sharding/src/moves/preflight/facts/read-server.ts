import type { MoveSession } from '../../move-session.js';

/** What one side says of its server and its database. */
export interface ServerFacts {
  readonly version: string;
  /** `180001` */
  readonly versionNumber: number;
  readonly standby: boolean;
  /** For sessions that set nothing themselves. */
  readonly readOnly: boolean;
  /** When the server was started, and the number of the database: no other database has both. */
  readonly identity: string;
  readonly encoding: string;
  /** How texts without a collation of their own are ordered. */
  readonly collation: string;
  /** Of a fixed text: the fingerprints of both sides are made by the same function. */
  readonly hash: string;
  /** The slot functions of the framework are there. */
  readonly slots: boolean;
}

/** Newer columns of `pg_database` are read by name from JSON. */
export async function readServer({ client, schema }: MoveSession): Promise<ServerFacts> {
  const { rows } = await client.query<ServerFacts>(
    `select current_setting('server_version') as version, current_setting('server_version_num')::int as "versionNumber",
      pg_is_in_recovery() as standby,
      (select reset_val = 'on' from pg_settings where name = 'default_transaction_read_only') as "readOnly",
      extract(epoch from pg_postmaster_start_time()) || ' ' || d.oid as identity,
      pg_encoding_to_char(d.encoding) as encoding,
      concat_ws(' ', coalesce(d.fields ->> 'datlocale', d.fields ->> 'daticulocale', d.datcollate),
        case d.fields ->> 'datlocprovider' when 'i' then '(icu)' when 'b' then '(builtin)' else '(libc)' end) as collation,
      hashtextextended('nestjs-sharding', 1)::text as hash,
      (select count(*) = 2 from pg_proc p join pg_namespace n on n.oid = p.pronamespace
        where n.nspname::text = $1 collate "C" and p.proname = '_sharding_slot') as slots
    from (select *, to_jsonb(pg_database) as fields from pg_database where datname = current_database()) d`,
    [schema],
  );
  const [row] = rows;
  if (!row) throw new TypeError('the server answered with no row');
  return row;
}

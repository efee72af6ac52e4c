import type { MoveSession } from '../move-session.js';

/** A transaction that holds a lock on a table. */
export interface LockHolder {
  /** Its identity, which it keeps when it is prepared: the next one of the same session has another. */
  readonly transaction: string;
  /** For people: the process id and for how long, or the name of a prepared transaction. */
  readonly who: string;
}

/** Granted locks of these modes on the tables, of others than ourselves. */
export async function lockHolders(
  { client }: MoveSession,
  oids: readonly string[],
  modes: readonly string[],
): Promise<LockHolder[]> {
  const { rows } = await client.query<LockHolder>(
    `select distinct l.virtualtransaction as transaction,
      coalesce('pid ' || l.pid || case when a.backend_type <> 'client backend' then ' (' || a.backend_type || ')' else '' end,
        'prepared transaction ' || to_json(p.gid), 'a prepared transaction')
      || coalesce(' for ' || round(extract(epoch from statement_timestamp() - coalesce(a.xact_start, p.prepared)), 1) || ' s', '')
        as who
    from pg_locks l left join pg_stat_activity a on a.pid = l.pid
      left join pg_locks x on l.pid is null and x.pid is null and x.locktype = 'transactionid' and x.granted
        and x.virtualtransaction = l.virtualtransaction
      left join pg_prepared_xacts p on p.transaction = x.transactionid
    where l.locktype = 'relation' and l.granted and l.pid is distinct from pg_backend_pid()
      and l.database = (select oid from pg_database where datname = current_database())
      and l.relation = any ($1::oid[]) and l.mode = any ($2::text[])
    order by 1`,
    [oids, modes],
  );
  return rows;
}

export function described(holders: readonly LockHolder[]): string {
  const named = holders.slice(0, 5).map(({ who }) => who);
  const more = holders.length > named.length ? [`${holders.length - named.length} more`] : [];
  return named.length === 0 ? 'somebody who has gone since' : [...named, ...more].join(', ');
}

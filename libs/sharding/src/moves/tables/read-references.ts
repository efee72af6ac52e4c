import type { MoveSession } from '../move-session.js';

/** A foreign key from one table to another. */
export interface TableReference {
  readonly from: string;
  readonly to: string;
  /** It can wait for the commit, when rows arrive and when they go. */
  readonly deferrable: boolean;
}

/** Foreign keys among tables; one of a partition is one of its root. */
export async function readReferences(
  { client }: MoveSession,
  oids: readonly string[],
): Promise<TableReference[]> {
  const { rows } = await client.query<TableReference>(
    `select edge."from"::oid::text as "from", edge."to"::oid::text as "to",
      bool_and(k.condeferrable and k.confdeltype <> 'r') as deferrable
    from pg_constraint k cross join lateral (
      select coalesce(pg_partition_root(k.conrelid), k.conrelid) as "from",
        coalesce(pg_partition_root(k.confrelid), k.confrelid) as "to") edge
    where k.contype = 'f' and edge."from" = any ($1::oid[]) and edge."to" = any ($1::oid[])
    group by 1, 2 order by 1, 2`,
    [oids],
  );
  return rows;
}

/**
 * Condition on a row `t` of `pg_class` with its schema `n`: a table of the application. Partitions follow their parent;
 * what an extension brought, the library's tables and the records of TypeORM are nobody's data.
 */
export const IS_OWN_TABLE = `t.relkind in ('r', 'p') and not t.relispartition and t.relpersistence = 'p'
  and n.nspname !~ '^(pg_|information_schema$)' and t.relname !~ '^_sharding_'
  and t.relname not in ('migrations', 'typeorm_metadata')
  and not exists (select from pg_depend e where e.classid = 'pg_class'::regclass and e.objid = t.oid and e.deptype = 'e')`;

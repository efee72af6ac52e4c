import {
  qualified,
  relationKey,
  relationKind,
  relationOfUser,
  USER_SCHEMA,
  WITHIN_SCHEMA,
} from './fragments.js';

const OF_USER = `${USER_SCHEMA} and ${relationOfUser('c')}`;

/** A partition is not missed where its parent is missing. */
export const TABLES = `
  select 'table' as kind, ${qualified('n.nspname', 'c.relname')} as name,
    ${WITHIN_SCHEMA} || case when c.relispartition then array[${relationKey('parent', 'pn')}] else '{}' end as within,
    null as inherits, json_build_object(
      'persistence', case c.relpersistence when 'u' then 'unlogged' else 'logged' end,
      'partition key', pg_get_partkeydef(c.oid),
      'partition', case when c.relispartition
        then ${qualified('pn.nspname', 'parent.relname')} || ' ' || pg_get_expr(c.relpartbound, c.oid) end,
      'parents', case when not c.relispartition then (
        select string_agg(i.inhparent::regclass::text, ', ' order by i.inhseqno)
        from pg_inherits i where i.inhrelid = c.oid) end,
      'foreign server', (
        select quote_ident(s.srvname) from pg_foreign_table f join pg_foreign_server s on s.oid = f.ftserver
        where f.ftrelid = c.oid),
      'type', nullif(c.reloftype, 0)::regtype::text,
      'row security', c.relrowsecurity,
      'forced row security', c.relforcerowsecurity,
      'column order', coalesce((
        select json_agg(quote_ident(a.attname) order by a.attnum)
        from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped), '[]')) as facts
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
    left join pg_inherits i on c.relispartition and i.inhrelid = c.oid
    left join pg_class parent on parent.oid = i.inhparent left join pg_namespace pn on pn.oid = parent.relnamespace
  where c.relkind in ('r', 'p', 'f') and ${OF_USER}`;

/** Not null without validation is known since PostgreSQL 18. */
export const COLUMNS = `
  select 'column' as kind, format('%I.%I.%I', n.nspname, c.relname, a.attname) as name,
    array[${relationKey('c', 'n')}] as within,
    case when a.attinhcount > 0 then (
      select format('column %I.%I.%I', pn.nspname, parent.relname, a.attname)
      from pg_inherits i join pg_class parent on parent.oid = i.inhparent
        join pg_namespace pn on pn.oid = parent.relnamespace
        join pg_attribute above on above.attrelid = parent.oid and above.attname = a.attname
      where i.inhrelid = c.oid order by i.inhseqno limit 1) end as inherits,
    json_build_object(
      'type', format_type(a.atttypid, a.atttypmod),
      'collation', case when a.attcollation <> t.typcollation then a.attcollation::regcollation::text end,
      'nullability', case when not a.attnotnull then 'null' when exists (
        select from pg_constraint k where k.conrelid = c.oid and k.contype = 'n' and k.conkey = array[a.attnum]
          and not k.convalidated) then 'not null, not validated' else 'not null' end,
      'default', case when a.attgenerated = '' then pg_get_expr(d.adbin, d.adrelid) end,
      'generated', case a.attgenerated when 's' then 'stored ' when 'v' then 'virtual ' end
        || pg_get_expr(d.adbin, d.adrelid),
      'identity', case a.attidentity when 'a' then 'always' when 'd' then 'by default' end) as facts
  from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
    join pg_type t on t.oid = a.atttypid left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
  where c.relkind in ('r', 'p', 'f') and a.attnum > 0 and not a.attisdropped and ${OF_USER}`;

/** Where a sequence stands and where it begins is its shard's own: interleaved ids have another residue on each. */
export const SEQUENCES = `
  select 'sequence' as kind, ${qualified('n.nspname', 'c.relname')} as name,
    ${WITHIN_SCHEMA} || case when a.attname is null then '{}'
      else array[format('column %I.%I.%I', tn.nspname, t.relname, a.attname)] end as within,
    null as inherits, json_build_object(
      'type', format_type(s.seqtypid, null),
      'increment', s.seqincrement::text,
      'cycle', s.seqcycle) as facts
  from pg_sequence s join pg_class c on c.oid = s.seqrelid join pg_namespace n on n.oid = c.relnamespace
    left join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = c.oid
      and d.refclassid = 'pg_class'::regclass and d.refobjsubid > 0 and d.deptype in ('a', 'i')
    left join pg_class t on t.oid = d.refobjid left join pg_namespace tn on tn.oid = t.relnamespace
    left join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
  where ${OF_USER}`;

/** Options: `security_invoker`, `check_option` ... */
export const VIEWS = `
  select ${relationKind('c')} as kind, ${qualified('n.nspname', 'c.relname')} as name, ${WITHIN_SCHEMA} as within,
    null as inherits, json_build_object(
      'definition', pg_get_viewdef(c.oid),
      'options', case c.relkind when 'v' then array_to_string(c.reloptions, ', ') end) as facts
  from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind in ('v', 'm') and ${OF_USER}`;

import { madeByUser, qualified, USER_SCHEMA, WITHIN_SCHEMA } from './fragments.js';

const OF_USER = `${USER_SCHEMA} and ${madeByUser('pg_type', 't.oid')}`;

export const ENUMS = `
  select 'enum' as kind, ${qualified('n.nspname', 't.typname')} as name, ${WITHIN_SCHEMA} as within, null as inherits,
    json_build_object('labels', (
      select string_agg(quote_literal(e.enumlabel), ', ' order by e.enumsortorder)
      from pg_enum e where e.enumtypid = t.oid)) as facts
  from pg_type t join pg_namespace n on n.oid = t.typnamespace where t.typtype = 'e' and ${OF_USER}`;

export const DOMAINS = `
  select 'domain' as kind, ${qualified('n.nspname', 't.typname')} as name, ${WITHIN_SCHEMA} as within, null as inherits,
    json_build_object(
      'type', format_type(t.typbasetype, t.typtypmod),
      'default', t.typdefault,
      'nullability', case when t.typnotnull then 'not null' else 'null' end,
      'collation', case when t.typcollation <> b.typcollation then t.typcollation::regcollation::text end,
      'constraints', (
        select string_agg(format('%I %s', k.conname, pg_get_constraintdef(k.oid)), ', ' order by k.conname)
        from pg_constraint k where k.contypid = t.oid and k.contype = 'c')) as facts
  from pg_type t join pg_namespace n on n.oid = t.typnamespace join pg_type b on b.oid = t.typbasetype
  where t.typtype = 'd' and ${OF_USER}`;

export const COMPOSITE_TYPES = `
  select 'composite type' as kind, ${qualified('n.nspname', 't.typname')} as name, ${WITHIN_SCHEMA} as within,
    null as inherits, json_build_object('attributes', (
      select string_agg(format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod))
        || case when a.attcollation <> b.typcollation then ' collate ' || a.attcollation::regcollation else '' end,
        ', ' order by a.attnum)
      from pg_attribute a join pg_type b on b.oid = a.atttypid
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)) as facts
  from pg_class c join pg_type t on t.oid = c.reltype join pg_namespace n on n.oid = t.typnamespace
  where c.relkind = 'c' and ${OF_USER}`;

export const RANGE_TYPES = `
  select 'range type' as kind, ${qualified('n.nspname', 't.typname')} as name, ${WITHIN_SCHEMA} as within,
    null as inherits, json_build_object(
      'subtype', format_type(r.rngsubtype, null),
      'collation', case when r.rngcollation <> b.typcollation then r.rngcollation::regcollation::text end,
      'operator class', ${qualified('o.nspname', 'p.opcname')},
      'canonical', nullif(r.rngcanonical, 0)::regprocedure::text,
      'difference', nullif(r.rngsubdiff, 0)::regprocedure::text) as facts
  from pg_range r join pg_type t on t.oid = r.rngtypid join pg_namespace n on n.oid = t.typnamespace
    join pg_type b on b.oid = r.rngsubtype join pg_opclass p on p.oid = r.rngsubopc
    join pg_namespace o on o.oid = p.opcnamespace
  where ${OF_USER}`;

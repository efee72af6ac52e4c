import { firing, madeByUser, qualified, USER_SCHEMA, WITHIN_SCHEMA } from './fragments.js';

/** What `default` collates by; columns of catalogs that not every version has are read as JSON. */
export const DATABASE = `
  select 'database' as kind, 'locale' as name, '{}'::text[] as within, null as inherits, json_build_object(
    'encoding', pg_encoding_to_char(d.encoding),
    'collate', d.datcollate,
    'character type', d.datctype,
    'provider', case coalesce(r ->> 'datlocprovider', 'c') when 'c' then 'libc' when 'i' then 'icu' else 'builtin' end,
    'provider locale', coalesce(r ->> 'datlocale', r ->> 'daticulocale'),
    'provider rules', r ->> 'daticurules') as facts
  from pg_database d, to_jsonb(d) r where d.datname = current_database()`;

export const EXTENSIONS = `
  select 'extension' as kind, quote_ident(x.extname) as name, '{}'::text[] as within, null as inherits,
    json_build_object('version', x.extversion, 'schema', n.nspname) as facts
  from pg_extension x join pg_namespace n on n.oid = x.extnamespace`;

export const SCHEMAS = `
  select 'schema' as kind, quote_ident(n.nspname) as name, '{}'::text[] as within, null as inherits,
    json_build_object() as facts
  from pg_namespace n where ${USER_SCHEMA} and ${madeByUser('pg_namespace', 'n.oid')}`;

export const COLLATIONS = `
  select 'collation' as kind, ${qualified('n.nspname', 'l.collname')} as name, ${WITHIN_SCHEMA} as within,
    null as inherits, json_build_object(
      'provider', case l.collprovider when 'c' then 'libc' when 'i' then 'icu' when 'd' then 'default' else 'builtin' end,
      'collate', l.collcollate,
      'character type', l.collctype,
      'locale', coalesce(r ->> 'colllocale', r ->> 'colliculocale'),
      'rules', r ->> 'collicurules',
      'deterministic', l.collisdeterministic) as facts
  from pg_collation l join pg_namespace n on n.oid = l.collnamespace, to_jsonb(l) r
  where ${USER_SCHEMA} and ${madeByUser('pg_collation', 'l.oid')}`;

export const EVENT_TRIGGERS = `
  select 'event trigger' as kind, quote_ident(t.evtname) as name, '{}'::text[] as within, null as inherits,
    json_build_object(
      'event', t.evtevent,
      'function', t.evtfoid::regprocedure::text,
      'tags', array_to_string(t.evttags, ', '),
      'enabled', ${firing('t.evtenabled')}) as facts
  from pg_event_trigger t where ${madeByUser('pg_event_trigger', 't.oid')}`;

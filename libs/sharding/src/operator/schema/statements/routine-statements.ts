import { madeByUser, noGuard, qualified, USER_SCHEMA, WITHIN_SCHEMA } from './fragments.js';

/** With its arguments: names are shared. An aggregate has no text of its own. */
export const ROUTINES = `
  select case p.prokind when 'a' then 'aggregate' when 'p' then 'procedure' else 'function' end as kind,
    format('%s(%s)', ${qualified('n.nspname', 'p.proname')}, pg_get_function_identity_arguments(p.oid)) as name,
    ${WITHIN_SCHEMA} as within, null as inherits, json_build_object('definition',
      case p.prokind when 'a' then (
        select format('sfunc = %s, stype = %s, finalfunc = %s, combinefunc = %s, initcond = %L, sortop = %s, kind = %s, parallel = %s',
          g.aggtransfn::regprocedure, format_type(g.aggtranstype, null), g.aggfinalfn::regproc, g.aggcombinefn::regproc,
          g.agginitval, g.aggsortop::regoper, g.aggkind, p.proparallel)
        from pg_aggregate g where g.aggfnoid = p.oid)
      else pg_get_functiondef(p.oid) end) as facts
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
  where ${USER_SCHEMA} and ${madeByUser('pg_proc', 'p.oid')} and ${noGuard('p')}`;

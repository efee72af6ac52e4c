import { firing, noGuard, qualified, relationKey, relationOfUser, USER_SCHEMA } from './fragments.js';

const OF_USER = `${USER_SCHEMA} and ${relationOfUser('c')}`;
const RELATION = `join pg_namespace n on n.oid = c.relnamespace`;
const WITHIN_RELATION = `array[${relationKey('c', 'n')}]`;

/** `part on schema.relation`, for what has a name in its relation only. */
const partName = (part: string) => `format('%I on %I.%I', ${part}, n.nspname, c.relname)`;

/** Nullability is the column's. What the rows of a partitioned table are referenced by is the reference's own affair. */
export const CONSTRAINTS = `
  select 'constraint' as kind, ${partName('k.conname')} as name, ${WITHIN_RELATION} as within,
    case when k.conparentid <> 0 or k.coninhcount > 0 then (
      select format('constraint %I on %I.%I', above.conname, pn.nspname, parent.relname)
      from pg_inherits i join pg_class parent on parent.oid = i.inhparent
        join pg_namespace pn on pn.oid = parent.relnamespace join pg_constraint above on above.conrelid = parent.oid
      where i.inhrelid = c.oid
        and case k.conparentid when 0 then above.conname = k.conname else above.oid = k.conparentid end
      order by i.inhseqno limit 1) end as inherits,
    json_build_object('definition', pg_get_constraintdef(k.oid)) as facts
  from pg_constraint k join pg_class c on c.oid = k.conrelid ${RELATION}
  where k.contype in ('c', 'f', 'p', 'u', 'x') and ${OF_USER} and not exists (
    select from pg_constraint same where same.oid = k.conparentid and same.conrelid = k.conrelid)`;

/** That of a constraint is compared with it. */
export const INDEXES = `
  select 'index' as kind, ${qualified('n.nspname', 'x.relname')} as name, ${WITHIN_RELATION} as within,
    (select 'index ' || ${qualified('pn.nspname', 'above.relname')}
      from pg_inherits i join pg_class above on above.oid = i.inhparent
        join pg_namespace pn on pn.oid = above.relnamespace
      where i.inhrelid = x.oid) as inherits,
    json_build_object('definition', pg_get_indexdef(x.oid), 'valid', i.indisvalid) as facts
  from pg_index i join pg_class x on x.oid = i.indexrelid join pg_class c on c.oid = i.indrelid ${RELATION}
  where ${OF_USER} and not exists (
    select from pg_constraint k where k.conindid = x.oid and k.contype in ('p', 'u', 'x'))`;

export const STATISTICS = `
  select 'statistics' as kind, ${qualified('sn.nspname', 's.stxname')} as name, ${WITHIN_RELATION} as within,
    null as inherits, json_build_object('definition', pg_get_statisticsobjdef(s.oid)) as facts
  from pg_statistic_ext s join pg_namespace sn on sn.oid = s.stxnamespace
    join pg_class c on c.oid = s.stxrelid ${RELATION}
  where ${OF_USER}`;

/** Not those of constraints. */
export const TRIGGERS = `
  select 'trigger' as kind, ${partName('t.tgname')} as name, ${WITHIN_RELATION} as within,
    (select format('trigger %I on %I.%I', above.tgname, pn.nspname, parent.relname)
      from pg_trigger above join pg_class parent on parent.oid = above.tgrelid
        join pg_namespace pn on pn.oid = parent.relnamespace
      where above.oid = t.tgparentid) as inherits,
    json_build_object('definition', pg_get_triggerdef(t.oid), 'enabled', ${firing('t.tgenabled')}) as facts
  from pg_trigger t join pg_class c on c.oid = t.tgrelid ${RELATION} join pg_proc fired on fired.oid = t.tgfoid
  where not t.tgisinternal and ${noGuard('fired')} and fired.proname <> '_sharding_fence_truncate' and ${OF_USER}`;

export const POLICIES = `
  select 'policy' as kind, ${partName('p.polname')} as name, ${WITHIN_RELATION} as within, null as inherits,
    json_build_object(
      'kind', case when p.polpermissive then 'permissive' else 'restrictive' end,
      'command', case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update'
        when 'd' then 'delete' else 'all' end,
      'roles', (
        select string_agg(role.name, ', ' order by role.name collate "C")
        from (select case oid when 0 then 'public' else quote_ident(pg_get_userbyid(oid)) end as name
          from unnest(p.polroles) oid) role),
      'using', pg_get_expr(p.polqual, p.polrelid),
      'with check', pg_get_expr(p.polwithcheck, p.polrelid)) as facts
  from pg_policy p join pg_class c on c.oid = p.polrelid ${RELATION} where ${OF_USER}`;

/** Not that of a view, which is its definition. */
export const RULES = `
  select 'rule' as kind, ${partName('r.rulename')} as name, ${WITHIN_RELATION} as within, null as inherits,
    json_build_object('definition', pg_get_ruledef(r.oid), 'enabled', ${firing('r.ev_enabled')}) as facts
  from pg_rewrite r join pg_class c on c.oid = r.ev_class ${RELATION}
  where r.rulename <> '_RETURN' and ${OF_USER}`;

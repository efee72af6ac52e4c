/** Condition on a schema `n`: not of the system. */
export const USER_SCHEMA = `n.nspname !~ '^pg_' and n.nspname <> 'information_schema'`;

/** Condition: made by no extension, whose version says what it makes, and by no other object. */
export function madeByUser(catalog: string, oid: string): string {
  return `not exists (select from pg_depend made where made.classid = '${catalog}'::regclass and made.objid = ${oid}
      and made.objsubid = 0 and made.deptype in ('e', 'i'))`;
}

/** Condition on a relation: made by no extension. A sequence is made by its identity column and is compared all the same. */
export function relationOfUser(relation: string): string {
  return `not exists (select from pg_depend made where made.classid = 'pg_class'::regclass
      and made.objid = ${relation}.oid and made.objsubid = 0 and made.deptype = 'e')`;
}

/** Condition on a function: no guard of a move, which a shard has while it refuses keys and the others have not. */
export function noGuard(routine: string): string {
  return `${routine}.proname !~ '^_sharding_fence_[0-9]+_'`;
}

/** Qualified and quoted, of a schema and a name. */
export function qualified(schema: string, name: string): string {
  return `format('%I.%I', ${schema}, ${name})`;
}

/** What kind of object a relation is. */
export function relationKind(relation: string): string {
  return `case ${relation}.relkind when 'v' then 'view' when 'm' then 'materialized view' else 'table' end`;
}

/** Key of a relation, of its aliases and of that of its schema. */
export function relationKey(relation: string, schema: string): string {
  return `${relationKind(relation)} || ' ' || ${qualified(`${schema}.nspname`, `${relation}.relname`)}`;
}

export const WITHIN_SCHEMA = `array['schema ' || quote_ident(n.nspname)]`;

/** When a trigger or a rule fires. */
export function firing(column: string): string {
  return `case ${column} when 'O' then 'yes' when 'D' then 'no' when 'R' then 'on a replica' else 'always' end`;
}

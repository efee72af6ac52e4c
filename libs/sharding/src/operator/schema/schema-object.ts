/** Kinds of objects, in the order in which differences are told. */
export const OBJECT_KINDS = [
  'database',
  'extension',
  'schema',
  'collation',
  'enum',
  'domain',
  'composite type',
  'range type',
  'function',
  'procedure',
  'aggregate',
  'table',
  'column',
  'sequence',
  'view',
  'materialized view',
  'constraint',
  'index',
  'statistics',
  'trigger',
  'policy',
  'rule',
  'event trigger',
] as const;

export type ObjectKind = (typeof OBJECT_KINDS)[number];

/** A list is an order of parts that are objects themselves. */
export type Fact = string | boolean | null | readonly string[];

/** One object of a database, as its catalogs describe it. */
export interface SchemaObject {
  readonly kind: ObjectKind;
  /** Quoted as SQL wants it: `public.notes`, `public.notes.body`, `notes_check on public.notes`. Unique in its kind. */
  readonly name: string;
  /** Keys of the objects without which this one cannot be; where one of them is missing, this one is not missed. */
  readonly within: readonly string[];
  /** Key of the object that this one follows: the same of the parent, for a partition. */
  readonly inherits: string | null;
  readonly facts: Readonly<Record<string, Fact>>;
}

/** What `within` and `inherits` name an object by. */
export function keyOf({ kind, name }: Pick<SchemaObject, 'kind' | 'name'>): string {
  return `${kind} ${name}`;
}

/** What one shard has. */
export interface ShardSchema {
  readonly shard: string;
  readonly objects: readonly SchemaObject[];
}

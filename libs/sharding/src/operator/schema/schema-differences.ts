import { OBJECT_KINDS, keyOf, type Fact, type SchemaObject, type ShardSchema } from './schema-object.js';

/** A value of a property, and the shards where it is so. */
export interface Variant {
  readonly value: Fact;
  /** In the order of the shards. */
  readonly shards: readonly string[];
}

/** One property of one object that is not the same on all shards. */
export interface SchemaDifference {
  readonly kind: SchemaObject['kind'];
  readonly name: string;
  /** `exists` for the object itself. */
  readonly property: string;
  /** What more than half of the shards have; null where no value is that frequent. */
  readonly majority: Variant | null;
  /** Everything else, by the order of the shards. */
  readonly odd: readonly Variant[];
}

/** The property that says whether there is such an object. */
export const EXISTS = 'exists';
const DEFINITION = 'definition';

/** A property with all that it is on the shards where the object can be. */
interface Split {
  readonly property: string;
  readonly variants: readonly Variant[];
}

interface Indexed {
  readonly shard: string;
  readonly objects: ReadonlyMap<string, SchemaObject>;
}

/**
 * Compares the shards by what most of them have. An object is missed only where its table, schema ... is there, and
 * what a partition has from its parent is told of the parent alone.
 *
 * @returns sorted by kind and name
 */
export function schemaDifferences(schemas: readonly ShardSchema[]): SchemaDifference[] {
  const shards = schemas.map(({ shard, objects }) => ({
    shard,
    objects: new Map(objects.map((object) => [keyOf(object), object])),
  }));
  const known = new Map(schemas.flatMap(({ objects }) => objects.map((object) => [keyOf(object), object])));
  const splits = new Map([...known].map(([key, object]) => [key, splitsOf(object, shards)]));
  return [...known.values()].toSorted(byKindAndName).flatMap((object) => {
    const above = object.inherits === null ? [] : (splits.get(object.inherits) ?? []);
    return (splits.get(keyOf(object)) ?? [])
      .filter((split) => !above.some((parent) => follows(split, parent)))
      .map((split) => difference(object, split));
  });
}

/** The differences in which this shard is not one of the majority. */
export function differencesOf(shard: string, differences: readonly SchemaDifference[]): SchemaDifference[] {
  return differences.filter(({ odd }) => odd.some(({ shards }) => shards.includes(shard)));
}

function splitsOf(object: SchemaObject, shards: readonly Indexed[]): Split[] {
  const key = keyOf(object);
  const having = shards.filter(({ objects }) => objects.has(key));
  const possible = shards.filter(
    ({ objects }) => objects.has(key) || object.within.every((outer) => objects.has(outer)),
  );
  const exists = split(EXISTS, possible, ({ objects }) => objects.has(key));
  const properties = new Set(having.flatMap(({ objects }) => Object.keys(objects.get(key)?.facts ?? {})));
  return [
    exists,
    ...[...properties].map((property) => {
      const valueOf = ({ objects }: Indexed) => objects.get(key)?.facts[property] ?? null;
      return split(property, having, orderOfCommon(having.map(valueOf), valueOf));
    }),
  ].filter(({ variants }) => variants.length > 1);
}

function split(property: string, shards: readonly Indexed[], valueOf: (shard: Indexed) => Fact): Split {
  const variants = new Map<string, { value: Fact; shards: string[] }>();
  for (const shard of shards) {
    const value = valueOf(shard);
    const text = JSON.stringify(value);
    const known = variants.get(text);
    if (known) known.shards.push(shard.shard);
    else variants.set(text, { value, shards: [shard.shard] });
  }
  return { property, variants: [...variants.values()] };
}

/** Of lists only the parts that all of them have: that others are missing is told of these. */
function orderOfCommon(values: readonly Fact[], valueOf: (shard: Indexed) => Fact): (shard: Indexed) => Fact {
  const lists = values.filter(isList).map((list) => new Set(list));
  if (lists.length === 0) return valueOf;
  return (shard) => {
    const value = valueOf(shard);
    return isList(value) ? value.filter((part) => lists.every((list) => list.has(part))) : value;
  };
}

function isList(value: Fact): value is readonly string[] {
  return Array.isArray(value);
}

/** Whether the same shards are divided in the same way, by the same values; a definition names its own table. */
function follows({ property, variants }: Split, parent: Split): boolean {
  if (property !== parent.property) return false;
  const shards = new Set(variants.flatMap((variant) => variant.shards));
  const restricted = parent.variants
    .map(({ value, shards: names }) => ({ value, shards: names.filter((name) => shards.has(name)) }))
    .filter(({ shards: names }) => names.length > 0);
  return sides(restricted, property) === sides(variants, property);
}

function sides(variants: readonly Variant[], property: string): string {
  const parts = variants.map(({ value, shards }) =>
    JSON.stringify([shards, property !== DEFINITION && value]),
  );
  return JSON.stringify(parts.toSorted());
}

function difference({ kind, name }: SchemaObject, { property, variants }: Split): SchemaDifference {
  const count = variants.reduce((sum, { shards }) => sum + shards.length, 0);
  const majority = variants.find(({ shards }) => shards.length > count / 2) ?? null;
  return { kind, name, property, majority, odd: variants.filter((variant) => variant !== majority) };
}

function byKindAndName(some: SchemaObject, other: SchemaObject): number {
  const byKind = OBJECT_KINDS.indexOf(some.kind) - OBJECT_KINDS.indexOf(other.kind);
  return byKind || (some.name < other.name ? -1 : 1);
}

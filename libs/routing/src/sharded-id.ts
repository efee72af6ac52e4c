import { describeType } from './quote.js';
import { ShardingError } from './sharding-error.js';

declare const ENTITY: unique symbol;

/**
 * The id of an entity that says by itself where the row is: the text of a `ShardedUuid` or of a `SlotUuid`, in lower
 * case. It is a string, and the id of one entity does not compile where that of another is asked; entities of exactly
 * the same shape need a name instead, `ShardedId<'wallet'>`.
 *
 * A column of this type needs its database type, `@Column('uuid')`: decorators see no string in it.
 * The brand exists at compile time only. Text from outside becomes an id by `parse`, never by a cast.
 */
export type ShardedId<Entity = unknown> = string & { readonly [ENTITY]: (entity: Entity) => Entity };

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const VARIANTS = '89ab';

/** What the text of an id must be. */
export interface IdKind {
  readonly name: string;
  /** One hexadecimal digit. */
  readonly version: string;
}

/**
 * The text in lower case.
 *
 * @throws ShardingError `invalid_id` for what is no UUID of the kind's version; the text is not echoed
 */
export function readUuid(text: unknown, { name, version }: IdKind): string {
  if (typeof text !== 'string') throw invalidId(name, `is text, not ${describeType(text)}`);
  const id = text.length === 36 ? text.toLowerCase() : text;
  if (!UUID.test(id)) throw invalidId(name, 'is a UUID, 36 characters with hyphens; this text is none');
  if (id.charAt(14) !== version)
    throw invalidId(name, `is a UUID of version ${version}; this one is of another`);
  if (!VARIANTS.includes(id.charAt(19)))
    throw invalidId(name, 'is a UUID of the RFC 9562 variant; this one is of another');
  return id;
}

/** @returns the error; it names the kind of id and never the text */
export function invalidId(name: string, problem: string): ShardingError {
  return new ShardingError('invalid_id', `a ${name} ${problem}`);
}

/** The milliseconds since 1970 in the first 48 bits. */
export function timestampOf(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
}

/** The 14 bits after the variant. */
export function fourteenBits(id: string): number {
  return Number.parseInt(id.slice(19, 23), 16) & 0x3fff;
}

/** Which texts a key column has, by the catalog's name of its type. */
export interface KeyType {
  /** `varchar` */
  readonly name: string;
  /** With its modifier: `character varying(20)`. */
  readonly type: string;
}

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
const INTEGER = /^(0|-?[1-9]\d*)$/;
const BITS = new Map([
  ['int2', 16],
  ['int4', 32],
  ['int8', 64],
]);

/** Types whose equal values have the same text. */
export function isKeyType({ name }: KeyType): boolean {
  return name === 'text' || name === 'varchar' || name === 'uuid' || isIntegerType({ name });
}

export function isIntegerType({ name }: Pick<KeyType, 'name'>): boolean {
  return BITS.has(name);
}

/** Whether a value of the type has exactly this text. A longer text than a column holds would be cut, and be another key. */
export function isTextOf(key: string, { name, type }: KeyType): boolean {
  if (/[\0\p{Cs}]/u.test(key)) return false;
  if (name === 'uuid') return UUID.test(key);
  const bits = BITS.get(name);
  if (bits !== undefined) return INTEGER.test(key) && BigInt(key) === BigInt.asIntN(bits, BigInt(key));
  const limit = /\((\d+)\)$/.exec(type)?.[1];
  return limit === undefined || Array.from(key).length <= Number(limit);
}

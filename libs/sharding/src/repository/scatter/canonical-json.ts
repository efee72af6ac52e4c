import { createHash } from 'node:crypto';
import { FindOperator } from 'typeorm';

/**
 * A text that is the same for equal find options: keys sorted, operators by type and value, a `Raw` by its SQL. The order
 * of the keys of an `order` matters and is kept with `keys: 'as given'`.
 */
export function canonicalJson(value: unknown, keys: 'sorted' | 'as given' = 'sorted'): string {
  return JSON.stringify(tagged(value, keys)) ?? 'undefined';
}

function tagged(value: unknown, keys: 'sorted' | 'as given'): unknown {
  if (typeof value === 'bigint') return ['bigint', String(value)];
  if (typeof value === 'number' && !Number.isFinite(value)) return ['number', String(value)];
  if (Object.is(value, -0)) return ['number', '-0'];
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Date) return ['date', value.getTime()];
  if (value instanceof Uint8Array) return ['bytes', createHash('sha256').update(value).digest('hex')];
  if (Array.isArray(value)) return ['array', ...value.map((item) => tagged(item, keys))];
  if (value instanceof FindOperator)
    return ['operator', ...operatorParts(value).map((part) => tagged(part, keys))];
  if ('toJSON' in value && typeof value.toJSON === 'function') return ['json', value.toJSON() as unknown];
  const entries = Object.entries(value).map(([key, item]) => [key, tagged(item, keys)] as const);
  if (keys === 'sorted') entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return ['object', entries];
}

function operatorParts(operator: FindOperator<unknown>): unknown[] {
  const { type, child, getSql, objectLiteralParameters } = operator;
  return [type, child ?? operator.value, getSql?.('alias'), objectLiteralParameters];
}

import { FindOperator } from 'typeorm';
import { ShardingError } from '@app/routing';

/** Operators that have no value. */
const WITHOUT_VALUE = new Set(['isNull', 'raw']);

/**
 * Refuses `undefined` and `null` anywhere in a `where`: TypeORM may be configured to leave such a condition out, which
 * reads everybody's rows where one was meant.
 *
 * @throws ShardingError `invalid_options`
 */
export function assertWhere(where: unknown, path = 'where'): void {
  if (where === undefined || where === null) {
    throw new ShardingError(
      'invalid_options',
      `${path} is ${String(where)}: leave the property out, or use IsNull() to find NULL`,
    );
  }
  if (where instanceof FindOperator) assertOperator(where as FindOperator<unknown>, path);
  else if (Array.isArray(where)) where.forEach((item, index) => assertWhere(item, `${path}[${index}]`));
  else if (isPlain(where)) {
    for (const [key, value] of Object.entries(where)) assertWhere(value, `${path}.${key}`);
  }
}

function assertOperator(operator: FindOperator<unknown>, path: string): void {
  const { child, type } = operator;
  if (child) return assertOperator(child, path);
  if (!WITHOUT_VALUE.has(type)) assertWhere(operator.value, `${path} (${type})`);
}

function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

import { FindOperator } from 'typeorm';
import { unsupported } from '../catalog.js';
import { isTime } from '../values/key-type.js';
import { compareKeyValues, keyValue } from '../values/key-value.js';
import type { KeyType } from '../values/key-type.js';

/** SQL's three truth values; undefined is unknown. */
type Truth = boolean | undefined;

interface Tested {
  readonly name: string;
  readonly text: string | null;
  readonly type: KeyType;
}

/**
 * Whether a merged value satisfies a condition of `having`, compared exactly: a value, or TypeORM's `Equal`, `Not`,
 * `LessThan`, `LessThanOrEqual`, `MoreThan`, `MoreThanOrEqual`, `Between`, `In`, `IsNull`, `And`, `Or`.
 *
 * @throws ShardingError `cross_shard_unsupported` for other operators, and for times and bytes: use a function there
 */
export function satisfies(tested: Tested, condition: unknown): boolean {
  return truth(tested, condition) === true;
}

function truth(tested: Tested, condition: unknown): Truth {
  if (!(condition instanceof FindOperator)) return compared(tested, condition, (order) => order === 0);
  const operator = condition as FindOperator<unknown>;
  const { type, child, value } = operator;
  const values = Array.isArray(value) ? (value as unknown[]) : [value];
  switch (type as string) {
    case 'not':
      return negated(truth(tested, child ?? value));
    case 'equal':
      return truth(tested, child ?? value);
    case 'isNull':
      return tested.text === null;
    case 'lessThan':
      return compared(tested, value, (order) => order < 0);
    case 'lessThanOrEqual':
      return compared(tested, value, (order) => order <= 0);
    case 'moreThan':
      return compared(tested, value, (order) => order > 0);
    case 'moreThanOrEqual':
      return compared(tested, value, (order) => order >= 0);
    case 'between':
      return all([
        compared(tested, values[0], (order) => order >= 0),
        compared(tested, values[1], (order) => order <= 0),
      ]);
    case 'and':
      return all(values.map((item) => truth(tested, item)));
    case 'in':
    case 'or':
      return negated(all(values.map((item) => negated(truth(tested, item)))));
    default:
      throw unsupported(`having cannot be evaluated across shards with ${type}: give a function`);
  }
}

function compared({ name, text, type }: Tested, value: unknown, test: (order: number) => boolean): Truth {
  if (isTime(type.kind) || type.kind === 'bytea') {
    throw unsupported(`having compares no times and bytes (${name}): give a function`);
  }
  if (value === undefined || value === null)
    throw unsupported(`having of ${name} compares with ${String(value)}`);
  if (text === null) return undefined;
  const exact = type.kind === 'integer' ? { ...type, kind: 'numeric' as const } : type; // may be compared with 1.5
  return test(compareKeyValues(keyValue(text, exact), keyValue(String(value), exact), exact.kind));
}

function negated(value: Truth): Truth {
  return value === undefined ? undefined : !value;
}

function all(values: readonly Truth[]): Truth {
  if (values.includes(false)) return false;
  return values.includes(undefined) ? undefined : true;
}

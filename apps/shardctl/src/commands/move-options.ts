import { InvalidArgumentError, Option } from 'commander';
import { parseSlots, SLOT_COUNT } from '@app/routing';
import { wholeNumber } from '../arguments.js';
import { askedKeys } from '../asked-keys.js';
import { UsageError } from '../verb.js';
import type { CompareRequest } from '@app/sharding/operator';

/** Whose rows, and of which two shards. */
export interface RowsOptions {
  readonly from: string;
  readonly to: string;
  readonly tenant?: readonly string[];
  readonly slot?: readonly number[];
  readonly slots?: readonly number[];
  readonly table?: readonly string[];
  readonly keyColumn?: string;
  readonly int?: true;
}

/** Of every verb that looks at rows of two shards. */
export function rowsOptions(): Option[] {
  return [
    new Option('--from <shard>', 'where the rows are').makeOptionMandatory(),
    new Option('--to <shard>', 'the other shard, of the same group').makeOptionMandatory(),
    new Option('--tenant <key...>', 'the rows of these routing keys'),
    new Option('--slot <number...>', 'the rows of whole slots').argParser(slotNumbers),
    new Option('--slots <ranges...>', 'the same: 8192-8200, or 1-3,7').argParser(slotRanges),
    new Option('--table <name...>', 'these tables only (default: all with the key column)'),
    new Option('--key-column <name>', 'the column with the routing key (default: tenant_id)'),
    new Option('--int', 'the application routes by integers'),
  ];
}

/** @throws UsageError */
export function rowsOf(options: RowsOptions): CompareRequest {
  const { from, to, tenant = [], slot = [], slots = [], table, keyColumn, int } = options;
  const whole = [...slot, ...slots];
  if ((tenant.length === 0) === (whole.length === 0)) {
    throw new UsageError('say whose rows: either --tenant, or --slot and --slots');
  }
  return {
    from,
    to,
    ...(tenant.length > 0 && { keys: askedKeys(tenant, int ? 'integer' : 'text').map(({ text }) => text) }),
    ...(whole.length > 0 && { slots: whole }),
    ...(table !== undefined && { tables: table }),
    ...(keyColumn !== undefined && { keyColumn }),
    ...(int && { keyKind: 'integer' }),
  };
}

/** Of an option that may be repeated. */
type Collected<T> = (text: string, before: readonly T[] | undefined) => T[];

const oneSlot = wholeNumber(0, SLOT_COUNT - 1);
const slotNumbers: Collected<number> = (text, before = []) => [...before, oneSlot(text)];

const slotRanges: Collected<number> = (text, before = []) => {
  const { ranges, problems } = parseSlots(text.split(','));
  if (problems.length > 0) throw new InvalidArgumentError(`${problems.join('; ')}.`);
  return [
    ...before,
    ...ranges.flatMap(({ first, last }) => Array.from({ length: last - first + 1 }, (_, at) => first + at)),
  ];
};

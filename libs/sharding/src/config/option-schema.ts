import { closest, distance } from 'fastest-levenshtein';
import { ShardOptions } from '../shard.options.js';
import { MigrationsOptions } from '../migrations.options.js';
import { DatabaseOptions } from '../sharding.options.js';
import { TenancyOptions } from '../tenancy.options.js';
import { getMetadataStorage } from '../validators.js';

/** What a key holds; `code` is a function or object that only code can give. */
export type OptionType = 'string' | 'number' | 'boolean' | 'list' | 'code';

export type OptionClass = new () => object;

/** The sections of `sharding.toml`. */
export const SECTIONS: ReadonlyMap<string, OptionClass> = new Map<string, OptionClass>([
  ['database', DatabaseOptions],
  ['tenancy', TenancyOptions],
  ['migrations', MigrationsOptions],
]);

/** Entries of `[[database.shards]]`. */
export const SHARD_SECTION: OptionClass = ShardOptions;

/** The keys of an options class with their types, read from its class-validator decorators: one list, not two. */
export function optionTypes(section: OptionClass): ReadonlyMap<string, OptionType> {
  const validators = new Map<string, Set<string>>();
  for (const { propertyName, name, type } of getMetadataStorage().getTargetValidationMetadatas(
    section,
    '',
    false,
    false,
  )) {
    const names = validators.get(propertyName) ?? new Set();
    validators.set(propertyName, names.add(name ?? type));
  }
  return new Map([...validators].map(([key, names]) => [key, typeOf(names)]));
}

function typeOf(validators: ReadonlySet<string>): OptionType {
  if (validators.has('isInt')) return 'number';
  if (validators.has('isBoolean')) return 'boolean';
  if (validators.has('isArray')) return 'list';
  return ['isString', 'isIn', 'matches'].some((name) => validators.has(name)) ? 'string' : 'code';
}

/** `; did you mean "pool_size"?`, or nothing where no known key is near. */
export function didYouMean(key: string, known: readonly string[]): string {
  if (known.length === 0) return '';
  const nearest = closest(key, known);
  const far = distance(key, nearest);
  return far > 0 && far <= Math.max(2, key.length / 3) ? `; did you mean "${nearest}"?` : '';
}

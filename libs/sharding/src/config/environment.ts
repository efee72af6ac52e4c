import { snakeCase } from './key-style.js';
import { isRecord } from './option-problems.js';
import { didYouMean, optionTypes, SECTIONS, SHARD_SECTION } from './option-schema.js';
import type { OptionClass, OptionType } from './option-schema.js';

/** Names of the process environment. */
export type Environment = Readonly<Record<string, string | undefined>>;

const PREFIX = 'SHARDING_';
const SHARD = /^SHARDS__(\d+)__(.+)$/;

/**
 * Lays `SHARDING_<SECTION>__<KEY>` over the options, and `SHARDING_DATABASE__SHARDS__<INDEX>__<KEY>` over the shard at
 * that place. A new shard is appended when NAME and PRIMARY_URL are there for the next free index. Lists are
 * comma-separated; an empty list is an empty list (`SLOTS=` is a drained shard).
 *
 * @returns the options with the overlay, and what is wrong with the names
 */
export function environmentOverlay(options: Record<string, unknown>, environment: Environment) {
  const result: Record<string, unknown> = { ...options };
  const problems: string[] = [];
  const shardValues = new Map<number, Map<string, string>>();
  for (const [name, value] of Object.entries(environment).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (value === undefined || !name.startsWith(PREFIX)) continue;
    if (!name.includes('__')) {
      problems.push(...singleUnderscore(name));
      continue;
    }
    const [sectionName = '', ...rest] = name.slice(PREFIX.length).split('__');
    const key = rest.join('__');
    const section = SECTIONS.get(sectionName.toLowerCase());
    const shard = sectionName === 'DATABASE' ? SHARD.exec(key) : null;
    if (shard) {
      const index = Number(shard[1]);
      shardValues.set(index, (shardValues.get(index) ?? new Map()).set(shard[2] ?? '', value));
    } else if (section && sectionName === sectionName.toUpperCase()) {
      problems.push(...setKey(result, { section, sectionName, key, name, value }));
    } else {
      const known = [...SECTIONS.keys()].map((section) => section.toUpperCase());
      problems.push(`${name}: unknown section${didYouMean(sectionName, known)}`);
    }
  }
  problems.push(...layShardValues(result, shardValues));
  return { options: result, problems };
}

/** `SHARDING_DATABASE_POOL_SIZE`: nearly a key, and silently ignored it would be a trap. */
function singleUnderscore(name: string): string[] {
  for (const [section, options] of SECTIONS) {
    const prefix = `${PREFIX}${section.toUpperCase()}_`;
    if (!name.startsWith(prefix) || !settable(options).has(name.slice(prefix.length))) continue;
    return [`${name}: did you mean "${prefix}_${name.slice(prefix.length)}"?`];
  }
  return [];
}

interface Variable {
  readonly section: OptionClass;
  readonly sectionName: string;
  readonly key: string;
  readonly name: string;
  readonly value: string;
}

function setKey(options: Record<string, unknown>, variable: Variable): string[] {
  const { section, sectionName, key, name, value } = variable;
  const target = sectionName.toLowerCase();
  const found = settable(section).get(key);
  if (found === undefined) return [unknownKey(name, key, section)];
  const below = options[target] ?? {};
  if (isRecord(below)) options[target] = { ...below, [found.property]: coerced(value, found.type) };
  return []; // what is no table stays, and the check of the options names it
}

function layShardValues(
  options: Record<string, unknown>,
  values: ReadonlyMap<number, Map<string, string>>,
): string[] {
  if (values.size === 0) return [];
  const database = options['database'] ?? {};
  const declared = isRecord(database) ? (database['shards'] ?? []) : undefined;
  const shards: unknown[] = Array.isArray(declared) ? [...declared] : [];
  const known = settable(SHARD_SECTION);
  const problems: string[] = [];
  for (const [index, variables] of [...values].toSorted(([a], [b]) => a - b)) {
    const prefix = `${PREFIX}DATABASE__SHARDS__${index}__`;
    const entry: Record<string, unknown> = {};
    for (const [key, value] of variables) {
      const found = known.get(key);
      if (found === undefined) problems.push(unknownKey(`${prefix}${key}`, key, SHARD_SECTION));
      else entry[found.property] = coerced(value, found.type);
    }
    const below = shards[index];
    const complete = variables.has('NAME') && variables.has('PRIMARY_URL');
    if (isRecord(below)) shards[index] = { ...below, ...entry };
    else if (index === shards.length && complete) shards.push(entry);
    else
      problems.push(
        `${prefix}*: there is no shard ${index}; to add a shard set NAME and PRIMARY_URL for ${shards.length}`,
      );
  }
  if (isRecord(database) && Array.isArray(declared)) options['database'] = { ...database, shards };
  return problems;
}

interface Settable {
  readonly property: string;
  readonly type: OptionType;
}

/** The keys of a section that a variable can set, by the last part of its name. Shards are set one by one. */
function settable(section: OptionClass): ReadonlyMap<string, Settable> {
  return new Map(
    [...optionTypes(section)]
      .filter(
        ([property, type]) =>
          type !== 'code' && !(section === SECTIONS.get('database') && property === 'shards'),
      )
      .map(([property, type]) => [snakeCase(property).toUpperCase(), { property, type }]),
  );
}

function unknownKey(name: string, key: string, section: OptionClass): string {
  if (key.startsWith('SHARDS') && section === SECTIONS.get('database')) {
    return `${name}: shards are set one by one, as ${PREFIX}DATABASE__SHARDS__0__NAME and so on`;
  }
  return `${name}: unknown key${didYouMean(key, [...settable(section).keys()])}`;
}

/** A text that does not fit its type stays a text, and the check of the options names it. */
function coerced(value: string, type: OptionType): unknown {
  if (type === 'number' && /^-?\d+$/.test(value)) return Number(value);
  if (type === 'boolean' && /^(true|false)$/i.test(value)) return value.toLowerCase() === 'true';
  if (type === 'list') return value.trim() === '' ? [] : value.split(',').map((token) => token.trim());
  return value;
}

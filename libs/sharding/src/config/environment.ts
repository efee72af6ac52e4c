import { camelCase } from './key-style.js';
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
  for (const [name, value] of Object.entries(environment).toSorted(([a], [b]) => a.localeCompare(b))) {
    if (value === undefined || !name.startsWith(PREFIX) || !name.includes('__')) continue;
    const [sectionName = '', ...rest] = name.slice(PREFIX.length).split('__');
    const key = rest.join('__');
    const section = SECTIONS[sectionName.toLowerCase()];
    const shard = sectionName === 'DATABASE' ? SHARD.exec(key) : null;
    if (shard) {
      const index = Number(shard[1]);
      shardValues.set(index, (shardValues.get(index) ?? new Map()).set(shard[2] ?? '', value));
    } else if (section) {
      problems.push(...setKey(result, { section, sectionName, key, name, value }));
    } else {
      problems.push(
        `${name}: unknown section${didYouMean(
          sectionName,
          Object.keys(SECTIONS).map((known) => known.toUpperCase()),
        )}`,
      );
    }
  }
  problems.push(...layShardValues(result, shardValues));
  return { options: result, problems };
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
  const known = settable(section);
  const property = camelCase(key.toLowerCase());
  const type = known.get(property);
  if (type === undefined || property === 'shards') return [unknown(name, key, known)];
  const below = options[target];
  options[target] = { ...(isRecord(below) ? below : {}), [property]: coerced(value, type) };
  return [];
}

function layShardValues(
  options: Record<string, unknown>,
  values: ReadonlyMap<number, Map<string, string>>,
): string[] {
  if (values.size === 0) return [];
  const database = isRecord(options['database']) ? options['database'] : {};
  const shards: unknown[] = Array.isArray(database['shards']) ? [...database['shards']] : [];
  const known = settable(SHARD_SECTION);
  const problems: string[] = [];
  for (const [index, variables] of [...values].toSorted(([a], [b]) => a - b)) {
    const prefix = `${PREFIX}DATABASE__SHARDS__${index}__`;
    const entry: Record<string, unknown> = {};
    for (const [key, value] of variables) {
      const property = camelCase(key.toLowerCase());
      const type = known.get(property);
      if (type === undefined) problems.push(unknown(`${prefix}${key}`, key, known));
      else entry[property] = coerced(value, type);
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
  options['database'] = { ...database, shards };
  return problems;
}

function settable(section: OptionClass): ReadonlyMap<string, OptionType> {
  return new Map([...optionTypes(section)].filter(([, type]) => type !== 'code'));
}

function unknown(name: string, key: string, known: ReadonlyMap<string, OptionType>): string {
  const keys = [...known.keys()].map((property) =>
    property.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase(),
  );
  return `${name}: unknown key${didYouMean(key, keys)}`;
}

/** A text that does not fit its type stays a text, and the check of the options names it. */
function coerced(value: string, type: OptionType): unknown {
  if (type === 'number' && /^-?\d+$/.test(value)) return Number(value);
  if (type === 'boolean' && /^(true|false)$/i.test(value)) return value.toLowerCase() === 'true';
  if (type === 'list') return value.trim() === '' ? [] : value.split(',').map((token) => token.trim());
  return value;
}

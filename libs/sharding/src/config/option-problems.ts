import { Validator } from '../validators.js';
import { keyAs } from './key-style.js';
import { didYouMean, optionTypes, SECTIONS, SHARD_SECTION } from './option-schema.js';
import type { KeyStyle } from './key-style.js';
import type { OptionClass, OptionType } from './option-schema.js';

const CODE_KEYS = [
  'entities',
  'controlEntities',
  'subscribers',
  'typeorm',
  'createDataSource',
  'crossShardAccess',
  'router',
  'groupOf',
  'profile',
];

/** Everything wrong with the shape of the options: unknown keys, wrong types, values out of range. Never a value. */
export function shapeProblems(options: object, style: KeyStyle): string[] {
  const known = [...SECTIONS.keys(), ...CODE_KEYS];
  return Object.entries(options).flatMap(([key, value]) => {
    const section = SECTIONS.get(key);
    if (value === undefined) return [];
    if (section) return sectionProblems(schemaOf(section), { value, path: keyAs(style, key), style });
    return known.includes(key) ? [] : [unknownKey('', key, { known, style })];
  });
}

interface Place {
  readonly value: unknown;
  readonly path: string;
  readonly style: KeyStyle;
}

interface Schema {
  readonly section: OptionClass;
  readonly types: ReadonlyMap<string, OptionType>;
}

function schemaOf(section: OptionClass): Schema {
  return { section, types: optionTypes(section) };
}

function sectionProblems({ section, types }: Schema, { value, path, style }: Place): string[] {
  if (!isRecord(value)) return [`${path}: must be a table of keys`];
  const fromCode = (key: string) => style === 'code' || typeof value[key] === 'function';
  const known = [...types].filter(([key, type]) => type !== 'code' || fromCode(key)).map(([key]) => key);
  const unknown = Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => unknownKey(`${path}.`, key, { known, style }));
  const broken = brokenRules(section, Object.fromEntries(known.map((key) => [key, value[key]])));
  const wrong = [...broken].map(([key, rules]) => `${path}.${keyAs(style, key)}: ${rules}`);
  const hasShards = section === SECTIONS.get('database');
  return [...unknown, ...wrong, ...(hasShards ? shardProblems(value, path, style) : [])];
}

/** What `class-validator` finds, by key. It takes `null` for absent; here it is a mistake. */
function brokenRules(section: OptionClass, values: Record<string, unknown>): Map<string, string> {
  const errors = new Validator().validateSync(Object.assign(new section(), values), {
    forbidUnknownValues: false,
  });
  const broken = new Map(
    errors.map(({ property, constraints }) => {
      const rules = Object.values(constraints ?? {}).map((rule) =>
        rule.replace(new RegExp(`^(each value) in ${property} |^${property} `), (_all, each?: string) =>
          each === undefined ? '' : `${each} `,
        ),
      );
      return [property, values[property] === undefined ? 'is required' : rules.toSorted().join(', ')];
    }),
  );
  for (const [key, value] of Object.entries(values)) {
    if (value === null && !broken.has(key)) broken.set(key, 'must not be null; leave it out');
  }
  return broken;
}

function shardProblems(section: Record<string, unknown>, path: string, style: KeyStyle): string[] {
  if (!Array.isArray(section['shards'])) return [];
  const schema = schemaOf(SHARD_SECTION);
  return section['shards'].flatMap((value: unknown, index) =>
    sectionProblems(schema, { value, path: `${path}.shards[${index}]`, style }),
  );
}

function unknownKey(prefix: string, key: string, on: { known: readonly string[]; style: KeyStyle }): string {
  const known = on.known.map((name) => keyAs(on.style, name));
  const written = keyAs(on.style, key);
  return `${prefix}${written}: unknown key${didYouMean(written, known)}`;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

import { validateSync } from 'class-validator';
import { keyAs } from './key-style.js';
import { didYouMean, optionTypes, SECTIONS, SHARD_SECTION } from './option-schema.js';
import type { KeyStyle } from './key-style.js';
import type { OptionClass } from './option-schema.js';

const CODE_KEYS = [
  'entities',
  'controlEntities',
  'subscribers',
  'typeorm',
  'createDataSource',
  'router',
  'migrations',
];

/** Everything wrong with the shape of the options: unknown keys, wrong types, values out of range. Never a value. */
export function shapeProblems(options: object, style: KeyStyle): string[] {
  const known = [...Object.keys(SECTIONS), ...CODE_KEYS];
  return Object.entries(options).flatMap(([key, value]) => {
    const section = SECTIONS[key];
    if (value === undefined) return [];
    if (section) return sectionProblems(section, { value, path: keyAs(style, key), style });
    return known.includes(key) ? [] : [unknownKey('', key, { known, style })];
  });
}

interface Place {
  readonly value: unknown;
  readonly path: string;
  readonly style: KeyStyle;
}

function sectionProblems(section: OptionClass, { value, path, style }: Place): string[] {
  if (!isRecord(value)) return [`${path}: must be a table of keys`];
  const types = optionTypes(section);
  const fromCode = (key: string) => style === 'code' || typeof value[key] === 'function';
  const known = [...types].filter(([key, type]) => type !== 'code' || fromCode(key)).map(([key]) => key);
  const unknown = Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => unknownKey(`${path}.`, key, { known, style }));
  const wrong = validateSync(Object.assign(new section(), value), { forbidUnknownValues: false }).map(
    ({ property, constraints }) => {
      const rules = Object.values(constraints ?? {}).map((rule) =>
        rule.replace(new RegExp(`^(each value in )?${property} `), '$1'),
      );
      return `${path}.${keyAs(style, property)}: ${rules.toSorted().join(', ')}`;
    },
  );
  return [...unknown, ...wrong, ...shardProblems(value, path, style)];
}

function shardProblems(section: Record<string, unknown>, path: string, style: KeyStyle): string[] {
  if (!Array.isArray(section['shards'])) return [];
  return section['shards'].flatMap((value: unknown, index) =>
    sectionProblems(SHARD_SECTION, { value, path: `${path}.shards[${index}]`, style }),
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

import { printable } from './printable.js';
import { PLAIN, type Style } from './style.js';
import type { Fact, SchemaDifference, Variant } from '@app/sharding/operator';
import type { SchemaComparison } from '../compare-schemas.js';

/** A line for each difference, the odd ones first; shards that could not be read are named below. */
export function comparisonText(
  { compared, failed, differences }: SchemaComparison,
  style: Style = PLAIN,
): string {
  const shards = counted(compared.length, 'shard');
  const found = differences.length === 0 ? 'no differences' : counted(differences.length, 'difference');
  const title = compared.length > 1 ? `${shards} compared, ${found}` : `${shards} read, nothing to compare`;
  return [
    style.heading(title),
    ...differences.map(differenceLine),
    ...failed.map(({ shard, error }) =>
      style.bad(printable(`${shard}: FAILED, ${error.message} (${error.code})`)),
    ),
  ].join('\n');
}

/** `column public.notes.body: type text on shard1, else character varying(10)`. */
export function differenceLine({ kind, name, property, odd, majority }: SchemaDifference): string {
  const what = property === 'exists' ? presence(odd, majority) : values({ property, odd, majority });
  return printable(`${kind} ${name}: ${what}`);
}

type Sides = Pick<SchemaDifference, 'odd' | 'majority'>;

function presence(odd: Sides['odd'], majority: Sides['majority']): string {
  if (majority?.value === false) return odd.map(({ shards }) => `only on ${shards.join(', ')}`).join('');
  return odd
    .map(({ value, shards }) => `${value === true ? 'on' : 'missing on'} ${shards.join(', ')}`)
    .join('; ');
}

function values({ property, odd, majority }: Sides & Pick<SchemaDifference, 'property'>): string {
  const all: Variant[] = [...odd, ...(majority ? [majority] : [])];
  const { where, words } = excerpts(all.map(({ value }) => wordsOf(value)));
  const parts = odd.map(({ shards }, index) => `${words[index]} on ${shards.join(', ')}`);
  return `${property}${where} = ${parts.join('; ')}${majority ? `, else ${words.at(-1)}` : ''}`;
}

function wordsOf(value: Fact): string {
  if (typeof value === 'string') return value.trimEnd();
  if (value === null) return 'none';
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : value.join(', ');
}

const WIDEST = 80;
/** Characters shown before the first one that differs. */
const LEAD = 20;

interface Excerpts {
  /** ` line 3`, or nothing. */
  readonly where: string;
  readonly words: readonly string[];
}

/** Texts that fit into a line, or of each what follows where the first two differ. */
function excerpts(texts: readonly string[]): Excerpts {
  if (texts.every((text) => text.length <= WIDEST && !text.includes('\n')))
    return { where: '', words: texts };
  const lines = texts.map((text) => text.split('\n'));
  const at = firstDifference(lines);
  const column = firstDifference(lines.map((one) => Array.from(one[at] ?? '')));
  return {
    where: lines.some(({ length }) => length > 1) ? ` line ${at + 1}` : '',
    words: lines.map((one) => excerpt(one[at], column)),
  };
}

function excerpt(line: string | undefined, column: number): string {
  if (line === undefined) return '(is not there)';
  const begins = column > WIDEST - LEAD ? column - LEAD : 0;
  const chars = Array.from(line);
  const shown = chars.slice(begins, begins + WIDEST).join('');
  return JSON.stringify(
    `${begins > 0 ? '...' : ''}${shown.trim()}${chars.length > begins + WIDEST ? '...' : ''}`,
  );
}

/** Where sequences that are not all the same begin to differ. */
function firstDifference(sequences: readonly (readonly string[])[]): number {
  const longest = Math.max(...sequences.map(({ length }) => length));
  for (let at = 0; at < longest; at++) {
    if (sequences.some((sequence) => sequence[at] !== sequences[0]?.[at])) return at;
  }
  return 0;
}

function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}

import { check } from '../check.js';
import { differing } from '../differing.js';
import type { Verdict } from '../finding.js';
import type { ServerFacts } from '../server-facts.js';

type TextFacts = Pick<
  ServerFacts,
  'encoding' | 'collate' | 'ctype' | 'provider' | 'locale' | 'collations' | 'outdated'
>;

export interface Texts extends TextFacts {
  readonly target: string;
  /** The control database holds no rows that are merged with those of shards. */
  readonly isShard: boolean;
}

/** Text is the same text everywhere, and in the same order. */
export const text = check({
  name: 'text',
  scope: 'target',
  judge: (_found, { servers }) =>
    textVerdicts(
      servers
        .filter(({ way }) => way.name === 'url')
        .map(({ way: { place }, server }) => ({
          target: place.label,
          isShard: place.shard !== undefined,
          ...server,
        })),
    ),
});

export function textVerdicts(facts: readonly Texts[]): Verdict[] {
  return [
    ...differences(facts, 'encoding', ({ encoding }) => encoding),
    ...facts.filter(({ encoding }) => encoding === 'SQL_ASCII').map(unchecked),
    ...differences(
      facts.filter(({ isShard }) => isShard),
      'collation',
      orderOf,
    ),
    ...versionDifferences(facts),
    ...facts.filter(({ outdated }) => outdated.length > 0).map(outdatedVerdict),
  ];
}

/** Collation, character types and provider in one. */
function orderOf({ collate, ctype, provider, locale }: Texts): string {
  const name = locale ?? (collate === ctype ? collate : `${collate} with ctype ${ctype}`);
  return `${name} (${provider})`;
}

const CONSEQUENCES = {
  encoding: 'a text that one of them takes is refused by another',
  collation: 'rows of several shards are in two orders, and upper and lower case can differ',
};

function differences(
  facts: readonly Texts[],
  what: keyof typeof CONSEQUENCES,
  of: (facts: Texts) => string,
): Verdict[] {
  return differing(facts.map((by) => ({ value: of(by), by }))).map(({ odd: { by, value }, usual }) => ({
    severity: what === 'encoding' ? 'error' : 'warning',
    target: by.target,
    reason: `has the ${what} ${value}, where most have ${usual}: ${CONSEQUENCES[what]}`,
    remedy: `create a database with that ${what} (create database ... template template0) and move the rows into it`,
  }));
}

function unchecked({ target }: Texts): Verdict {
  return {
    severity: 'warning',
    target,
    reason: 'has the encoding SQL_ASCII: the server takes any bytes for text',
    remedy: 'use a database with the encoding UTF8',
  };
}

/** The same collation of two versions of ICU or of the C library has two orders. */
function versionDifferences(facts: readonly Texts[]): Verdict[] {
  const names = [...new Set(facts.flatMap(({ collations }) => Object.keys(collations)))];
  return names.flatMap((name) => {
    const having = facts.filter(({ collations }) => name in collations);
    const versions = having.map((by) => ({ value: by.collations[name] ?? '', by }));
    return differing(versions).map(({ odd: { by, value }, usual }): Verdict => ({
      severity: 'warning',
      target: by.target,
      reason: `sorts by version ${value} of the collation ${shown(name)}, where most have ${usual}: the order of rows differs, and an index that a replica copies is wrong there`,
      remedy: 'bring the operating systems (ICU, the C library) to the same version, then reindex',
    }));
  });
}

function outdatedVerdict({ target, outdated }: Texts): Verdict {
  return {
    severity: 'warning',
    target,
    reason: `was built under other versions of its collations than the server has now (${outdated.map(shown).join(', ')}): indexes over text can miss rows`,
    remedy:
      'reindex what uses them, then: alter database ... refresh collation version (alter collation ... refresh version)',
  };
}

function shown(collation: string): string {
  return collation === '(database)' ? 'of the database' : JSON.stringify(collation);
}

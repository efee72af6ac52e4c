import type { Placed } from '../facts/relations.js';
import type { SideFacts } from '../facts/side-facts.js';
import type { Check, Finding } from '../finding.js';
import { about, commonPaths, ofPartition, comparable, type Facts } from './facts.js';

interface Definition extends Placed {
  readonly definition: string;
}

interface Comparison {
  readonly check: Check;
  readonly of: (side: SideFacts) => readonly Definition[];
}

/** Checks of rows are the same, whatever their names. */
export const sameChecks = (facts: Facts): Finding[] =>
  compared(facts, {
    check: 'constraint',
    of: ({ constraints }) => constraints.filter(({ kind }) => kind === 'check' || kind === 'exclusion'),
  });

/** Primary and unique keys, and unique indexes. */
export const sameUniqueKeys = (facts: Facts): Finding[] =>
  compared(facts, {
    check: 'unique-key',
    of: ({ constraints, indexes }) => [
      ...constraints.filter(({ kind }) => kind === 'unique'),
      ...indexes
        .filter(({ unique, constraint }) => unique && !constraint)
        .map((index) => ({ ...index, definition: `unique index ${index.definition}` })),
    ],
  });

export const sameForeignKeys = (facts: Facts): Finding[] =>
  compared(facts, {
    check: 'foreign-key',
    of: ({ constraints }) => constraints.filter(({ kind }) => kind === 'foreign key'),
  });

function compared(facts: Facts, { check, of }: Comparison): Finding[] {
  const { names } = facts;
  return comparable(facts).flatMap(({ place, table }) =>
    commonPaths(facts, place).flatMap((path) => {
      const at = (side: SideFacts) =>
        of(side)
          .filter((one) => one.place === place && one.path === path)
          .map(({ definition }) => definition);
      const [here, there] = [at(facts.source), at(facts.destination)];
      const lacks = (shard: string, definitions: readonly string[]) =>
        definitions.map((definition) =>
          about(check, table).error(
            `${shard} lacks ${definition}${ofPartition(path)}: bring both shards to the same migrations`,
          ),
        );
      return [
        ...lacks(
          names.destination,
          here.filter((one) => !there.includes(one)),
        ),
        ...lacks(
          names.source,
          there.filter((one) => !here.includes(one)),
        ),
      ];
    }),
  );
}

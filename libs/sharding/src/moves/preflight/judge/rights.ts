import type { Finding } from '../finding.js';
import { about, atRoot, listed, SIDES, type Facts, type Side } from './facts.js';

const NEEDED: Readonly<Record<Side, readonly string[]>> = {
  source: ['usage', 'select', 'delete'],
  destination: ['usage', 'select', 'insert', 'delete'],
};

/** Tombstones are triggers, which the owner makes and removes. */
export function privileges(facts: Facts): Finding[] {
  const { tables, names, destination } = facts;
  return tables.flatMap((table, place) => {
    const { error } = about('privilege', table);
    const lacking = SIDES.flatMap((side) =>
      atRoot(facts[side].relations, place).flatMap((relation) => {
        const rights = NEEDED[side].filter((right) => relation.lacking.includes(right));
        if (rights.length > 0) return [`the role lacks ${rights.join(', ')} on ${names[side]}: grant it`];
        if (side === 'destination' || relation.owned) return [];
        return [
          `the role is not the owner on ${names.source} and cannot fence it: log in as the owner, or as a member`,
        ];
      }),
    );
    const foreign = destination.sequences
      .filter((one) => one.place === place && !one.owned)
      .map(({ name }) => name);
    if (foreign.length > 0) {
      lacking.push(
        `the role is not the owner of ${listed(foreign)} on ${names.destination} and cannot raise it: log in as the owner, or as a member`,
      );
    }
    return lacking.map(error);
  });
}

export function rowSecurity(facts: Facts): Finding[] {
  return facts.tables.flatMap((table, place) =>
    SIDES.flatMap((side) =>
      atRoot(facts[side].relations, place)
        .filter(({ hidden }) => hidden)
        .map(() =>
          about('row-security', table).error(
            `row security hides rows from the role on ${facts.names[side]}: move as a role with bypassrls, or as the owner without force row level security`,
          ),
        ),
    ),
  );
}

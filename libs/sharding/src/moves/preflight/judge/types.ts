import type { TypeFacts } from '../facts/read-types.js';
import type { Finding } from '../finding.js';
import { listed, type Facts } from './facts.js';

/** A type of one name is the same on both sides: labels and attributes in their order, domains with their checks. */
export function sameTypes({ names, source, destination }: Facts): Finding[] {
  return source.types.flatMap((type) => {
    const other = destination.types.find(({ name }) => name === type.name);
    if (!other) return []; // then no column there is of the type
    return differences(type, other, names).map((message): Finding => ({
      check: 'type',
      severity: 'error',
      message: `the ${type.kind} ${type.name} ${message}`,
    }));
  });
}

const PARTS: Readonly<Record<TypeFacts['kind'], string>> = {
  enum: 'labels',
  domain: 'parts',
  'composite type': 'attributes',
  range: 'subtype',
};

function differences(here: TypeFacts, there: TypeFacts, names: Facts['names']): string[] {
  if (here.kind !== there.kind) return [`is a ${there.kind} on ${names.destination}: make both the same`];
  const missing = here.parts.filter((part) => !there.parts.includes(part));
  const extra = there.parts.filter((part) => !here.parts.includes(part));
  const lacking = ([shard, parts]: readonly [string, string[]]) =>
    parts.length === 0 ? [] : [`lacks ${listed(parts)} on ${shard}: make both the same`];
  const lacks = [[names.destination, missing] as const, [names.source, extra] as const].flatMap(lacking);
  if (lacks.length > 0 || here.parts.every((part, index) => there.parts[index] === part)) return lacks;
  return [
    `has its ${PARTS[here.kind]} in another order on ${names.destination}, so that its values compare differently: make both the same`,
  ];
}

import type { Finding } from '../finding.js';
import { sameColumns } from './columns.js';
import { sameChecks, sameForeignKeys, sameUniqueKeys } from './definitions.js';
import { exclusions } from './exclusions.js';
import { rules, triggers } from './hooks.js';
import { embeddedIds, identities, keyColumns, keyIndexes, largeObjects } from './keys.js';
import { references } from './references.js';
import { privileges, rowSecurity } from './rights.js';
import { framework, sameDatabase, servers } from './servers.js';
import { inheritance, partitions, persistence, presentTables, sameKinds } from './table-kinds.js';
import { sameTypes } from './types.js';
import type { Facts } from './facts.js';

const JUDGES: readonly ((facts: Facts) => Finding[])[] = [
  sameDatabase,
  servers,
  framework,
  presentTables,
  sameKinds,
  persistence,
  inheritance,
  partitions,
  sameColumns,
  sameTypes,
  sameChecks,
  sameUniqueKeys,
  sameForeignKeys,
  identities,
  keyColumns,
  keyIndexes,
  embeddedIds,
  largeObjects,
  privileges,
  rowSecurity,
  rules,
  triggers,
  references,
  exclusions,
];

/** All that the catalogs of both sides tell. */
export function judge(facts: Facts): Finding[] {
  return JUDGES.flatMap((look) => look(facts));
}

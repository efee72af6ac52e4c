import type { ColumnFacts } from '../facts/read-columns.js';
import type { Finding } from '../finding.js';
import { isKeyScoped } from '../../tables/key-scoped-tables.js';
import { tableName, type MovedTable } from '../../tables/moved-table.js';
import { about, atRoot, listed, type Facts } from './facts.js';
import { isIntegerType, isKeyType, isTextOf } from './key-texts.js';

/** The column with the key says without doubt whose a row is. */
export function keyColumns(facts: Facts): Finding[] {
  return facts.tables.flatMap((table, place) => {
    const column = atRoot(facts.source.columns, place).find(({ name }) => name === table.key.name);
    if (!column) return [];
    const kind = isKeyScoped(table) ? 'text' : facts.rows.keyKind;
    return keyProblems(column, { ...facts.rows, keyKind: kind }).map(about('key', table).error);
  });
}

function keyProblems(column: ColumnFacts, { scope, keyKind }: Facts['rows']): string[] {
  const key = { name: column.baseName, type: column.base };
  const title = `the key column "${column.name}" is ${column.type}`;
  if (!isKeyType(key)) {
    return [
      `${title}, of which equal values can have different texts: make it text, varchar, uuid or an integer`,
    ];
  }
  if (!column.deterministic) {
    return [
      `${title} with the collation ${column.collation}, for which different texts are equal: use another collation`,
    ];
  }
  if (keyKind === 'integer' && !isIntegerType(key)) {
    return [`${title}, and the keys are said to be integers: leave the kind of the keys at text`];
  }
  if (!('keys' in scope)) return [];
  const strange = scope.keys.filter((text) => !isTextOf(text, key));
  if (strange.length === 0) return [];
  const texts = listed(
    strange.map((text) => JSON.stringify(text)),
    5,
  );
  return [`${title}, and no value of it has the text ${texts}: give keys as the column shows them`];
}

/** From here on reading whole tables takes long. */
const LARGE_TABLE = 100_000;

export function keyIndexes(facts: Facts): Finding[] {
  const { tables, names, source, rows } = facts;
  return tables.flatMap((table, place) => {
    const size = source.relations
      .filter((one) => one.place === place)
      .reduce((sum, one) => sum + one.rows, 0);
    if (size < LARGE_TABLE) return [];
    const whole = atRoot(source.indexes, place).filter(({ valid, partial }) => valid && !partial);
    const bySlot = !('keys' in rows.scope);
    if (bySlot && isKeyScoped(table)) return []; // rows that go by themselves; an index would cost every one of them
    const serves = whole.some(({ columns: [first], leading }) =>
      bySlot ? leading.includes('_sharding_slot(') : first === table.key.name,
    );
    if (serves) return [];
    const wanted = bySlot ? `_sharding_slot(${argument(table, rows.keyKind)})` : `"${table.key.name}"`;
    return [
      about('index', table).warning(
        `has about ${size.toLocaleString('en')} rows on ${names.source}, which are all read at each step; an index helps: create index concurrently on ${tableName(table)} (${wanted})`,
      ),
    ];
  });
}

/** As the filter of the move has it. */
function argument({ key }: MovedTable, keyKind: Facts['rows']['keyKind']): string {
  const name = `"${key.name}"`;
  if (keyKind === 'integer') return key.type === 'bigint' ? name : `(${name}::bigint)`;
  return key.type === 'text' ? name : `(${name}::text)`;
}

export function identities({ tables, names, idColumn }: Facts): Finding[] {
  const missing =
    idColumn === undefined
      ? `has neither a primary key nor a unique key without nulls on ${names.source}, by which its rows can be told apart: add one`
      : `has no column ${JSON.stringify(idColumn)} on ${names.source} that is not null and unique by itself, by which its rows can be told apart: add a unique key, or name another column (--id-column)`;
  return tables.filter(({ id }) => id.length === 0).map((table) => about('identity', table).error(missing));
}

export function embeddedIds({ tables, embeddedIds: embedding }: Facts): Finding[] {
  return tables.flatMap((table) =>
    table.columns
      .filter(({ name }) =>
        [`${tableName(table)}.${name}`, `${table.name}.${name}`].some((title) => embedding.includes(title)),
      )
      .map(({ name }) =>
        about('embedded-id', table).error(
          `the ids in "${name}" name the shard that made them and would lead to it for ever: such rows do not move`,
        ),
      ),
  );
}

const LARGE_OBJECTS: readonly string[] = ['oid', '_oid', 'lo', '_lo'];

export function largeObjects({ tables, source }: Facts): Finding[] {
  return tables.flatMap((table, place) =>
    atRoot(source.columns, place)
      .filter(({ baseName }) => LARGE_OBJECTS.includes(baseName))
      .map(({ name, type }) =>
        about('large-object', table).error(
          `"${name}" is ${type}: large objects do not move, and neither do numbers of objects; keep the content in bytea`,
        ),
      ),
  );
}

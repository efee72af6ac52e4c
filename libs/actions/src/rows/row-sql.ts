import type { DeleteOperation, InsertOperation, TableName, UpdateOperation } from './row-operation.js';

/** A statement and its parameters. */
export interface Statement {
  readonly sql: string;
  readonly parameters: unknown[];
}

/** Rows of one table with the same columns, at once. `$1` is an array of them. Perhaps with the whole rows as `image`. */
export function insertSql(
  operations: readonly [InsertOperation, ...InsertOperation[]],
  want: 'values' | 'image',
): Statement {
  const [{ table, values, returning }] = operations;
  const target = quotedTable(table);
  const columns = Object.keys(values).map(quoted).join(', ');
  const wanted = [
    ...returning.map(quoted),
    ...(want === 'image' ? ['to_json(own)::text as _sharding_image'] : []),
  ];
  const back = wanted.length > 0 ? ` returning ${wanted.join(', ')}` : '';
  if (columns === '') return { sql: `insert into ${target} as own default values${back}`, parameters: [] };
  return {
    sql: `insert into ${target} as own (${columns}) select ${columns} from json_populate_recordset(null::${target}, $1)${back}`,
    parameters: [JSON.stringify(operations.map((operation) => operation.values))],
  };
}

/** Only the row as it was loaded. `$1` is what is set, `$2` the condition. */
export function updateSql({ table, values, where, version, now }: UpdateOperation): Statement {
  const target = quotedTable(table);
  const set = [
    ...Object.keys(values).map((column) => `${quoted(column)} = given.${quoted(column)}`),
    ...(version === undefined ? [] : [`${quoted(version)} = own.${quoted(version)} + 1`]),
    ...now.map((column) => `${quoted(column)} = now()`),
  ];
  const back = now.length > 0 ? ` returning ${now.map((column) => `own.${quoted(column)}`).join(', ')}` : '';
  return {
    sql: `update ${target} own set ${set.join(', ')} from ${record(target, 1)} given, ${record(target, 2)} meant
      where ${same('own', 'meant', Object.keys(where))}${back}`,
    parameters: [JSON.stringify(values), JSON.stringify(where)],
  };
}

/** Only the row as it was loaded. `$1` is the condition. */
export function deleteSql({ table, where }: DeleteOperation): Statement {
  const target = quotedTable(table);
  return {
    sql: `delete from ${target} own using ${record(target, 1)} meant
      where ${same('own', 'meant', Object.keys(where))}`,
    parameters: [JSON.stringify(where)],
  };
}

export function same(left: string, right: string, columns: readonly string[]): string {
  return columns.map((column) => `${left}.${quoted(column)} = ${right}.${quoted(column)}`).join(' and ');
}

export function quotedTable({ schema, name }: TableName): string {
  return schema === undefined ? quoted(name) : `${quoted(schema)}.${quoted(name)}`;
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function record(target: string, parameter: number): string {
  return `json_populate_record(null::${target}, $${parameter})`;
}

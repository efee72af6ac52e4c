import { printable } from './printable.js';
import { PLAIN, type Style } from './style.js';
import { table } from './table.js';
import type { Rows, Value } from '../one-statement.js';
import type { ShardAnswer } from '../query-shards.js';

type Failed = Extract<ShardAnswer, { ok: false }>;

/** Every shard under its own heading. */
export function answersText(answers: readonly ShardAnswer[], style: Style = PLAIN): string {
  return answers
    .map((answer) => {
      if (!answer.ok) return failedLine(answer, style);
      const { rows } = answer;
      const title = style.heading(`${answer.shard}: ${counted(rows)}`);
      return rows.columns.length === 0 ? title : `${title}\n${table(rows.columns, cells(rows.rows), style)}`;
    })
    .join('\n\n');
}

/** One table of all shards; those that have failed are named below. */
export function mergedText({ columns, rows, failed }: Merged, style: Style = PLAIN): string {
  const text = columns.length === 1 && rows.length === 0 ? 'no rows' : table(columns, cells(rows), style);
  return [text, ...failed.map((one) => failedLine(one, style))].join('\n');
}

/** Rows of all shards, with the shard in the first column. */
export interface Merged {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Value[])[];
  readonly failed: readonly Failed[];
}

/** A shard whose columns are not those of the first is a failure: its rows would stand under foreign headings. */
export function merge(answers: readonly ShardAnswer[]): Merged {
  const first = answers.find((answer) => answer.ok);
  const columns = first?.rows.columns ?? [];
  const checked = answers.map((answer) =>
    answer.ok && !sameNames(answer.rows.columns, columns) ? differs(answer) : answer,
  );
  return {
    columns: [columns.includes('shard') ? 'on_shard' : 'shard', ...columns],
    rows: checked.flatMap((answer) =>
      answer.ok ? answer.rows.rows.map((row) => [answer.shard, ...row]) : [],
    ),
    failed: checked.filter((answer) => !answer.ok),
  };
}

function sameNames(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((name, index) => name === others[index]);
}

function differs({ shard, rows }: Extract<ShardAnswer, { ok: true }>): Failed {
  const message = `its columns are not those of the first shard: ${rows.columns.join(', ')}`;
  return { shard, ok: false, error: { code: 'different_columns', message } };
}

/** Rows as JSON objects. */
export function objects(
  columns: readonly string[],
  rows: readonly (readonly Value[])[],
): Record<string, Value>[] {
  return rows.map((row) => Object.fromEntries(columns.map((name, index) => [name, row[index] ?? null])));
}

function failedLine({ shard, error }: Failed, style: Style): string {
  return style.bad(printable(`${shard}: FAILED, ${error.message} (${error.code})`));
}

function counted({ command, rowCount, rows, columns, truncated }: Rows): string {
  if (truncated) return `the first ${rows.length} rows`;
  const count = columns.length > 0 ? rows.length : rowCount;
  if (count === null) return command;
  const words = `${count} ${count === 1 ? 'row' : 'rows'}`;
  return command === 'SELECT' ? words : `${command}, ${words}`;
}

function cells(rows: readonly (readonly Value[])[]): (string | number)[][] {
  return rows.map((row) =>
    row.map((value) => {
      if (typeof value === 'number' || typeof value === 'string') return value;
      return value === null ? 'null' : JSON.stringify(value);
    }),
  );
}

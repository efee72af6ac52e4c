import { createRequire } from 'node:module';
import { printable } from './printable.js';
import { PLAIN, type Style } from './style.js';
import type Table from 'cli-table3';

export type Cell = string | number | boolean | null | undefined;

const NO_LINES = Object.fromEntries(
  'top top-mid top-left top-right bottom bottom-mid bottom-left bottom-right left left-mid mid mid-mid right right-mid'
    .split(' ')
    .map((name) => [name, '']),
);
const GAP = '  ';

/** Columns under headings, without lines; numbers to the right. Nothing that a cell holds reaches the terminal as a command. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly Cell[])[],
  style: Style = PLAIN,
): string {
  const TableOfCells = createRequire(import.meta.url)('cli-table3') as typeof Table; // loaded for the first table
  const cells = new TableOfCells({
    chars: { ...NO_LINES, middle: GAP },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    colAligns: headings.map((_heading, column) => (isNumeric(rows, column) ? 'right' : 'left')),
  });
  cells.push(headings.map(printable), ...rows.map((row) => row.map(textOf)));
  const [first = '', ...rest] = cells
    .toString()
    .split('\n')
    .map((line) => line.trimEnd());
  return [style.heading(first), ...rest].join('\n');
}

function textOf(cell: Cell): string {
  return cell === null || cell === undefined ? '-' : printable(String(cell));
}

function isNumeric(rows: readonly (readonly Cell[])[], column: number): boolean {
  const values = rows.map((row) => row[column]).filter((cell) => cell !== null && cell !== undefined);
  return values.length > 0 && values.every((cell) => typeof cell === 'number');
}

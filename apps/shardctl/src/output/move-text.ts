import { printSlots } from '@app/routing';
import { countText } from './move-estimate.js';
import { printable } from './printable.js';
import { PLAIN, type Style } from './style.js';
import { table } from './table.js';
import type { MoveRecord } from '@app/sharding/operator';

/** So much of an id is enough for people. */
export function shortId({ id }: Pick<MoveRecord, 'id'>): string {
  return id.slice(0, 8);
}

const NAMED = 3;

/** `"acme"`, `4 tenants`, `slots 7695, 8192-8200`. */
export function subjectsText({ scope }: Pick<MoveRecord, 'scope'>): string {
  if ('slots' in scope) return `${scope.slots.length === 1 ? 'slot' : 'slots'} ${printSlots(scope.slots)}`;
  const { keys } = scope;
  if (keys.length > NAMED) return `${keys.length} tenants`;
  return printable(keys.map((key) => JSON.stringify(key)).join(', '));
}

/** In the words of `--json`. Counts are text: they may be longer than numbers of JavaScript. */
export function moveJson(move: MoveRecord): Record<string, unknown> {
  const { scope, terms } = move;
  return {
    id: move.id,
    state: move.state,
    source: move.source,
    destination: move.destination,
    group: move.group,
    keys: 'keys' in scope ? scope.keys : null,
    slots: 'slots' in scope ? printSlots(scope.slots) : null,
    kept_keys: terms.kept,
    key_column: terms.keyColumn,
    key_kind: terms.keyKind,
    writes: terms.writes,
    fence_ms: terms.fenceMs,
    throttle: terms.throttle,
    epoch: move.epoch,
    tables: rowsOfTables(move),
    steps: move.steps,
    by: move.startedBy,
    started_at: move.startedAt.toISOString(),
    changed_at: move.changedAt.toISOString(),
    leased_until: move.leasedUntil?.toISOString() ?? null,
  };
}

export interface TableRows {
  readonly table: string;
  /** Null before they were copied. */
  readonly rows: string | null;
}

export function rowsOfTables({ tables, proof }: MoveRecord): TableRows[] {
  return tables.map(({ schema, name }, at) => ({
    table: `${schema}.${name}`,
    rows: proof?.tables[at]?.rows ?? null,
  }));
}

/** Tables of the framework come with every move: people are told of those that have rows. */
export function isWorthTelling(name: string, ...rows: readonly (string | number | null)[]): boolean {
  return !/(^|\.)_sharding_/.test(name) || rows.some((count) => Number(count) > 0);
}

function toldTables(move: MoveRecord): TableRows[] {
  return rowsOfTables(move).filter(({ table: name, rows }) => isWorthTelling(name, rows));
}

/** `1,200 rows of 3 tables`. */
export function totalText(move: MoveRecord): string {
  const tables = toldTables(move);
  const rows = tables.reduce((sum, { rows: count }) => sum + Number(count), 0);
  return `${countText(rows, 'row')} of ${countText(tables.length, 'table')}`;
}

export function tablesText(move: MoveRecord, style: Style = PLAIN): string {
  const rows = toldTables(move).map(({ table: name, rows: count }) => [name, countCell(count)]);
  return table(['table', 'rows'], rows, style);
}

/** A row for each. */
export function movesText(moves: readonly MoveRecord[], style: Style = PLAIN): string {
  if (moves.length === 0) return 'no moves';
  const headings = ['move', 'state', 'from', 'to', 'what', 'rows', 'by', 'changed at', 'held until'];
  const rows = moves.map((move) => [
    shortId(move),
    move.state,
    move.source,
    move.destination,
    subjectsText(move),
    move.proof ? move.proof.tables.reduce((sum, { rows: count }) => sum + Number(count), 0) : null,
    move.startedBy,
    move.changedAt.toISOString(),
    move.leasedUntil?.toISOString(),
  ]);
  return table(headings, rows, style);
}

/** Everything about one, but content. */
export function moveText(move: MoveRecord, style: Style = PLAIN): string {
  const { terms, steps, leasedUntil } = move;
  const fence =
    terms.writes === 'fenced' ? `fenced for ${terms.fenceMs / 1000} s` : 'kept away by the operator';
  return [
    style.heading(`move ${move.id}: ${move.state}`),
    `rows      ${subjectsText(move)} by ${printable(terms.keyColumn)}, from ${move.source} to ${move.destination}`,
    ...(terms.kept.length > 0
      ? [`left out  ${countText(terms.kept.length, 'key')} of these slots that pins lead`]
      : []),
    `writers   ${fence}`,
    `by        ${printable(move.startedBy)}, since ${move.startedAt.toISOString()}`,
    `mover     ${leasedUntil ? `one holds it until ${leasedUntil.toISOString()}` : 'nobody works on it'} (epoch ${move.epoch})`,
    '',
    tablesText(move, style),
    '',
    table(
      ['step', 'at', 'took'],
      [
        ['planned', move.startedAt.toISOString(), null],
        ...steps.map(({ state, at, ms }) => [state, at, `${ms} ms`]),
      ],
      style,
    ),
  ].join('\n');
}

/** A number where JavaScript has it: those are set to the right. */
function countCell(count: string | null): string | number | null {
  if (count === null) return null;
  const number = Number(count);
  return Number.isSafeInteger(number) ? number : count;
}

import { printable } from './printable.js';
import { PLAIN, type Style } from './style.js';
import { table } from './table.js';
import type { ActionRecord } from '@app/actions';

type ActionHead = Omit<ActionRecord, 'parts'>;

/** In the words of `--json`. */
export function actionJson(action: ActionHead & Partial<ActionRecord>): Record<string, unknown> {
  return {
    id: action.id,
    action: action.action,
    state: action.state,
    failure: action.failure ?? null,
    started_at: action.startedAt.toISOString(),
    changed_at: action.changedAt.toISOString(),
    ...(action.parts && { parts: action.parts }),
  };
}

export function stuckText(actions: readonly ActionHead[], style: Style = PLAIN): string {
  if (actions.length === 0) return 'no action is stuck';
  const rows = actions.map(({ id, action, state, failure, changedAt }) => [
    id,
    action,
    state,
    failure,
    changedAt.toISOString(),
  ]);
  return table(['action', 'name', 'state', 'failure', 'since'], rows, style);
}

export function actionText(action: ActionRecord, style: Style = PLAIN): string {
  const rows = action.parts.map(({ part, shard, state }) => [part, shard, state]);
  const failure = action.failure === undefined ? '' : `, after ${action.failure}`;
  return [
    printable(`action ${action.action} ${action.id} is ${action.state}${failure}`),
    table(['part', 'shard', 'state'], rows, style),
  ].join('\n');
}

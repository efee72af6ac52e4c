import type { HookFacts } from '../facts/read-hooks.js';

export const ROW_MODES = ['origin', 'replica'] as const;
/** What `session_replication_role` has to be, so that no trigger of the user fires. */
export type RowMode = (typeof ROW_MODES)[number];

/** What a mover does with rows, by side: it deletes an earlier copy at the destination. */
export const EVENTS = { source: ['delete'], destination: ['insert', 'delete'] } as const;

/**
 * The mode in which no trigger fires.
 *
 * @returns undefined where there is none: some would fire
 */
export function rowMode(
  triggers: readonly Pick<HookFacts, 'kind' | 'fires' | 'events'>[],
  { events, mayBeReplica }: { readonly events: readonly string[]; readonly mayBeReplica: boolean },
): RowMode | undefined {
  const hooks = triggers.filter(
    (hook) => hook.kind === 'trigger' && hook.events.some((event) => events.includes(event)),
  );
  if (hooks.every(({ fires }) => fires === 'replica')) return 'origin';
  return mayBeReplica && hooks.every(({ fires }) => fires === 'origin') ? 'replica' : undefined;
}

import type { Finding } from '../finding.js';
import { about, listed, SIDES, type Facts, type Side } from './facts.js';
import { EVENTS, rowMode } from './row-modes.js';

export function rules(facts: Facts): Finding[] {
  return facts.tables.flatMap((table, place) =>
    SIDES.flatMap((side) => {
      const names = facts[side].hooks.filter((one) => one.place === place && one.kind === 'rule');
      if (names.length === 0) return [];
      const which = listed(names.map(({ name }) => `"${name}"`));
      return [
        about('rule', table).error(
          `has the rule ${which} on ${facts.names[side]}, which rewrites what a move does: drop it, or disable it meanwhile`,
        ),
      ];
    }),
  );
}

/** No event is sent twice, and no row is changed by its move. */
export function triggers(facts: Facts): Finding[] {
  return SIDES.flatMap((side) => (modeOf(facts, side) === undefined ? firing(facts, side) : []));
}

function modeOf(facts: Facts, side: Side): ReturnType<typeof rowMode> {
  const { hooks, mayBeReplica } = facts[side];
  return rowMode(hooks, { events: EVENTS[side], mayBeReplica });
}

function firing(facts: Facts, side: Side): Finding[] {
  const { hooks, mayBeReplica } = facts[side];
  const events: readonly string[] = EVENTS[side];
  return facts.tables.flatMap((table, place) => {
    const fire = hooks.filter(
      (hook) =>
        hook.kind === 'trigger' &&
        hook.place === place &&
        hook.events.some((event) => events.includes(event)) &&
        (mayBeReplica ? hook.fires !== 'origin' : hook.fires !== 'replica'),
    );
    if (fire.length === 0) return [];
    const which = listed(fire.map(({ name }) => `"${name}"`));
    const remedy = mayBeReplica
      ? 'let it fire on the origin only (alter table ... enable trigger), or disable it meanwhile'
      : 'move as a role that may set session_replication_role, or disable it meanwhile';
    return [
      about('trigger', table).error(`the trigger ${which} would fire on ${facts.names[side]}: ${remedy}`),
    ];
  });
}

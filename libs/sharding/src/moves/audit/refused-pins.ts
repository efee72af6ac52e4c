import { admit } from '../fence/retire.js';
import { inTransaction, type MoveSession } from '../move-session.js';
import { keyRoutes } from './key-routes.js';
import { lockFence } from '../fence/with-fence-lock.js';
import { quoted } from '../quoted.js';
import { reading } from './reading.js';
import { table } from '../record/move-rows.js';
import type { MoveFleet } from '../mover.js';

/** A key that is pinned to a shard which its slot has left, and whose writes are therefore refused there. */
export interface RefusedPin {
  readonly key: string;
  readonly slot: number;
  /** The move by which the slot has left. */
  readonly move: string;
}

export interface PinnedPlace {
  readonly shard: string;
  readonly session: MoveSession;
  readonly control: MoveSession;
  readonly fleet: MoveFleet;
  /** Default: every key. */
  readonly key?: string;
}

const PAGE = 1000;

/**
 * What was pinned to the shard after its slot had left: the move knew nothing of it. Only of moves that are purged; while one
 * is open, its own checks decide what a new pin means.
 */
export async function* refusedPins(place: PinnedPlace): AsyncGenerator<RefusedPin[]> {
  const left = await slotsThatLeft(place);
  for (let after = ''; left.size > 0;) {
    const pins = await pinsInSlots(place, [...left.keys()], after);
    const refused = await withoutRows(place, pins);
    yield refused.map((pin) => ({ ...pin, move: left.get(pin.slot) ?? '' }));
    if (pins.length < PAGE) return;
    after = pins.at(-1)?.key ?? '';
  }
}

/** Makes exceptions of their slots of them: their writes pass. @returns how many */
export async function admitPins(place: PinnedPlace): Promise<number> {
  let admitted = 0;
  for await (const pins of refusedPins(place)) {
    const subjects = pins.map(({ key }) => `key:${key}`);
    const slots = pins.map(({ slot }) => slot);
    const moves = pins.map(({ move }) => move);
    await inTransaction(place.session, '', async () => {
      await lockFence(place.session);
      await admit(place.session, { subjects, slots }, moves);
    });
    admitted += pins.length;
  }
  return admitted;
}

/** With the move of each. */
async function slotsThatLeft({ session, control }: PinnedPlace): Promise<ReadonlyMap<number, string>> {
  const { rows: left } = await reading(session, () =>
    session.client.query<{ slot: number; move: string }>(
      `select slot, move_id::text as move from ${fenceOf(session)} where subject >= 'slot:' and state = 'moved'`,
    ),
  );
  if (left.length === 0) return new Map();
  const { rows: ended } = await reading(control, () =>
    control.client.query<{ id: string }>(
      `select id::text as id from ${table(control, 'moves')} where state = 'purged' and id = any ($1::uuid[])`,
      [[...new Set(left.map(({ move }) => move))]],
    ),
  );
  const purged = new Set(ended.map(({ id }) => id));
  return new Map(left.filter(({ move }) => purged.has(move)).map(({ slot, move }) => [slot, move]));
}

type Pin = Omit<RefusedPin, 'move'>;

async function pinsInSlots(
  { control, shard, key }: PinnedPlace,
  slots: readonly number[],
  after: string,
): Promise<Pin[]> {
  const { rows } = await reading(control, () =>
    control.client.query<Pin>(
      `select routing_key as key, slot from ${quoted(control.schema)}._sharding_directory
      where shard_name = $1 and slot = any ($2::int[]) and routing_key > $3 collate "C"
        and ($4::text is null or routing_key = $4)
      order by routing_key collate "C" limit ${PAGE}`,
      [shard, slots, after, key ?? null],
    ),
  );
  return rows;
}

/** Those that the shard knows nothing of, and that are really routed to it. */
async function withoutRows(place: PinnedPlace, pins: readonly Pin[]): Promise<Pin[]> {
  const { session, shard } = place;
  const { rows } = await reading(session, () =>
    session.client.query<{ key: string }>(
      `select given.key from unnest($1::text[]) as given (key)
      where not exists (select from ${fenceOf(session)} where subject = 'key:' || given.key)`,
      [pins.map(({ key }) => key)],
    ),
  );
  const unknown = rows.map(({ key }) => key);
  const routes = await keyRoutes({ ...place, keyKind: 'text' }, unknown);
  return pins.filter(({ key }) => routes.get(key)?.shard === shard);
}

function fenceOf({ schema }: MoveSession): string {
  return `${quoted(schema)}._sharding_fence`;
}

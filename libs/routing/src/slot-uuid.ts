import { IdSequence, type IdSource } from './id-sequence.js';
import type { SlotPlace } from './place.js';
import { isBytes, type RoutingKey } from './routing-key.js';
import { groupProblem } from './shard-identifier.js';
import { fourteenBits, invalidId, readUuid, timestampOf, type IdKind, type ShardedId } from './sharded-id.js';
import { ShardingError } from './sharding-error.js';
import { quote } from './quote.js';
import { SLOT_COUNT, slotOf } from './slot.js';

const KIND: IdKind = { name: 'SlotUuid', version: '8' };
const TAIL_BITS = 48;

/**
 * Makes and reads ids that name their slot: a UUID of version 8 (so that none of version 4 or 7 is ever taken for one)
 * with the group in 8 bits, 4 zero bits, and the slot in 14 bits. The layout is permanent: `CONTRACT.md`. The row of such an
 * id can be moved: the slot map of the day leads to it.
 *
 * The ids of one generator for one slot are strictly increasing, also within a millisecond and when the clock steps back.
 * An id leads to its slot and grants nothing.
 */
export class SlotUuidGenerator {
  readonly #sequence: IdSequence;

  constructor(source: IdSource = {}) {
    this.#sequence = new IdSequence(TAIL_BITS, source);
  }

  /**
   * A new id for a slot, or for the slot of a key.
   *
   * @param group the group of the key, 0 unless given; a place names its own
   * @throws ShardingError `invalid_routing_key`, `invalid_slot`, or `invalid_topology` for a group out of range
   */
  generate<Entity = unknown>(place: SlotPlace): ShardedId<Entity>;
  generate<Entity = unknown>(key: RoutingKey, group?: number): ShardedId<Entity>;
  generate<Entity = unknown>(of: SlotPlace | RoutingKey, group = 0): ShardedId<Entity> {
    return (isPlace(of) ? this.#next(of.group, of.slot) : this.#next(group, slotOf(of))) as ShardedId<Entity>;
  }

  /**
   * The id in lower case.
   *
   * @throws ShardingError `invalid_id` for text that is no UUID of version 8 with the four zero bits; the text is not echoed
   */
  parse<Entity = unknown>(text: string): ShardedId<Entity> {
    return read(text) as ShardedId<Entity>;
  }

  /** The slot that the id names, 0..16383. @throws ShardingError `invalid_id` */
  slot(id: string): number {
    return fourteenBits(read(id));
  }

  /** The group that the id names, 0..255, which may have no shards. @throws ShardingError `invalid_id` */
  group(id: string): number {
    return Number.parseInt(read(id).slice(15, 17), 16);
  }

  /** When the id was made, by the clock of its process. @throws ShardingError `invalid_id` */
  timestamp(id: string): Date {
    return timestampOf(read(id));
  }

  #next(group: number, slot: number): string {
    if ((group & 0xff) !== group || (slot & (SLOT_COUNT - 1)) !== slot) refuse(group, slot);
    const sequence = this.#sequence;
    sequence.next();
    const { text, high, low } = sequence;
    text.writeMiddle(0x8000 | (group << 4), 0x8000 | slot);
    text.writeEnd(high, low);
    return text.read();
  }
}

function isPlace(of: SlotPlace | RoutingKey): of is SlotPlace {
  return typeof of === 'object' && of !== null && !isBytes(of);
}

function read(text: unknown): string {
  const id = readUuid(text, KIND);
  if (id.charAt(17) !== '0')
    throw invalidId(KIND.name, 'has four zero bits after its group; this UUID has others');
  return id;
}

function refuse(group: unknown, slot: unknown): never {
  const problem = groupProblem(group);
  if (problem !== undefined) throw new ShardingError('invalid_topology', problem);
  throw new ShardingError(
    'invalid_slot',
    `slot ${quote(slot)} is out of range (slots are 0..${SLOT_COUNT - 1})`,
  );
}

/** The generator of this process, with the system's clock and chance. */
export const SlotUuid = new SlotUuidGenerator();

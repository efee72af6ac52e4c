import { IdSequence, type IdSource } from './id-sequence.js';
import { ShardIdentifier } from './shard-identifier.js';
import { fourteenBits, readUuid, timestampOf, type IdKind, type ShardedId } from './sharded-id.js';

const KIND: IdKind = { name: 'ShardedUuid', version: '7' };
const TAIL_BITS = 12 + 48;

/**
 * Makes and reads ids that name their shard: a UUID of version 7 whose `rand_b` starts with group (8 bits) and member
 * (6 bits). The layout is permanent: `CONTRACT.md`.
 *
 * The ids of one generator for one identifier are strictly increasing, also within a millisecond and when the clock
 * steps back. Any UUID of version 7 can be read as one: read only ids that are declared to be sharded. An id leads to
 * its shard and grants nothing.
 */
export class ShardedUuidGenerator {
  readonly #sequence: IdSequence;

  constructor(source: IdSource = {}) {
    this.#sequence = new IdSequence(TAIL_BITS, source);
  }

  /**
   * A new id.
   *
   * @throws ShardingError `invalid_topology` for a group or member out of range
   */
  generate<Entity = unknown>(identifier: ShardIdentifier): ShardedId<Entity> {
    const { group, member } = identifier;
    if ((group & 0xff) !== group || (member & 0x3f) !== member) ShardIdentifier.of(group, member);
    const sequence = this.#sequence;
    sequence.next();
    const { text, high, low } = sequence;
    text.writeMiddle(0x7000 | (high >>> 16), 0x8000 | (group << 6) | member);
    text.writeEnd(high & 0xffff, low);
    return text.read() as ShardedId<Entity>;
  }

  /**
   * The id in lower case.
   *
   * @throws ShardingError `invalid_id` for text that is no UUID of version 7; the text is not echoed
   */
  parse<Entity = unknown>(text: string): ShardedId<Entity> {
    return readUuid(text, KIND) as ShardedId<Entity>;
  }

  /** The shard that the id names, which may not exist. @throws ShardingError `invalid_id` */
  identifier(id: string): ShardIdentifier {
    const bits = fourteenBits(readUuid(id, KIND));
    return ShardIdentifier.of(bits >>> 6, bits & 0x3f);
  }

  /** When the id was made, by the clock of its process. @throws ShardingError `invalid_id` */
  timestamp(id: string): Date {
    return timestampOf(readUuid(id, KIND));
  }
}

/** The generator of this process, with the system's clock and chance. */
export const ShardedUuid = new ShardedUuidGenerator();

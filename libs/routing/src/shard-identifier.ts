import { quote } from './quote.js';
import { ShardingError } from './sharding-error.js';

/** The largest group number. */
export const MAX_GROUP = 255;
/** The largest member number; a group may have more shards, but those beyond have no identifier. */
export const MAX_MEMBER = 63;

/**
 * (group, member): the group says where data is allowed to live, the member which database of the group carries it.
 * 8 + 6 bits, small enough to be carried inside an id.
 */
export class ShardIdentifier {
  /** (0,0), the identifier of an only shard. */
  static readonly DEFAULT = new ShardIdentifier(0, 0);

  private constructor(
    readonly group: number,
    readonly member: number,
  ) {
    Object.freeze(this);
  }

  /**
   * @param group 0..255
   * @param member 0..63
   * @throws ShardingError `invalid_topology` for anything else
   */
  static of(group: number, member: number): ShardIdentifier {
    const problem = groupProblem(group) ?? memberProblem(member);
    if (problem !== undefined) throw new ShardingError('invalid_topology', problem);
    return new ShardIdentifier(group, member);
  }

  equals(other: ShardIdentifier): boolean {
    return this.group === other.group && this.member === other.member;
  }

  /** `(group,member)` */
  toString(): string {
    return `(${this.group},${this.member})`;
  }
}

/** Why the value is not a group number, or `undefined`. */
export function groupProblem(group: unknown): string | undefined {
  return isWithin(group, MAX_GROUP)
    ? undefined
    : `group must be an integer in 0..${MAX_GROUP}, not ${quote(group)}`;
}

/** Why the value is not a member number, or `undefined`. */
export function memberProblem(member: unknown): string | undefined {
  return isWithin(member, MAX_MEMBER)
    ? undefined
    : `member must be an integer in 0..${MAX_MEMBER}, not ${quote(member)}`;
}

function isWithin(value: unknown, max: number): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max;
}

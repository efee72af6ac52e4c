import type { ShardIdentifier } from './shard-identifier.js';

/**
 * Decides where a new customer's data is allowed to live, from what is known of the customer: a country, a contract. Asked
 * once, at the creation; what it says is then kept, by `Pins.place` or inside an embedded id.
 *
 * ```ts
 * class ByCountry extends ShardSelector<{ country: string }> {
 *   groupOf({ country }: { country: string }) {
 *     return country === 'CH' ? 1 : 0;
 *   }
 * }
 * ```
 */
export abstract class ShardSelector<Attributes> {
  /** The group of a customer with these attributes, 0 to 255. Throw for attributes that no group is for. */
  abstract groupOf(attributes: Attributes): number | Promise<number>;

  /**
   * The shard that is to be embedded in the ids of a customer with these attributes; its group must be that of `groupOf`.
   * Such ids cannot move: the choice of the member is for ever.
   */
  identifierOf?(attributes: Attributes): ShardIdentifier | Promise<ShardIdentifier>;
}

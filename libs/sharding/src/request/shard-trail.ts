/** Which shards a piece of work was routed to. */
export class ShardTrail {
  #label: string | undefined;

  add(shard: string): void {
    if (this.#label === undefined) this.#label = shard;
    else if (this.#label !== shard) this.#label = 'several';
  }

  /** The shard's name; `several`, or `none`. */
  get label(): string {
    return this.#label ?? 'none';
  }
}

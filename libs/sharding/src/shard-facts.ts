/** A number about each shard, for its health component and for metrics. */
export interface ShardFact {
  /** In snake case, with its unit: the key in health, and behind `sharding_` the name of the metric. */
  readonly name: string;
  readonly help: string;
  /** At once, without asking anybody; undefined where it is not known. */
  value(shard: string): number | undefined;
}

/** What other parts than the library's own core tell of shards. */
export class ShardFacts {
  readonly #facts = new Set<ShardFact>();
  readonly #watchers = new Set<(fact: ShardFact) => void>();

  /** @returns takes it back */
  add(fact: ShardFact): () => void {
    this.#facts.add(fact);
    for (const watcher of this.#watchers) watcher(fact);
    return () => void this.#facts.delete(fact);
  }

  /** What is known of a shard, by name. */
  of(shard: string): Record<string, number> {
    const known = [...this.#facts].map(({ name, value }) => [name, value(shard)] as const);
    return Object.fromEntries(known.filter((entry): entry is [string, number] => entry[1] !== undefined));
  }

  /** Tells of each fact, those of before included. */
  watch(watcher: (fact: ShardFact) => void): void {
    this.#watchers.add(watcher);
    for (const fact of this.#facts) watcher(fact);
  }
}

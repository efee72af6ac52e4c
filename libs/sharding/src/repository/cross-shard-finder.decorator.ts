type Finder = (...args: never[]) => unknown;

const FINDERS = Symbol.for('nestjs-sharding.cross-shard-finders');

/**
 * Declares a finder of a `ShardedRepository` as one that may also run across shards: `@CrossShard(TheRepository)` offers
 * it. Inside, `this` then has the methods of a `CrossShardRepository`.
 */
export const CrossShardFinder = (): MethodDecorator => (target, name) => {
  const own = Object.hasOwn(target, FINDERS) ? (target as { [FINDERS]: string[] })[FINDERS] : [];
  Object.defineProperty(target, FINDERS, { value: [...own, String(name)], configurable: true });
};

/** The declared finders of a class and of those that it extends. */
export function crossShardFinders(prototype: object): [name: string, finder: Finder][] {
  const found = new Map<string, Finder>();
  for (let at: object | null = prototype; at; at = Object.getPrototypeOf(at) as object | null) {
    const names = Object.hasOwn(at, FINDERS) ? (at as { [FINDERS]: string[] })[FINDERS] : [];
    for (const name of names) {
      if (!found.has(name)) found.set(name, (prototype as Record<string, Finder>)[name] as Finder);
    }
  }
  return [...found];
}

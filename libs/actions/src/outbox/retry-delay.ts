/** How long a failed event waits for its next attempt: doubled each time, at least half of it by chance. */
export interface Backoff {
  readonly firstMs: number;
  readonly mostMs: number;
}

/** @param attempts that have failed so far, at least 1. @param chance 0 to 1 */
export function retryDelayMs({ firstMs, mostMs }: Backoff, attempts: number, chance = Math.random()): number {
  const doubled = Math.min(mostMs, firstMs * 2 ** Math.min(attempts - 1, 50));
  return Math.round(doubled * (0.5 + chance / 2));
}

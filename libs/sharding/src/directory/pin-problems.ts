import { judgePin, type PinProblem } from './judge-pin.js';
import type { GroupOf, Topology } from '@app/routing';
import type { Pin } from './pin.js';

export interface PlacementRules {
  readonly topology: Topology;
  readonly groupOf?: GroupOf | undefined;
}

/** The log names so many keys at a time; the counts are complete. */
const NAMED_KEYS = 20;

/** Of a directory that is too large to keep, so many such rows are remembered. */
const MOST_SEEN = 1000;

/** The rows that cannot be obeyed: each is said once, and counted as long as it is there. */
export class PinProblems {
  readonly #problems = new Map<string, PinProblem>();

  constructor(
    private readonly rules: PlacementRules,
    private readonly error: (line: string) => void,
  ) {}

  count(problem: PinProblem): number {
    let count = 0;
    for (const known of this.#problems.values()) if (known === problem) count++;
    return count;
  }

  /** Forgets all, where everything is read anew. */
  restart(pins: Iterable<readonly [string, Pin]>): void {
    const before = new Map(this.#problems);
    this.#problems.clear();
    this.#say(this.#check(pins).filter(([key, problem]) => before.get(key) !== problem));
  }

  /** Looks at keys that changed; `pin` is undefined where the row is gone. */
  changed(pins: Iterable<readonly [string, Pin | undefined]>): void {
    const present: (readonly [string, Pin])[] = [];
    for (const [key, pin] of pins) {
      this.#problems.delete(key);
      if (pin) present.push([key, pin]);
    }
    this.#say(this.#check(present));
  }

  /** A row that was looked up, where not all are known. */
  saw(key: string, pin: Pin | undefined): void {
    const known = this.#problems.get(key);
    if (known === undefined && this.#problems.size >= MOST_SEEN) return;
    if (pin === undefined || this.#problemOf(key, pin) !== known) this.changed([[key, pin]]);
  }

  #check(pins: Iterable<readonly [string, Pin]>): [string, PinProblem, Pin][] {
    const found: [string, PinProblem, Pin][] = [];
    for (const [key, pin] of pins) {
      const problem = this.#problemOf(key, pin);
      if (problem === undefined) continue;
      this.#problems.set(key, problem);
      found.push([key, problem, pin]);
    }
    return found;
  }

  #problemOf(key: string, pin: Pin): PinProblem | undefined {
    const { topology, groupOf } = this.rules;
    try {
      return judgePin(pin, groupOf?.(key), topology).problem;
    } catch {
      return 'outside_group'; // groupOf failed: routing the key says why
    }
  }

  #say(found: readonly [string, PinProblem, Pin][]): void {
    for (const [key, problem, pin] of found.slice(0, NAMED_KEYS)) this.error(sentence(key, problem, pin));
    if (found.length > NAMED_KEYS) this.error(`${found.length - NAMED_KEYS} more rows cannot be obeyed`);
  }
}

function sentence(key: string, problem: PinProblem, { shard, group }: Pin): string {
  const row = `the row of routing key ${JSON.stringify(key)}`;
  if (problem === 'unknown_shard') {
    return `${row} names shard ${JSON.stringify(shard)}, which is not configured: its requests are refused`;
  }
  if (problem === 'unknown_group') {
    return `${row} names group ${group}, which has no shards: its requests are refused`;
  }
  const named = shard === undefined ? `group ${group}` : `shard ${JSON.stringify(shard)}`;
  return `${row} names ${named}, outside the group of the key: the row is ignored`;
}

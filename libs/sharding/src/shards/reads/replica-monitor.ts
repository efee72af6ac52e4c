import { setTimeout as pause } from 'node:timers/promises';
import type { Replica } from './replica.js';

/** How long the boot waits for the first look; a replica that hangs is simply not ready yet. */
const FIRST_LOOK_MS = 1000;

/** The probe loop of one replica: apart from every request and from the loops of other replicas. */
export class ReplicaMonitor {
  #stopped = false;
  #pausing = new AbortController();
  #suspected = false;
  #loop: Promise<void> | undefined;

  constructor(
    private readonly replica: Replica,
    private readonly intervalMs: number,
  ) {
    replica.onSuspicion = () => {
      this.#suspected = true; // also in the middle of a probe: it may have looked before
      this.#pausing.abort();
    };
  }

  /** Starts the loop; resolves after its first step, or when that takes too long. */
  async start(): Promise<void> {
    if (this.#loop) return;
    const first = this.replica.probe();
    this.#loop = first.then(() => this.#run());
    await Promise.race([first, pause(FIRST_LOOK_MS, undefined, { ref: false })]);
  }

  /** Ends the loop; a step under way ends by its own bound. */
  stop(): void {
    this.#stopped = true;
    this.#pausing.abort();
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      if (!this.#suspected) await this.#pause();
      this.#suspected = false;
      if (!this.#stopped) await this.replica.probe();
    }
  }

  /** A little different each time, so that processes started together do not ask together. */
  async #pause(): Promise<void> {
    this.#pausing = new AbortController();
    const { signal } = this.#pausing;
    const jittered = this.intervalMs * (0.9 + Math.random() / 5);
    await pause(jittered, undefined, { ref: false, signal }).catch(() => undefined);
  }
}

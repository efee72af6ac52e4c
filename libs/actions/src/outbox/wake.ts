/**
 * A pause that somebody may end early. A wake-up between two pauses ends the next one at once. Who was woken goes on a turn
 * of the event loop later: what wakes it in crowds is then done together.
 */
export class Wake {
  #woken = false;
  #end: (() => void) | undefined;

  wake(): void {
    this.#woken = true;
    this.#end?.();
  }

  async pause(ms: number): Promise<void> {
    if (!this.#woken) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.#end = () => {
          clearTimeout(timer);
          setImmediate(resolve);
        };
      });
      this.#end = undefined;
    }
    this.#woken = false;
  }
}

/**
 * Milliseconds until the next multiple of `everyMs` on this process's clock: quiet loops that look together wake the process
 * once for all of them, which costs half as much.
 */
export function untilBeat(everyMs: number, now = performance.now()): number {
  return everyMs - (now % everyMs);
}

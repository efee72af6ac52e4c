/** What ends a process politely, with the exit code by which shells know it. */
const CODES = { SIGINT: 130, SIGTERM: 143 } as const;

/** What is under way gets this long to end on its servers, and to tell how far it is. */
const GRACE_MS = 3000;

export interface Interrupts {
  /** Fires at the first one. */
  readonly signal: AbortSignal;
  /** The exit code then. */
  readonly code: () => number | undefined;
  /** What still hangs behind the end of the work ends with the grace all the same. */
  dispose(): void;
}

/**
 * The first interrupt lets what is under way end; the second does not wait.
 *
 * @param late told before the process ends in the middle of its work
 */
export function onInterrupt(late: () => void): Interrupts {
  const controller = new AbortController();
  let code: number | undefined;
  let working = true;
  const leave = () => {
    if (working) late();
    process.exit(code);
  };
  const interrupt = (signal: string) => {
    if (code !== undefined) return leave();
    code = CODES[signal as keyof typeof CODES];
    controller.abort();
    setTimeout(leave, GRACE_MS).unref();
  };
  for (const name of Object.keys(CODES)) process.on(name, interrupt);
  return {
    signal: controller.signal,
    code: () => code,
    dispose() {
      working = false;
      for (const name of Object.keys(CODES)) process.off(name, interrupt);
    },
  };
}

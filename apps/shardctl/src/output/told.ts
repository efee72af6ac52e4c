import { oneLine, printable } from './printable.js';
import type { Failure } from '../failure.js';

/** What is said beside the answer, a line each. */
export interface Told {
  /** What happens while a verb runs. */
  log(line: string): void;
  /** What must be seen with the answer. */
  note(text: string): void;
  /** @param causes what caused it, outermost first; undefined where nobody asked */
  failure(failure: Failure, causes?: readonly string[]): void;
  /** Where a bar can be drawn below the lines: nowhere with `--json`, and where nobody looks. */
  readonly terminal: NodeJS.WriteStream | undefined;
}

/** Lines for people; with `json` each one is an object: `{"log"}`, `{"note"}` or `{"error":{"code","message"}}`. */
export function toldOn(stream: NodeJS.WriteStream, format: 'text' | 'json'): Told {
  const write = (line: string) => void stream.write(`${line}\n`);
  if (format === 'json') {
    const object = (value: object) => write(JSON.stringify(value));
    return {
      log: (line) => object({ log: printable(line) }),
      note: (text) => object({ note: oneLine(text) }),
      failure: ({ code, message }, causes) => object({ error: { code, message, causes } }),
      terminal: undefined,
    };
  }
  return {
    log: (line) => write(printable(line)),
    note: (text) => write(`shardctl: ${oneLine(text)}`),
    failure: ({ message }, causes = []) =>
      [`shardctl: ${message}`, ...causes.map((cause) => `  cause: ${cause}`)].forEach(write),
    terminal: stream.isTTY ? stream : undefined,
  };
}

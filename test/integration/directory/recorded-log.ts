import type { LoggerService } from '@nestjs/common';

/** Keeps what is logged, as `level context: message`. */
export class RecordedLog implements LoggerService {
  readonly lines: string[] = [];

  log = (message: unknown, context?: unknown): void => this.#keep('log', message, context);
  warn = (message: unknown, context?: unknown): void => this.#keep('warn', message, context);
  error = (message: unknown, ...rest: unknown[]): void => this.#keep('error', message, rest.at(-1));

  /** The lines of one context, without its name. */
  of(context: string): string[] {
    const mark = new RegExp(`^(\\w+) ${context}: `);
    return this.lines.filter((line) => mark.test(line)).map((line) => line.replace(mark, '$1: '));
  }

  /** The same without the mere news. */
  warnings(context: string): string[] {
    return this.of(context).filter((line) => !line.startsWith('log: '));
  }

  #keep(level: string, message: unknown, context: unknown): void {
    this.lines.push(`${level} ${String(context)}: ${String(message)}`);
  }
}

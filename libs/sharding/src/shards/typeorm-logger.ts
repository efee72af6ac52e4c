import { Logger } from '../logger.js';
import { queryText } from './query-text.js';
import type { Logger as TypeOrmLogger } from 'typeorm';

/** Logs slow statements and TypeORM's own warnings under the target's name; never parameters, never row content. */
export class TargetLogger implements TypeOrmLogger {
  readonly #logger: Logger;

  constructor(target: string) {
    this.#logger = new Logger(target);
  }

  logQuery(): void {}

  logQueryError(): void {}

  logQuerySlow(time: number, query: string): void {
    this.#logger.warn(`slow statement, ${time} ms: ${queryText(query)}`);
  }

  logSchemaBuild(): void {}

  logMigration(message: string): void {
    this.#logger.log(message);
  }

  log(level: 'log' | 'info' | 'warn', message: unknown): void {
    if (level === 'warn') this.#logger.warn(String(message));
    else this.#logger.debug(String(message));
  }
}

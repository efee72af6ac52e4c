import type { OutboxOptions } from './outbox/outbox.options.js';

/** What `ActionsModule.forRoot` accepts. */
export interface ActionsOptions {
  /** How events are delivered. */
  readonly outbox?: OutboxOptions;
}

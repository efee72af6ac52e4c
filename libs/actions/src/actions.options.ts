import type { ExecutionOptions } from './executor/action-settings.js';
import type { OutboxOptions } from './outbox/outbox.options.js';

/** What `ActionsModule.forRoot` accepts. */
export interface ActionsOptions extends ExecutionOptions {
  /** How events are delivered. */
  readonly outbox?: OutboxOptions;
}

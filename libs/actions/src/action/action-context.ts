import type { ActionPlan } from '../plan/action-plan.js';

/** What `perform` is given besides its parameters. */
export interface ActionContext {
  /** Where changes and events are staged. */
  readonly plan: ActionPlan;
  /** UUID of this attempt, stored with its events. */
  readonly actionId: string;
  /** 1 at the first attempt. */
  readonly attempt: number;
}

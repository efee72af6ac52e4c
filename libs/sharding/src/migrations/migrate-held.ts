import { frameworkStep, ownStep, type Step } from './apply-migration.js';
import { alignIdentity, alignStep, recordStep } from './identities/align-identities.js';
import { columnName, readIdentities, type LeftColumn } from './identities/read-identities.js';
import { holdTarget, type HeldTarget } from './held-target.js';
import { lookAt, type Place } from './look-at-target.js';
import { differenceOf, migrationsTable } from './read-applied.js';
import type { IdentityPlan } from './identities/assign-ordinals.js';
import type { IdentityPlans } from './identity-plans.js';
import type { MigrationTarget } from './migration-target.js';
import type { Done, TargetRun } from './target-run.js';

/** What all targets of one call have in common. */
export interface MigrationRun extends TargetRun {
  readonly identities: IdentityPlans;
}

/** Does what is pending on one target, holding its lock. @throws what stopped it */
export async function migrateHeld(target: MigrationTarget, run: MigrationRun, done: Done): Promise<void> {
  const place = { target, settings: run.settings };
  await holdTarget({ target, run, done }, (held) => new Work(held, place, run.identities).all());
}

/** The steps of one target, in a session that holds its lock. */
class Work {
  /** Undefined: ids are left as they are. */
  #plan: IdentityPlan | undefined;

  constructor(
    private readonly held: HeldTarget,
    private readonly place: Place,
    private readonly identities: IdentityPlans,
  ) {}

  async all(): Promise<void> {
    const { held, place } = this;
    const { target } = place;
    const found = await lookAt(held.session.client, place);
    const pending = new Set(differenceOf(target, found.applied).pending);
    for (const migration of target.framework) {
      if (pending.has(migration.name)) await held.migration(frameworkStep(migration));
    }
    this.#plan = found.plan;
    if (!found.numbered) await this.#number();
    await this.#align();
    for (const migration of target.own) {
      if (pending.has(migration.name)) await held.migration(this.#aligned(ownStep(migration)));
    }
    const left = await this.#align();
    if (!held.changed) return;
    for (const column of left) held.log(`${columnName(column)} ${column.why}: its ids are not interleaved`);
  }

  async #number(): Promise<void> {
    const { shard } = this.place.target;
    if (shard === undefined) return this.identities.settle();
    const plan = await this.identities.planOf(shard);
    await this.held.step(recordStep(shard, plan));
    this.#plan = plan;
  }

  /** What the tables of before, or of a step without a transaction, have. @returns what cannot be aligned */
  async #align(): Promise<readonly LeftColumn[]> {
    if (!this.#plan) return [];
    const table = migrationsTable(this.place.settings);
    const state = await readIdentities(this.held.session.client, this.#plan, table);
    for (const column of state.misaligned) {
      await this.held.identity(columnName(column), alignStep(column, this.#plan));
    }
    return state.left;
  }

  /** A step whose new tables never give an id of another shard: nobody sees them before. */
  #aligned(step: Step): Step {
    const plan = this.#plan;
    if (!plan || step.transaction === 'none') return step;
    const table = migrationsTable(this.place.settings);
    return {
      ...step,
      run: async (runner) => {
        await step.run(runner);
        const { misaligned } = await readIdentities(this.held.session.client, plan, table);
        for (const column of misaligned) await alignIdentity(runner, column, plan);
      },
    };
  }
}

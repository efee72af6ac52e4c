import { frameworkStep, ownStep, type Step } from './apply-migration.js';
import { alignIdentity, alignStep, recordStep } from './identities/align-identities.js';
import { assertStride, type IdentityPlan, type RecordedOrdinal } from './identities/assign-ordinals.js';
import { columnName, readIdentities, type LeftColumn } from './identities/read-identities.js';
import { RECORDED } from './identities/recorded.js';
import { IDENTITY_TABLES } from './framework/identity-tables.js';
import { asking } from './migration-session.js';
import { differenceOf, migrationsTable, readApplied, readOnly, type Applied } from './read-applied.js';
import { runTarget, type HeldTarget, type TargetRun } from './target-run.js';
import type pg from 'pg';
import type { ShardingSettings } from '../sharding.settings.js';
import type { IdentityPlans } from './identity-plans.js';
import type { MigrationTarget } from './migration-target.js';
import type { TargetResult } from './target-result.js';

/** What all targets of one call have in common. */
interface MigrationRun extends TargetRun {
  readonly identities: IdentityPlans;
}

/** Brings one target to the state of the code. Takes no lock where nothing is to be done. Never rejects. */
export function migrateTarget(target: MigrationTarget, run: MigrationRun): Promise<TargetResult> {
  const place = { target, settings: run.settings };
  return runTarget(target, run, {
    words: { did: 'applied', nothing: 'up to date' },
    isDone: async (database) => {
      const limitMs = 2 * target.settings.connectTimeoutMs;
      const look = (client: pg.Client) => readOnly(client, () => lookAt(client, place));
      return isDone(place, await asking(database, limitMs, look));
    },
    run: (held) => new Work(held, place, run.identities).all(),
  });
}

interface Place {
  readonly target: MigrationTarget;
  readonly settings: ShardingSettings;
}

interface Found {
  readonly applied: Applied;
  /** What the shard has noted under its name. */
  readonly plan: IdentityPlan | undefined;
  readonly misaligned: number;
  /** Whether ordinals are noted: those of all shards on control, its own on a shard. */
  readonly numbered: boolean;
}

/** Whether the ids of the shards are set apart from each other: without shards there is nothing to set apart. */
function interleaves({ settings }: Place): boolean {
  return settings.migrations.interleaveIdentities && !settings.unsharded;
}

async function lookAt(client: pg.Client, place: Place): Promise<Found> {
  const { target, settings } = place;
  const table = migrationsTable(settings);
  const applied = await readApplied(client, table);
  if (!interleaves(place)) return { applied, plan: undefined, misaligned: 0, numbered: true };
  const { rows: noted } = applied.framework?.includes(IDENTITY_TABLES)
    ? await client.query<RecordedOrdinal>(RECORDED)
    : { rows: [] };
  const own = (shard: string) => noted.find(({ name }) => name === shard);
  if (target.shard === undefined) {
    const numbered = settings.shards.every(({ name }) => own(name) !== undefined);
    return { applied, plan: undefined, misaligned: 0, numbered };
  }
  const plan = own(target.shard);
  if (!plan) return { applied, plan, misaligned: 0, numbered: false };
  assertStride(target.shard, plan.stride, settings.migrations.identityStride);
  const { misaligned } = await readIdentities(client, plan, table);
  return { applied, plan, misaligned: misaligned.length, numbered: true };
}

function isDone({ target }: Place, { applied, misaligned, numbered }: Found): boolean {
  return differenceOf(target, applied).pending.length === 0 && misaligned === 0 && numbered;
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

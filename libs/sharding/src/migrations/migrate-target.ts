import { applyStep, frameworkStep, ownStep, type Step } from './apply-migration.js';
import { alignIdentity, alignStep, recordStep } from './identities/align-identities.js';
import { assertStride, type IdentityPlan } from './identities/assign-ordinals.js';
import { columnName, readIdentities, recordedPlan, type LeftColumn } from './identities/read-identities.js';
import { IDENTITY_TABLES } from './framework/identity-tables.js';
import { patienceOf, waitOf, type MigrationLimits, type MigrationLog } from './migration-limits.js';
import { asking, closed, inSession, migrationDatabase, type MigrationSession } from './migration-session.js';
import { differenceOf, migrationsTable, readApplied, readOnly, type Applied } from './read-applied.js';
import { failureText, targetFailure, type TargetResult } from './target-result.js';
import type pg from 'pg';
import type { ShardingSettings } from '../sharding.settings.js';
import type { IdentityPlans } from './identity-plans.js';
import type { MigrationTarget } from './migration-target.js';

/** What all targets of one call have in common. */
export interface MigrationRun {
  readonly settings: ShardingSettings;
  readonly log: MigrationLog;
  readonly options: MigrationLimits;
  /** Filled with what the failed targets threw. */
  readonly causes: Map<string, unknown>;
  readonly identities: IdentityPlans;
}

/** Brings one target to the state of the code. Takes no lock where nothing is to be done. Never rejects. */
export async function migrateTarget(target: MigrationTarget, run: MigrationRun): Promise<TargetResult> {
  const { log, causes, settings } = run;
  const began = performance.now();
  const did = { names: [] as string[], interleaved: [] as string[] };
  const at: { step?: string } = {};
  const database = migrationDatabase(settings, target);
  const ended = (rest: Pick<TargetResult, 'state' | 'failure'>) =>
    told(log, { target: target.name, ...did, ms: performance.now() - began, ...rest });
  try {
    const place = { target, settings };
    const before = await asking(database, 2 * target.settings.connectTimeoutMs, (client) =>
      readOnly(client, () => lookAt(client, place)),
    );
    if (isDone(place, before)) return ended({ state: 'skipped' });
    const wait = waitOf(target.name, run);
    await inSession(database, wait, (session) => new Work({ session, place, run, did, at }).all());
    const changed = did.names.length + did.interleaved.length > 0;
    return ended({ state: changed ? 'done' : 'skipped' });
  } catch (error) {
    causes.set(target.name, error);
    return ended({ state: 'failed', failure: targetFailure(error, at.step) });
  } finally {
    await closed(database);
  }
}

function told(log: MigrationLog, result: TargetResult): TargetResult {
  const { target, state, names, interleaved, failure } = result;
  if (state === 'skipped') log(`target=${target} up to date`);
  if (names.length > 0) log(`target=${target} applied ${names.join(', ')}`);
  if (interleaved.length > 0) log(`target=${target} interleaved the ids of ${interleaved.join(', ')}`);
  if (failure) log(`target=${target} failed ${failureText(failure)}`);
  return result;
}

interface Place {
  readonly target: MigrationTarget;
  readonly settings: ShardingSettings;
}

interface Found {
  readonly applied: Applied;
  /** What the shard has noted. */
  readonly plan: IdentityPlan | undefined;
  readonly misaligned: number;
}

/** Whether the ids of a target are set apart from those of others. */
function interleaves({ target, settings }: Place): boolean {
  return target.shard !== undefined && settings.migrations.interleaveIdentities;
}

async function lookAt(client: pg.Client, place: Place): Promise<Found> {
  const { target, settings } = place;
  const table = migrationsTable(settings);
  const applied = await readApplied(client, table);
  const noted = applied.framework?.includes(IDENTITY_TABLES) && interleaves(place);
  const plan = noted ? await recordedPlan(client, target.shard ?? '') : undefined;
  if (!plan) return { applied, plan, misaligned: 0 };
  assertStride(target.shard ?? '', plan.stride, settings.migrations.identityStride);
  const { misaligned } = await readIdentities(client, plan, table);
  return { applied, plan, misaligned: misaligned.length };
}

function isDone(place: Place, { applied, plan, misaligned }: Found): boolean {
  const { pending } = differenceOf(place.target, applied);
  return pending.length === 0 && misaligned === 0 && (plan !== undefined || !interleaves(place));
}

interface WorkParts {
  readonly session: MigrationSession;
  readonly place: Place;
  readonly run: MigrationRun;
  /** Filled with what lasts. */
  readonly did: { readonly names: string[]; readonly interleaved: string[] };
  /** What is under way. */
  readonly at: { step?: string };
}

/** The steps of one target, in a session that holds its lock. */
class Work {
  /** Undefined: ids are left as they are. */
  #plan: IdentityPlan | undefined;

  constructor(private readonly parts: WorkParts) {}

  /** Looks again: whoever held the lock before may have done it. */
  async all(): Promise<void> {
    const { session, place, did } = this.parts;
    const { target } = place;
    const { applied, plan } = await lookAt(session.client, place);
    const pending = new Set(differenceOf(target, applied).pending);
    for (const migration of target.framework) {
      if (pending.has(migration.name)) await this.#migration(frameworkStep(migration));
    }
    this.#plan = plan ?? (await this.#newPlan());
    await this.#align();
    for (const migration of target.own) {
      if (pending.has(migration.name)) await this.#migration(this.#aligned(ownStep(migration)));
    }
    const left = await this.#align();
    if (did.names.length + did.interleaved.length > 0) this.#tell(left);
  }

  async #migration(step: Step): Promise<void> {
    await this.#step(step);
    this.parts.did.names.push(step.name);
  }

  async #step(step: Step): Promise<void> {
    const { session, place, run, at } = this.parts;
    at.step = step.name;
    await applyStep(session, step, patienceOf(place.target.name, run, step.name));
    delete at.step;
  }

  async #newPlan(): Promise<IdentityPlan | undefined> {
    const { place, run } = this.parts;
    const { shard } = place.target;
    if (shard === undefined || !interleaves(place)) return undefined;
    const plan = await run.identities(shard);
    await this.#step(recordStep(shard, plan));
    return plan;
  }

  /** What the tables of before, or of a step without a transaction, have. @returns what cannot be aligned */
  async #align(): Promise<readonly LeftColumn[]> {
    const { session, place, did } = this.parts;
    if (!this.#plan) return [];
    const state = await readIdentities(session.client, this.#plan, migrationsTable(place.settings));
    for (const column of state.misaligned) {
      await this.#step(alignStep(column, this.#plan));
      did.interleaved.push(columnName(column));
    }
    return state.left;
  }

  /** A step whose new tables never give an id of another shard: nobody sees them before. */
  #aligned(step: Step): Step {
    const { session, place } = this.parts;
    const plan = this.#plan;
    if (!plan || step.transaction === 'none') return step;
    return {
      ...step,
      run: async (runner) => {
        await step.run(runner);
        const table = migrationsTable(place.settings);
        const { misaligned } = await readIdentities(session.client, plan, table);
        for (const column of misaligned) await alignIdentity(runner, column, plan);
      },
    };
  }

  #tell(left: readonly LeftColumn[]): void {
    const { place, run } = this.parts;
    for (const column of left) {
      run.log(`target=${place.target.name} ${columnName(column)} ${column.why}: its ids are not interleaved`);
    }
  }
}

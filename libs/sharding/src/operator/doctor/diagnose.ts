import { fanOut } from '../../shards/fan-out.js';
import { migrationTargets, type MigrationTarget } from '../../migrations/migration-target.js';
import { askWay } from '../ask-way.js';
import { placesOf, waysOf, type Place, type Way } from '../place.js';
import { ALL_CHECKS } from './checks/all-checks.js';
import { unreachable, type Failure } from './checks/reachability.js';
import { sorted, type CheckName, type Finding } from './finding.js';
import { Look } from './look.js';
import { looking, type LookLimits } from './look-limits.js';
import { probe, type ServerAnswer } from './probe.js';
import type { ShardingSettings } from '../../sharding.settings.js';
import type { Check, DoctorContext, Found, TenantRules } from './check.js';

export interface DoctorOptions extends LookLimits {
  /** This shard only; comparisons between shards and the control database are left out. */
  readonly shard?: string | undefined;
  readonly rules: TenantRules;
  /** Makes an error safe to print. */
  readonly describe: (error: unknown) => Failure;
}

export interface Diagnosis {
  /** What was looked for. */
  readonly checks: readonly CheckName[];
  /** Where. */
  readonly targets: readonly string[];
  /** The worst first. */
  readonly findings: readonly Finding[];
}

/** Databases asked at a time. */
const WIDTH = 16;

/**
 * Looks at everything a deployment is known to suffer from. Reads only, in short read-only transactions, all databases at
 * once, each statement bounded; one that is dead hides nothing of the others.
 *
 * @throws ShardingError `unknown_shard`; the reason of an abort
 */
export async function diagnose(settings: ShardingSettings, options: DoctorOptions): Promise<Diagnosis> {
  const places = placesOf(settings, options.shard);
  const checks = ALL_CHECKS.filter(({ scope }) => options.shard === undefined || scope === 'target');
  const loaded = await loadedMigrations(settings, options);
  const reached = await reach(places.flatMap(waysOf), options);
  const context: DoctorContext = {
    settings,
    places,
    servers: reached.servers,
    migrations: loaded.migrations,
    rules: options.rules,
  };
  const looked = await lookEverywhere(checks, context, options);
  options.signal.throwIfAborted();
  const targets = places.map(({ label }) => label);
  return {
    checks: ['configuration', 'reachability', ...checks.map(({ name }) => name)],
    targets,
    findings: sorted([...loaded.findings, ...reached.findings, ...looked], targets),
  };
}

/** The lists of migrations; those that cannot be loaded are a finding. */
async function loadedMigrations(settings: ShardingSettings, { describe }: DoctorOptions) {
  try {
    const targets = await migrationTargets(settings);
    const migrations = new Map<string, MigrationTarget>(targets.map((target) => [target.name, target]));
    return { migrations, findings: [] };
  } catch (error) {
    const finding: Finding = {
      check: 'configuration',
      severity: 'error',
      target: 'configuration',
      reason: describe(error).message,
      remedy: 'build the application, and see the globs under [migrations]; what is pending is not known',
    };
    return { migrations: new Map<string, MigrationTarget>(), findings: [finding] };
  }
}

async function reach(ways: readonly Way[], options: DoctorOptions) {
  const outcomes = await fanOut(ways, WIDTH, (way) => probe(way, options));
  options.signal.throwIfAborted();
  const servers: ServerAnswer[] = [];
  const findings: Finding[] = [];
  for (const outcome of outcomes) {
    if (outcome.ok) servers.push(outcome.value);
    else {
      const verdict = unreachable(outcome.shard, options.describe(outcome.error), options.limitMs);
      findings.push({ check: 'reachability', ...verdict });
    }
  }
  return { servers, findings };
}

/** Looks at each place once, around its pooler where there is a way, and lets every check judge. */
async function lookEverywhere(
  checks: readonly Check[],
  context: DoctorContext,
  options: DoctorOptions,
): Promise<Finding[]> {
  const ways = context.places.flatMap(
    (place) => context.servers.filter(({ way }) => way.place === place).at(-1)?.way ?? [],
  );
  const outcomes = await fanOut(ways, WIDTH, (way) => lookAt(way, checks, { context, options }));
  const found = new Map<Check, Found<unknown>[]>(checks.map((check) => [check, []]));
  const failures: Finding[] = [];
  for (const outcome of outcomes) {
    if (!outcome.ok) {
      const verdict = unreachable(outcome.shard, options.describe(outcome.error), options.limitMs);
      failures.push({ check: 'reachability', ...verdict });
    } else {
      failures.push(...outcome.value.failures);
      for (const [check, facts] of outcome.value.answers) {
        found.get(check)?.push({ place: outcome.shard.place, facts });
      }
    }
  }
  const judged = checks.flatMap((check) =>
    check.judge(found.get(check) ?? [], context).map((verdict) => ({ check: check.name, ...verdict })),
  );
  return [...failures, ...judged];
}

interface Circumstances {
  readonly context: DoctorContext;
  readonly options: DoctorOptions;
}

/** What the checks read in one database. One that cannot read is a finding, and stops no other. */
async function lookAt(way: Way, checks: readonly Check[], { context, options }: Circumstances) {
  const answers = new Map<Check, unknown>();
  const failures: Finding[] = [];
  await askWay(way, looking(options), async (client) => {
    const look = new Look(client, options.limitMs);
    for (const check of checks) {
      try {
        const reading = check.read?.(way.place, look, context);
        if (reading) answers.set(check, await reading);
      } catch (error) {
        const failure = options.describe(error);
        if (!isRefusal(failure)) throw error; // the connection is lost: so is the rest
        failures.push(undone(check.name, way.place, failure));
      }
    }
  });
  return { answers, failures };
}

/** The server answers, and does not do it. */
function isRefusal({ code }: Failure): boolean {
  return /^(?!08|57P)[0-9A-Z]{5}$/.test(code);
}

function undone(check: CheckName, { label }: Place, { code, message }: Failure): Finding {
  return {
    check,
    severity: 'warning',
    target: label,
    reason: `could not be looked at: ${message} (${code})`,
    remedy: 'give the role what it lacks, or try again when the server is less busy (--timeout)',
  };
}

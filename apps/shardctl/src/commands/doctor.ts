import { Option } from 'commander';
import { ShardingError } from '@app/routing';
import { seconds, shardOption } from '../arguments.js';
import { failureOf } from '../failure.js';
import { counts, diagnosisText } from '../output/diagnosis.js';
import type { Diagnosis } from '@app/sharding/operator';
import type { Report, Session, Verb } from '../verb.js';

interface DoctorOptions {
  readonly shard?: string;
  readonly tenantColumn: string;
  readonly shardedTable: readonly string[];
  readonly timeout: number;
}

export const doctor: Verb<DoctorOptions> = {
  name: 'doctor',
  group: 'databases',
  usage: '',
  summary: 'what is wrong, or will be, with the reason and what to do',
  description:
    'Looks at: configuration; reachability of each database, replica and maintenance_url; primary and replica in their roles; ' +
    'one database under two names; versions, encodings, collations and ICU versions that differ; clocks more than 1 s apart; ' +
    'replication; poolers; pools against max_connections; migrations; invalid indexes; tenant columns, indexes, unique keys ' +
    'and foreign keys of sharded tables; sequences that collide; schemas that differ; the slot map and the directory. ' +
    'It only reads. A dead database hides no other.\n\n' +
    'A table of a shard is sharded when it has the tenant column. One without it is taken for reference data, the same on every ' +
    'shard, which is an info; name it with --sharded-table and it is an error. A unique key of a sharded table is right when ' +
    'it contains the tenant column, or an identity, a serial, a uuid or a reference to a row of a sharded table: these ' +
    'belong to one tenant anyway.\n\n' +
    'Exit code 1 when there is an error (something fails, or will) or a warning (it works until something happens); an ' +
    'info changes nothing. With --shard its databases alone are asked, and what compares shards is left out: ' +
    'same-database, connections, sequences, drift, slot-map, directory.',
  options: () => [
    shardOption('this shard and its replica only'),
    new Option('--tenant-column <name>', 'the column that says whose a row is').default('tenant_id'),
    new Option('--sharded-table <name...>', 'tables that must have it, on every shard').default([], 'none'),
    new Option('--timeout <seconds>', 'bound of each connect and statement')
      .default(5)
      .argParser(seconds(600)),
  ],
  examples: [
    ['doctor', 'everything'],
    ['doctor --shard shard1', 'one shard'],
    ['doctor --sharded-table orders --sharded-table invoices', 'tables that have to be sharded'],
    ['doctor --json | jq \'.findings[] | select(.severity == "error")\'', 'the errors alone'],
  ],
  async run({ options }, session) {
    return report(await diagnosisOf(options, session));
  },
};

async function diagnosisOf(options: DoctorOptions, session: Session): Promise<Diagnosis> {
  const { configurationFindings, diagnose } = await import('@app/sharding/operator');
  const settings = await session.settings().catch((error: unknown) => {
    if (error instanceof ShardingError && error.code === 'invalid_topology') return error;
    throw error;
  });
  if (settings instanceof ShardingError) {
    return { checks: ['configuration'], targets: [], findings: configurationFindings(settings) };
  }
  return diagnose(settings, {
    shard: options.shard,
    rules: { tenantColumn: options.tenantColumn, shardedTables: options.shardedTable },
    limitMs: Math.ceil(options.timeout * 1000),
    signal: session.signal,
    describe: failureOf,
  });
}

function report(diagnosis: Diagnosis): Report {
  const { checks, targets, findings } = diagnosis;
  const summary = counts(findings);
  return {
    json: { ok: summary.error + summary.warning === 0, summary, checks, targets, findings },
    text: (style) => diagnosisText(diagnosis, style),
    outcome: summary.error + summary.warning === 0 ? 'ok' : 'failed',
  };
}

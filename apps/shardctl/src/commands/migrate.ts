import { Option } from 'commander';
import { seconds, shardOption, wholeNumber } from '../arguments.js';
import { UsageError, type Verb } from '../verb.js';
import { migrateDown } from './migrate-down.js';
import { migrateStatus } from './migrate-status.js';
import { migrateUp } from './migrate-up.js';

/** Of all three; none has a default, so that one which does not belong is seen. */
export interface MigrateOptions {
  readonly shard?: string;
  readonly controlOnly?: true;
  readonly wait?: number;
  readonly lockTimeout?: number;
  readonly parallel?: number;
  readonly canary?: string;
  readonly yes?: true;
  readonly to?: string;
  readonly yesIMeanProduction?: true;
}

const EVERYWHERE = ['shard', 'controlOnly'];
const LIMITS = ['wait', 'lockTimeout'];

const WORDS = {
  up: { run: migrateUp, takes: [...EVERYWHERE, ...LIMITS, 'parallel', 'canary', 'yes'] },
  status: { run: migrateStatus, takes: EVERYWHERE },
  down: { run: migrateDown, takes: [...EVERYWHERE, ...LIMITS, 'to', 'yesIMeanProduction'] },
} as const;

export const migrate: Verb<MigrateOptions> = {
  name: 'migrate',
  group: 'databases',
  usage: '[what]',
  summary: 'run the migrations on every target; status; down',
  description:
    'Control first, then the shards in declaration order; on each the tables of the framework, then what [migrations] names in ' +
    'sharding.toml: globs of compiled files, seen from the working directory. It stops at the first failure, and a rerun skips ' +
    'what is done. A lock for each target keeps other migrators waiting. status reads only, and compares all targets with the ' +
    'code. down takes the last migration of each target back, shards first; all targets are looked at before one is touched. ' +
    'Exit code 1 when a target has failed, was not attempted, or is not in the state of the code.',
  options: () => [
    shardOption('this shard only'),
    new Option('--control-only', 'the control database only').conflicts(['shard', 'canary', 'parallel']),
    new Option('--wait <seconds>', 'how long to wait for another migrator (default: 600)').argParser(
      seconds(86_400),
    ),
    new Option(
      '--lock-timeout <ms>',
      'how long to wait for a lock before others pass (default: lock_timeout_ms)',
    ).argParser(wholeNumber(1, 3_600_000)),
    new Option('--parallel <shards>', 'so many shards at once, behind control and the canary').argParser(
      wholeNumber(1, 100),
    ),
    new Option('--canary <name>', 'this shard first and alone; asks before it goes on').conflicts('shard'),
    new Option('--yes', 'go on behind the canary without asking'),
    new Option('--to <name>', 'down: the migration that stays the last one'),
    new Option('--yes-i-mean-production', 'down: under the profile production'),
  ],
  examples: [
    ['migrate', 'everything, one target after the other'],
    ['migrate --canary shard0 --parallel 4', 'shard0 first; then, if told to, four at once'],
    ['migrate status', 'what is applied, pending, unknown, left invalid'],
    ['migrate down --to CreateBookmarks1764460800000', 'back to a name'],
  ],
  async run({ args: [word = 'up', ...more], options }, session) {
    if ((word !== 'up' && word !== 'status' && word !== 'down') || more.length > 0) {
      throw new UsageError('behind migrate stands nothing, status or down');
    }
    const { run, takes } = WORDS[word];
    const [foreign] = Object.keys(options).filter((name) => !takes.includes(name));
    if (foreign !== undefined) {
      throw new UsageError(`${flagOf(foreign)} does not belong to migrate${word === 'up' ? '' : ` ${word}`}`);
    }
    return run(options, session);
  },
};

/** `controlOnly` -> `--control-only`. */
function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
